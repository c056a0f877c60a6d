/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/kind/stored_contents.h"
#include "source/pack/pack.h"
#include "support/crc32c.h"
#include "support/io/whole_io.h"

static errcode_t damaged(const char *path, const char *reason, struct problem *problem)
{
	return problem_set_reason(problem, EBADMSG, path, "cannot use", "%s", reason);
}

/* Reads the header, and compares it with the file's size. */
static errcode_t read_header(int descriptor, const char *name, const char *path, struct pack_header *header,
                             struct problem *problem)
{
	struct stat status;
	errcode_t error = whole_read(descriptor, header, sizeof(*header), 0);

	if (!error && fstat(descriptor, &status))
		error = errno;
	if (error == ENODATA)
		return damaged(path, "it is too short", problem);
	if (error)
		return problem_set(problem, error, path, "cannot read");
	if (memcmp(header->magic, PACK_MAGIC, sizeof(header->magic)))
		return damaged(path, "it is no unpacked layer", problem);
	if (header->version != htole32(PACK_VERSION))
		return damaged(path, "it was made by another version", problem);
	if (le32toh(header->checksum) != crc32c(~0u, header, offsetof(struct pack_header, checksum)))
		return damaged(path, "its header has the wrong checksum", problem);
	if (strncmp((const char *)header->name, name, sizeof(header->name)))
		return damaged(path, "it is another layer", problem);
	header->contents_bytes = le64toh(header->contents_bytes);
	header->index_bytes = le64toh(header->index_bytes);
	if (status.st_mtim.tv_sec != (time_t)le64toh(header->mtime_seconds) ||
	    status.st_mtim.tv_nsec != (long)le32toh(header->mtime_nanoseconds))
		return damaged(path, "it has been written since it was made", problem);
	uint64_t bytes = (uint64_t)status.st_size;

	if (bytes < PACK_BLOCK_BYTES || header->contents_bytes % PACK_BLOCK_BYTES ||
	    header->contents_bytes > bytes - PACK_BLOCK_BYTES ||
	    header->index_bytes != bytes - PACK_BLOCK_BYTES - header->contents_bytes ||
	    header->index_bytes > SIZE_MAX / 2)
		return damaged(path, "it is not as long as it should be", problem);
	return 0;
}

static errcode_t read_index(int descriptor, const char *path, const struct pack_header *header, void *index,
                            struct problem *problem)
{
	errcode_t error =
		index ? whole_read(descriptor, index, header->index_bytes, PACK_BLOCK_BYTES + header->contents_bytes) :
			ENOMEM;

	if (error)
		return problem_set(problem, error, path, "cannot read");
	if (le32toh(header->index_checksum) != crc32c(~0u, index, header->index_bytes))
		return damaged(path, "its index has the wrong checksum", problem);
	return 0;
}

errcode_t pack_read(int descriptor, const char *name, const char *path, const char *source, struct tree *tree,
                    struct links_below *below, struct pack_counts *counts, struct problem *problem)
{
	struct pack_header header;
	struct pack_lists lists;
	const char *reason;
	uint32_t origin;
	errcode_t error = stored_contents_add_blocks(tree, source, descriptor, &origin);

	if (error)
		return problem_set(problem, error, path, "cannot read");
	error = read_header(descriptor, name, path, &header, problem);
	if (error)
		return error;
	void *index = arena_alloc(&tree->memory, header.index_bytes + 1);

	error = read_index(descriptor, path, &header, index, problem);
	if (error)
		return error;
	error = pack_index_read(index, header.index_bytes, header.contents_bytes, tree, below, &lists, &reason);
	if (error == EBADMSG)
		return damaged(path, reason, problem);
	*counts = lists.counts;
	return error ? problem_set(problem, error, path, "cannot read") : 0;
}

errcode_t pack_summarize(int descriptor, const char *name, const char *path, struct pack_summary *summary,
                         struct problem *problem)
{
	struct pack_header header;
	struct pack_counts counts;
	errcode_t error = read_header(descriptor, name, path, &header, problem);

	if (error)
		return error;
	if (header.index_bytes < sizeof(counts))
		return damaged(path, "its index is too short", problem);
	error = whole_read(descriptor, &counts, sizeof(counts), PACK_BLOCK_BYTES + header.contents_bytes);
	if (error)
		return problem_set(problem, error, path, "cannot read");
	*summary = (struct pack_summary){
		.contents_bytes = header.contents_bytes,
		.index_bytes = header.index_bytes,
		.names = le32toh(counts.nodes) - 1ul,
	};
	return 0;
}

struct checking {
	int descriptor;
	const char *path;
	uint64_t contents_bytes;
	const uint32_t *checksums; /* little-endian */
};

static errcode_t check_slice(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct checking *checking = context;
	uint64_t begin = index * PACK_SLICE_BYTES, left = checking->contents_bytes - begin;
	size_t count = left < PACK_SLICE_BYTES ? (size_t)left : PACK_SLICE_BYTES;
	SCOPE_FREE void *slice = malloc(count);
	errcode_t error = slice ? whole_read(checking->descriptor, slice, count, PACK_BLOCK_BYTES + begin) : ENOMEM;

	(void)worker;
	if (error)
		return problem_set(problem, error, checking->path, "cannot read");
	if (le32toh(checking->checksums[index]) != crc32c(~0u, slice, count))
		return damaged(checking->path, "its contents have the wrong checksum", problem);
	return 0;
}

errcode_t pack_check_contents(int descriptor, const char *name, const char *path, struct pool *pool,
                              struct problem *problem)
{
	struct pack_header header;
	errcode_t error = read_header(descriptor, name, path, &header, problem);
	SCOPE_FREE void *index = error ? NULL : malloc(header.index_bytes + 1);
	struct pack_lists lists;

	if (!error)
		error = read_index(descriptor, path, &header, index, problem);
	if (!error && !pack_index_lists(index, header.index_bytes, header.contents_bytes, &lists))
		error = damaged(path, "its index has another length than its lists", problem);
	if (error)
		return error;
	struct checking checking = { descriptor, path, header.contents_bytes, lists.checksums };

	return pool_run(pool, lists.slices, check_slice, &checking, problem);
}
