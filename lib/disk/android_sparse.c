/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "disk/android_sparse.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ondisk/android_sparse.h"
#include "support/io/whole_io.h"
#include "support/run/interrupt.h"
#include "unpack/sparse_file.h"

#define ACTION "cannot read the Android sparse image"
#define PIECE_BYTES ((size_t)1 << 20)
#define MOST_BLOCK_BYTES (64u << 20)

struct sparse {
	int from, to;
	const char *path;
	struct source_counts *counts;
	struct progress *progress;
	struct problem *problem;
	struct sparse_header header; /* in this host's byte order */
	uint64_t at;                 /* how far the file has been read */
	uint64_t disk_at, disk_bytes;
	uint8_t *piece;
};

static errcode_t damaged(const struct sparse *sparse, const char *why)
{
	return problem_set_reason(sparse->problem, EBADMSG, sparse->path, ACTION, "it is damaged: %s", why);
}

static errcode_t read_next(struct sparse *sparse, void *bytes, size_t count)
{
	errcode_t error = whole_read(sparse->from, bytes, count, sparse->at);

	if (error == ENODATA)
		return damaged(sparse, "it is cut off");
	sparse->at += count;
	progress_add(sparse->progress, count, 0);
	return error ? problem_set(sparse->problem, error, sparse->path, ACTION) : 0;
}

static errcode_t read_header(struct sparse *sparse)
{
	struct sparse_header *header = &sparse->header;
	errcode_t error = read_next(sparse, header, sizeof(*header));

	if (error)
		return error;
	*header = (struct sparse_header){
		.major = le16toh(header->major),
		.header_bytes = le16toh(header->header_bytes),
		.chunk_header_bytes = le16toh(header->chunk_header_bytes),
		.block_bytes = le32toh(header->block_bytes),
		.blocks = le32toh(header->blocks),
		.chunks = le32toh(header->chunks),
	};
	if (header->major != 1)
		return problem_set_reason(sparse->problem, EINVAL, sparse->path, ACTION, "its version is not 1");
	if (header->header_bytes < sizeof(*header) || header->chunk_header_bytes < sizeof(struct chunk_header) ||
	    !header->block_bytes || header->block_bytes % 4 || header->block_bytes > MOST_BLOCK_BYTES)
		return damaged(sparse, "sizes in its header are out of range");
	sparse->at = header->header_bytes;
	sparse->disk_bytes = (uint64_t)header->blocks * header->block_bytes;
	return 0;
}

static errcode_t write_piece(struct sparse *sparse, size_t count)
{
	if (interrupt_pending())
		return problem_set(sparse->problem, EINTR, sparse->path, ACTION);
	errcode_t error =
		sparse_file_write(sparse->to, sparse->piece, count, sparse->disk_at, sparse->path, sparse->problem);

	sparse->disk_at += count;
	return error;
}

/* Counts a part before any of it is written: a few bytes can stand for a full disk. */
static errcode_t count_part(const struct sparse *sparse, uint64_t bytes)
{
	return source_counts_unpacked(sparse->counts, bytes) ? source_counts_problem(sparse->counts, sparse->problem) :
	                                                       0;
}

/* The bytes follow the chunk's header. */
static errcode_t copy_raw(struct sparse *sparse, uint64_t bytes)
{
	errcode_t error = count_part(sparse, bytes);

	while (!error && bytes) {
		size_t count = bytes < PIECE_BYTES ? (size_t)bytes : PIECE_BYTES;

		error = read_next(sparse, sparse->piece, count);
		if (!error)
			error = write_piece(sparse, count);
		bytes -= count;
	}
	return error;
}

static errcode_t fill(struct sparse *sparse, uint64_t bytes)
{
	uint32_t word;
	errcode_t error = read_next(sparse, &word, sizeof(word));

	if (error)
		return error;
	if (!word) {
		sparse->disk_at += bytes;
		return 0;
	}
	for (size_t n = 0; n < PIECE_BYTES; n += sizeof(word))
		memcpy(sparse->piece + n, &word, sizeof(word));
	error = count_part(sparse, bytes);
	if (!error)
		error = sparse_file_check_room(sparse->to, bytes, sparse->path, sparse->problem);
	while (!error && bytes) {
		size_t count = bytes < PIECE_BYTES ? (size_t)bytes : PIECE_BYTES;

		error = write_piece(sparse, count);
		bytes -= count;
	}
	return error;
}

static errcode_t copy_chunk(struct sparse *sparse)
{
	const uint64_t begin = sparse->at;
	struct chunk_header chunk;
	errcode_t error = read_next(sparse, &chunk, sizeof(chunk));

	if (error)
		return error;
	const uint16_t type = le16toh(chunk.type);
	const uint64_t bytes = (uint64_t)le32toh(chunk.blocks) * sparse->header.block_bytes;
	const uint64_t head = sparse->header.chunk_header_bytes, all = le32toh(chunk.bytes);

	if (bytes > sparse->disk_bytes - sparse->disk_at)
		return damaged(sparse, "its parts are longer than the disk");
	if ((type == CHUNK_RAW && all != head + bytes) || (type == CHUNK_FILL && all != head + sizeof(uint32_t)) ||
	    all < head)
		return damaged(sparse, "a part has another length than its blocks");
	sparse->at = begin + head;
	switch (type) {
	case CHUNK_RAW:
		error = copy_raw(sparse, bytes);
		break;
	case CHUNK_FILL:
		error = fill(sparse, bytes);
		break;
	case CHUNK_ANY:
		sparse->disk_at += bytes;
		break;
	case CHUNK_CHECKSUM:
		break;
	default:
		return damaged(sparse, "a part is of no known kind");
	}
	sparse->at = begin + all;
	return error;
}

static errcode_t copy_disk(struct sparse *sparse)
{
	SCOPE_FREE uint8_t *piece = malloc(PIECE_BYTES);
	errcode_t error = piece ? read_header(sparse) : problem_set(sparse->problem, ENOMEM, sparse->path, ACTION);

	sparse->piece = piece;
	for (uint32_t n = 0; !error && n < sparse->header.chunks; n++)
		error = copy_chunk(sparse);
	if (!error && sparse->disk_at != sparse->disk_bytes)
		return damaged(sparse, "its parts are shorter than the disk");
	return error ? error : sparse_file_end(sparse->to, sparse->disk_bytes, sparse->path, sparse->problem);
}

errcode_t android_sparse_unpack(int from, struct source_counts *counts, struct progress *progress, int to,
                                const char *path, struct problem *problem)
{
	struct sparse sparse = {
		.from = from,
		.to = to,
		.path = path,
		.counts = counts,
		.progress = progress,
		.problem = problem,
	};
	struct stat status;

	if (fstat(from, &status))
		return problem_set(problem, errno, path, ACTION);
	progress_stage(progress, "unpack", (uint64_t)status.st_size, 0);
	return copy_disk(&sparse);
}
