// SPDX-License-Identifier: GPL-2.0-or-later
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

#include "source/host/content_reader.h"
#include "source/mtree/mtree_keywords.h"
#include "support/text/text_line.h"
#include "support/run/interrupt.h"
#include "support/vector.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define LARGEST_DIGEST_BYTES SHA512_DIGEST_SIZE

static const struct nettle_hash *const hashes[MTREE_DIGEST_KINDS] = {
	[MTREE_MD5] = &nettle_md5,       [MTREE_RMD160] = &nettle_ripemd160, [MTREE_SHA1] = &nettle_sha1,
	[MTREE_SHA256] = &nettle_sha256, [MTREE_SHA384] = &nettle_sha384,    [MTREE_SHA512] = &nettle_sha512,
};

union hash_state {
	struct md5_ctx md5;
	struct ripemd160_ctx rmd160;
	struct sha1_ctx sha1;
	struct sha256_ctx sha256;
	struct sha512_ctx sha512; /* and SHA-384 */
};

struct check_worker {
	struct content_reader *reader; /* made when it is needed */
	uint8_t *buffer;
};

struct check {
	const struct digests *digests;
	const struct tree *tree;
	const char *manifest;
	struct check_worker *workers;
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
		uint8_t bytes[LARGEST_DIGEST_BYTES];
		char digits[BASE16_ENCODE_LENGTH(LARGEST_DIGEST_BYTES) + 1] = "";

		if (!line->digests[kind])
			continue;
		hashes[kind]->digest(&states[kind], hashes[kind]->digest_size, bytes);
		base16_encode_update(digits, hashes[kind]->digest_size, bytes);
		if (!strcasecmp(digits, line->digests[kind]))
			continue;
		SCOPE_FREE char *origin = text_line_origin(check->manifest, line->line);

		return problem_set_reason(problem, EINVAL, origin, "cannot use contents",
		                          "\"%s\" should have the %s %s, but has %s", line->path,
		                          mtree_digest_name(kind), line->digests[kind], digits);
	}
	return 0;
}

static errcode_t check_file(const struct check *check, struct check_worker *worker, const struct digest_line *line,
                            uint64_t size_bytes, struct problem *problem)
{
	union hash_state states[MTREE_DIGEST_KINDS];

	for (unsigned int kind = 0; kind < MTREE_DIGEST_KINDS; kind++)
		hashes[kind]->init(&states[kind]);
	for (uint64_t at = 0; at < size_bytes; at += BUFFER_BYTES) {
		size_t count = size_bytes - at < BUFFER_BYTES ? size_bytes - at : BUFFER_BYTES;
		errcode_t error = interrupt_pending() ?
		                          problem_set(problem, EINTR, NULL, "stopped") :
		                          content_reader_read(worker->reader, worker->buffer, count, at, problem);

		if (error)
			return error;
		for (unsigned int kind = 0; kind < MTREE_DIGEST_KINDS; kind++)
			if (line->digests[kind])
				hashes[kind]->update(&states[kind], count, worker->buffer);
	}
	return compare(check, line, states, problem);
}

static errcode_t prepare_worker(const struct check *check, struct check_worker *worker)
{
	if (!worker->buffer)
		worker->buffer = malloc(BUFFER_BYTES);
	if (!worker->buffer)
		return ENOMEM;
	return worker->reader ? 0 : content_reader_create(check->tree, &worker->reader);
}

static errcode_t check_line(void *context, unsigned int number, size_t index, struct problem *problem)
{
	const struct check *check = context;
	const struct digest_line *line = &check->digests->list[index];
	struct check_worker *worker = &check->workers[number];
	uint32_t node;

	if (!tree_find_path(check->tree, line->path, &node))
		return 0;
	node = check->tree->nodes[node].link_to;
	if (!S_ISREG(check->tree->nodes[node].mode))
		return 0;
	errcode_t error = prepare_worker(check, worker);

	if (!error)
		error = content_reader_open(worker->reader, node, problem);
	return error ? error : check_file(check, worker, line, check->tree->nodes[node].size_bytes, problem);
}

errcode_t digests_check(const struct digests *digests, const struct tree *tree, const char *manifest, struct pool *pool,
                        struct problem *problem)
{
	SCOPE_FREE struct check_worker *workers = calloc(pool_workers(pool), sizeof(*workers));
	struct check check = { digests, tree, manifest, workers };

	if (!workers)
		return ENOMEM;
	errcode_t error = pool_run(pool, digests->count, check_line, &check, problem);

	for (unsigned int i = 0; i < pool_workers(pool); i++) {
		content_reader_destroy(workers[i].reader);
		free(workers[i].buffer);
	}
	return error;
}
