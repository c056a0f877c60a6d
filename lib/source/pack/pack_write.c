/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "source/pack/pack.h"
#include "source/pack/pack_places.h"
#include "support/bisect.h"
#include "support/crc32c.h"
#include "support/io/whole_io.h"
#include "support/vector.h"
#include "support/zeros.h"
#include "tree/contents.h"

/* Shorter holes would only make the pack's map longer. */
#define HOLE_BYTES (UINT64_C(64) << 10)
/* A pack leaves holes if zeros are at least one in so many of its bytes. */
#define LEAST_ZERO_PART 4

/* Bytes of a file that lie in one piece in the pack. */
struct piece {
	uint64_t place_bytes;
	uint64_t logical_bytes, length_bytes;
	uint32_t node;
};

/* The state of one worker. */
struct copier {
	struct content_reader *reader;
	uint8_t *slice;
	uint32_t node; /* that the reader has opened; TREE_ROOT: none */
};

struct writing {
	int descriptor;
	const char *path;
	const struct tree *tree;
	struct piece *pieces; /* ascending by place */
	size_t piece_count, piece_capacity;
	uint64_t contents_bytes;
	bool leaves_holes; /* where there are long zeros */
	uint32_t *checksums;
	struct copier *copiers;
};

static errcode_t add_piece(struct writing *writing, const struct piece *piece)
{
	if (!piece->length_bytes)
		return 0;
	return vector_add(&writing->pieces, &writing->piece_count, &writing->piece_capacity, piece, sizeof(*piece));
}

static errcode_t add_file(struct writing *writing, uint32_t number)
{
	const struct tree_node *node = &writing->tree->nodes[number];
	const struct tree_data_map *map = node->is_sparse ? node->data_map : NULL;
	SCOPE_FREE uint64_t *starts = map ? malloc(map->count * sizeof(*starts) + 1) : NULL;
	uint64_t begin = writing->contents_bytes;

	if (map && !starts)
		return ENOMEM;
	errcode_t error = pack_places_add(node->size_bytes, map, &writing->contents_bytes, starts);

	if (!error && !map)
		error = add_piece(writing, &(struct piece){ begin, 0, node->size_bytes, number });
	for (uint32_t i = 0; !error && map && i < map->count; i++)
		error = add_piece(writing, &(struct piece){ starts[i], map->segments[i].start_bytes,
		                                            map->segments[i].length_bytes, number });
	return error;
}

static errcode_t find_pieces(struct writing *writing, const struct pack_layer *layer)
{
	const struct tree *tree = writing->tree;
	errcode_t error = 0;

	for (uint32_t i = 0; !error && i < tree->node_count; i++)
		if (S_ISREG(tree->nodes[i].mode) && !tree_node_is_link(tree, i) &&
		    !(layer->below && links_below_find(layer->below, &tree->nodes[i])))
			error = add_file(writing, i);
	return error;
}

static errcode_t open_node(struct copier *copier, uint32_t node, struct problem *problem)
{
	if (copier->node == node)
		return 0;
	errcode_t error = content_reader_open(copier->reader, node, problem);

	copier->node = error ? TREE_ROOT : node;
	return error;
}

/* Reads the part of a piece that lies in the slice from `begin` on. */
static errcode_t read_part(struct copier *copier, const struct piece *piece, uint64_t begin, uint64_t end,
                           struct problem *problem)
{
	uint64_t from = piece->place_bytes > begin ? piece->place_bytes : begin;
	uint64_t to = piece->place_bytes + piece->length_bytes;
	uint64_t logical = piece->logical_bytes + (from - piece->place_bytes);
	size_t count = (to < end ? to : end) - from;
	errcode_t error = open_node(copier, piece->node, problem);

	if (!error)
		error = content_reader_read(copier->reader, copier->slice + (from - begin), count, logical, problem);
	if (!error)
		content_reader_release(copier->reader, logical, count);
	return error;
}

static errcode_t prepare_copier(const struct writing *writing, struct copier *copier)
{
	errcode_t error = copier->reader ? 0 : content_reader_create(writing->tree, &copier->reader);

	if (!error && !copier->slice)
		copier->slice = malloc(PACK_SLICE_BYTES);
	return error || !copier->slice ? ENOMEM : 0;
}

/* Returns the end of the piece that can become a hole. */
static size_t hole_end(size_t at, size_t count)
{
	return count - at < HOLE_BYTES ? count : at + HOLE_BYTES;
}

/* Writes what is not zeros. */
static errcode_t write_data(const struct writing *writing, const uint8_t *slice, size_t count, uint64_t place)
{
	errcode_t error = 0;

	for (size_t at = 0, end; !error && at < count; at = end) {
		bool is_hole = bytes_are_zero(slice + at, hole_end(at, count) - at);

		for (end = hole_end(at, count); end < count; end = hole_end(end, count))
			if (bytes_are_zero(slice + end, hole_end(end, count) - end) != is_hole)
				break;
		if (!is_hole)
			error = whole_write(writing->descriptor, slice + at, end - at, place + at);
	}
	return error;
}

