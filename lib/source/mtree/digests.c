/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/mtree/digests.h"

#include <errno.h>
#include <nettle/base16.h>
#include <nettle/md5.h>
#include <nettle/nettle-meta.h>
#include <nettle/ripemd160.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "tree/contents.h"
#include "support/text/text_line.h"
#include "support/run/interrupt.h"
#include "support/vector.h"

#define BUFFER_BYTES ((size_t)64 << 10)
#define LARGEST_DIGEST_BYTES SHA512_DIGEST_SIZE

union hash_state {
	struct md5_ctx md5;
	struct ripemd160_ctx rmd160;
	struct sha1_ctx sha1;
	struct sha256_ctx sha256;
	struct sha512_ctx sha512; /* and SHA-384 */
};

struct check {
	const struct digests *digests;
	const struct tree *tree;
	const char *manifest;
	struct content_reader **readers; /* one for each worker, made when it is needed */
};

errcode_t digests_note(struct digests *digests, const struct mtree_entry *entry)
{
	if (entry->given < MTREE_FIRST_DIGEST)
		return 0;
	struct arena *memory = &digests->memory;
	struct digest_line line = {
		.path = arena_copy_string(memory, entry->path, strlen(entry->path)),
		.line = entry->line,
	};
	errcode_t error =
		vector_reserve(&digests->list, &digests->capacity, digests->count + 1, sizeof(*digests->list));

	if (error || !line.path)
		return ENOMEM;
	for (unsigned int kind = 0; kind < MTREE_DIGEST_KINDS; kind++) {
		if (!(entry->given & (unsigned int)MTREE_FIRST_DIGEST << kind))
			continue;
		line.digests[kind] = arena_copy_string(memory, entry->digests[kind], strlen(entry->digests[kind]));
		if (!line.digests[kind])
			return ENOMEM;
	}
	digests->list[digests->count++] = line;
	return 0;
}

void digests_destroy(struct digests *digests)
{
	arena_destroy(&digests->memory);
	free(digests->list);
	*digests = (struct digests){ 0 };
}

static errcode_t compare(const struct check *check, const struct digest_line *line, union hash_state *states,
                         struct problem *problem)
{
	for (unsigned int kind = 0; kind < MTREE_DIGEST_KINDS; kind++) {
		const struct nettle_hash *hash = mtree_digests[kind].hash;
		uint8_t bytes[LARGEST_DIGEST_BYTES];
		char digits[BASE16_ENCODE_LENGTH(LARGEST_DIGEST_BYTES) + 1] = "";

		if (!line->digests[kind])
			continue;
		hash->digest(&states[kind], hash->digest_size, bytes);
		base16_encode_update(digits, hash->digest_size, bytes);
		if (!strcasecmp(digits, line->digests[kind]))
			continue;
		SCOPE_FREE char *origin = text_line_origin(check->manifest, line->line);

		return problem_set_reason(problem, EINVAL, origin, "cannot use contents",
		                          "\"%s\" should have the %s %s, but has %s", line->path,
		                          mtree_digests[kind].name, line->digests[kind], digits);
	}
	return 0;
}

static errcode_t check_file(const struct check *check, struct content_reader *reader, const struct digest_line *line,
                            uint64_t size_bytes, struct problem *problem)
{
	union hash_state states[MTREE_DIGEST_KINDS];
	uint8_t buffer[BUFFER_BYTES];

	for (unsigned int kind = 0; kind < MTREE_DIGEST_KINDS; kind++)
		mtree_digests[kind].hash->init(&states[kind]);
	for (uint64_t at = 0; at < size_bytes; at += BUFFER_BYTES) {
		size_t count = size_bytes - at < BUFFER_BYTES ? size_bytes - at : BUFFER_BYTES;
		errcode_t error = interrupt_pending() ? problem_set(problem, EINTR, NULL, "stopped") :
		                                        content_reader_read(reader, buffer, count, at, problem);

		if (error)
			return error;
		for (unsigned int kind = 0; kind < MTREE_DIGEST_KINDS; kind++)
			if (line->digests[kind])
				mtree_digests[kind].hash->update(&states[kind], count, buffer);
	}
	return compare(check, line, states, problem);
}

static errcode_t check_line(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct check *check = context;
	const struct digest_line *line = &check->digests->list[index];
	struct content_reader **reader = &check->readers[worker];
	uint32_t node;

	if (!tree_find_path(check->tree, line->path, &node))
		return 0;
	node = check->tree->nodes[node].link_to;
	if (!S_ISREG(check->tree->nodes[node].mode))
		return 0;
	errcode_t error = *reader ? 0 : content_reader_create(check->tree, reader);

	if (!error)
		error = content_reader_open(*reader, node, problem);
	return error ? error : check_file(check, *reader, line, check->tree->nodes[node].size_bytes, problem);
}

errcode_t digests_check(const struct digests *digests, const struct tree *tree, const char *manifest, struct pool *pool,
                        struct problem *problem)
{
	SCOPE_FREE struct content_reader **readers = calloc(pool_workers(pool), sizeof(*readers));
	struct check check = { digests, tree, manifest, readers };

	if (!readers)
		return ENOMEM;
	errcode_t error = pool_run(pool, digests->count, check_line, &check, problem);

	for (unsigned int i = 0; i < pool_workers(pool); i++)
		content_reader_destroy(readers[i]);
	return error;
}
