/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The index of a pack. The first byte says how many blocks of contents there are, and the rest is the index; the header
 * is put before them, with the right checksums. What becomes a tree is read with files left out, too.
 */
#include "fuzz.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "source/pack/pack.h"
#include "source/pack/pack_options.h"
#include "support/crc32c.h"

#define NAME "archive.0000"

static struct fuzz_path write_pack(const uint8_t *bytes, size_t count)
{
	uint64_t contents_bytes = (bytes[0] % 64u) * (uint64_t)PACK_BLOCK_BYTES;
	size_t file_bytes = PACK_BLOCK_BYTES + contents_bytes + count - 1;
	SCOPE_FREE uint8_t *file = calloc(1, file_bytes);
	struct pack_header header = { .magic = PACK_MAGIC,
		                      .version = htole32(PACK_VERSION),
		                      .index_checksum = htole32(crc32c(~0u, bytes + 1, count - 1)),
		                      .contents_bytes = htole64(contents_bytes),
		                      .index_bytes = htole64(count - 1),
		                      .name = NAME };

	FUZZ_CHECK(file);
	header.checksum = htole32(crc32c(~0u, &header, offsetof(struct pack_header, checksum)));
	memcpy(file, &header, sizeof(header));
	memcpy(file + PACK_BLOCK_BYTES + contents_bytes, bytes + 1, count - 1);
	struct fuzz_path path = fuzz_file(NAME ".pack", file, file_bytes);

	FUZZ_CHECK(utimensat(AT_FDCWD, path.text, (const struct timespec[2]){ { 0 } }, 0) == 0);
	return path;
}

static void use_tree(struct tree *tree, struct links_below *below)
{
	struct scan_options options = { .without_flags = true };
	struct problem problem = { 0 };
	struct exclude *exclude;
	struct pool *pool;

	fuzz_check_tree(tree);
	FUZZ_CHECK(exclude_create(&exclude) == 0 && pool_create(0, &pool) == 0);
	FUZZ_CHECK(exclude_add(exclude, "a", "fuzz", &problem) == 0);
	options.exclude = exclude;
	fuzz_check_problem(pack_options_apply(tree, below, &options, pool, &problem), &problem);
	fuzz_check_tree(tree);
	pool_destroy(pool);
	exclude_destroy(exclude);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	if (!count)
		return 0;
	struct fuzz_path path = write_pack(bytes, count);
	struct tree *tree = calloc(1, sizeof(*tree));
	struct links_below below = { 0 };
	struct problem problem = { 0 };
	struct pack_counts counts;
	int descriptor = open(path.text, O_RDONLY | O_CLOEXEC);

	FUZZ_CHECK(tree && descriptor >= 0);
	errcode_t error = pack_read(descriptor, NAME, path.text, "source", tree, &below, &counts, &problem);

	FUZZ_CHECK(!error || error == EBADMSG);
	fuzz_check_problem(error, &problem);
	if (!error)
		use_tree(tree, &below);
	tree_destroy(tree);
	links_below_destroy(&below);
	return 0;
}