/* One write for many small files: what lies between them is zeros. */
static errcode_t copy_slice(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct writing *writing = context;
	struct copier *copier = &writing->copiers[worker];
	uint64_t begin = index * PACK_SLICE_BYTES, left = writing->contents_bytes - begin;
	size_t count = left < PACK_SLICE_BYTES ? (size_t)left : PACK_SLICE_BYTES;
	const struct piece *pieces = writing->pieces;
	errcode_t error = prepare_copier(writing, copier);

	if (error)
		return error;
	memset(copier->slice, 0, count);
	for (size_t i = BISECT(writing->piece_count, piece,
	                       pieces[piece].place_bytes + pieces[piece].length_bytes > begin);
	     !error && i < writing->piece_count && pieces[i].place_bytes < begin + count; i++)
		error = read_part(copier, &pieces[i], begin, begin + count, problem);
	if (error)
		return error;
	writing->checksums[index] = crc32c(~0u, copier->slice, count);
	error = writing->leaves_holes ?
	                write_data(writing, copier->slice, count, PACK_BLOCK_BYTES + begin) :
	                whole_write(writing->descriptor, copier->slice, count, PACK_BLOCK_BYTES + begin);
	return error ? problem_set(problem, error, writing->path, "cannot write") : 0;
}

/* Are there so many zeros that the disk has better uses for their blocks? A packed megabyte can be a gigabyte of them.
 */
static bool has_many_zeros(const struct tree *tree, uint64_t contents_bytes)
{
	uint64_t zero_kib = 0;

	for (uint32_t i = 0; i < tree->origin_count; i++)
		zero_kib += tree->origins[i].zero_pieces;
	return zero_kib > contents_bytes / 1024 / LEAST_ZERO_PART;
}

/* One range on the disk, if the filesystem can: blocks are shared range by range. It also finds a full disk early. */
static errcode_t allocate(int descriptor, uint64_t bytes)
{
	if (fallocate(descriptor, 0, 0, (off_t)bytes) == 0 || errno == EOPNOTSUPP || errno == ENOSYS)
		return 0;
	return errno;
}

static errcode_t write_index(const struct writing *writing, const char *name, const struct pack_layer *layer)
{
	struct pack_header header = { .magic = PACK_MAGIC, .version = htole32(PACK_VERSION) };
	struct timespec times[2] = { { .tv_nsec = UTIME_NOW } };
	SCOPE_FREE void *index = NULL;
	uint64_t bytes;
	errcode_t error = pack_index_make(layer, writing->checksums, &index, &bytes);

	if (!error)
		error = whole_write(writing->descriptor, index, bytes, PACK_BLOCK_BYTES + writing->contents_bytes);
	if (error)
		return error;
	header.index_checksum = htole32(crc32c(~0u, index, bytes));
	header.contents_bytes = htole64(writing->contents_bytes);
	header.index_bytes = htole64(bytes);
	memcpy(header.name, name, strnlen(name, sizeof(header.name) - 1));
	clock_gettime(CLOCK_REALTIME, &times[1]);
	/* A filesystem may keep only seconds. */
	times[1].tv_nsec = 0;
	header.mtime_seconds = htole64((uint64_t)times[1].tv_sec);
	header.checksum = htole32(crc32c(~0u, &header, offsetof(struct pack_header, checksum)));
	error = whole_write(writing->descriptor, &header, sizeof(header), 0);
	/* XFS has reserved as much again beyond the end, and keeps that of a file for which fallocate(2) was called. */
	if (!error && ftruncate(writing->descriptor, (off_t)(PACK_BLOCK_BYTES + writing->contents_bytes + bytes)))
		error = errno;
	return !error && futimens(writing->descriptor, times) ? errno : error;
}

static errcode_t write_contents(struct writing *writing, struct pool *pool, struct problem *problem)
{
	uint64_t slices = pack_slices(writing->contents_bytes);

	writing->checksums = calloc(slices + 1, sizeof(*writing->checksums));
	writing->copiers = calloc(pool_workers(pool), sizeof(*writing->copiers));
	if (!writing->checksums || !writing->copiers)
		return ENOMEM;
	errcode_t error = 0;

	writing->leaves_holes = has_many_zeros(writing->tree, writing->contents_bytes);
	if (!writing->leaves_holes)
		error = allocate(writing->descriptor, PACK_BLOCK_BYTES + writing->contents_bytes);
	return error ? error : pool_run(pool, slices, copy_slice, writing, problem);
}

static void release(struct writing *writing, unsigned int workers)
{
	for (unsigned int i = 0; writing->copiers && i < workers; i++) {
		content_reader_destroy(writing->copiers[i].reader);
		free(writing->copiers[i].slice);
	}
	free(writing->copiers);
	free(writing->checksums);
	free(writing->pieces);
}

errcode_t pack_write(int descriptor, const char *name, const char *path, const struct pack_layer *layer,
                     struct pool *pool, struct problem *problem)
{
	struct writing writing = { .descriptor = descriptor, .path = path, .tree = layer->tree };
	errcode_t error = find_pieces(&writing, layer);

	if (!error)
		error = write_contents(&writing, pool, problem);
	if (!error)
		error = contents_check(layer->tree, problem);
	if (!error)
		error = write_index(&writing, name, layer);
	if (!error && fsync(descriptor))
		error = errno;
	release(&writing, pool_workers(pool));
	return error ? problem_set(problem, error, path, "cannot write") : 0;
}
