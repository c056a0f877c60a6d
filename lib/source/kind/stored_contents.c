/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/kind/stored_contents.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "support/bisect.h"
#include "support/io/whole_io.h"
#include "support/vector.h"
#include "unpack/unpacked_store.h"

/* Contents numbers from this one on are numbers of lists of pieces; no file is so long that its offset reaches it. */
#define IN_PIECES (UINT64_C(1) << 63)

struct stored_pieces {
	const struct tree_data_map *map;
	const uint64_t *starts;
};

/* The reader of one origin. */
struct stored_reader {
	const struct tree *tree;
	uint32_t number;
	const struct stored_origin *origin;
	int descriptor; /* borrowed: the origin's, or `late` */
	int late;       /* opened by this reader for an origin that is opened late; owned */
	uint64_t size_bytes;
	uint64_t start;                     /* where the file's bytes begin if pieces is NULL */
	const struct stored_pieces *pieces; /* NULL: the file is one piece */
};

struct stored_origin *stored_contents_of(const struct tree *tree, uint32_t origin)
{
	return tree->origins[origin].data;
}

static errcode_t create(const struct tree *tree, uint32_t origin, void **state)
{
	struct stored_reader *reader = malloc(sizeof(*reader));

	*state = reader;
	if (!reader)
		return ENOMEM;
	*reader = (struct stored_reader){
		.tree = tree, .number = origin, .origin = stored_contents_of(tree, origin), .descriptor = -1, .late = -1
	};
	return 0;
}

static void destroy(void *state)
{
	struct stored_reader *reader = state;

	cleanup_close_descriptor(&reader->late);
	free(reader);
}

int source_file_open_path(const char *path)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int flags = descriptor < 0 ? -1 : fcntl(descriptor, F_GETFL);

	if (flags >= 0)
		(void)!fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK);
	return descriptor;
}

static const char *file_of(const struct tree_origin *tree_origin)
{
	const struct stored_origin *origin = tree_origin->data;

	return origin->file ? origin->file : tree_origin->path;
}

static errcode_t open_late(struct stored_reader *reader, struct problem *problem)
{
	const char *path = reader->tree->origins[reader->number].path;
	SCOPE_CLOSE int opened =
		reader->late < 0 ? source_file_open_path(file_of(&reader->tree->origins[reader->number])) : -1;
	struct stat status;

	if (reader->late >= 0)
		return 0;
	if (opened < 0 || fstat(opened, &status))
		return problem_set(problem, errno, path, "cannot open");
	if (!file_version_is(&reader->origin->version, &status))
		return contents_changed(path, problem);
	reader->late = opened;
	opened = -1;
	return 0;
}

static errcode_t open_file(void *state, uint32_t number, struct problem *problem)
{
	struct stored_reader *reader = state;
	const struct stored_origin *origin = reader->origin;
	uint64_t contents = tree_contents(&reader->tree->nodes[number]);
	errcode_t error = origin->is_opened_late ? open_late(reader, problem) : 0;

	reader->descriptor = origin->is_opened_late ? reader->late : origin->descriptor;
	reader->size_bytes = reader->tree->nodes[number].size_bytes;
	reader->start = contents;
	reader->pieces = contents & IN_PIECES ? &origin->lists[contents & ~IN_PIECES] : NULL;
	return error;
}

static errcode_t read_stored(const struct stored_reader *reader, void *bytes, size_t count, uint64_t at)
{
	return reader->origin->unpacked ? unpacked_store_read(reader->origin->unpacked, bytes, count, at) :
	                                  whole_read(reader->descriptor, bytes, count, at);
}

/* Returns the first segment that ends after an offset. */
static uint32_t segment_at(const struct tree_data_map *map, uint64_t offset)
{
	return (uint32_t)BISECT(map->count, segment,
	                        map->segments[segment].start_bytes + map->segments[segment].length_bytes > offset);
}

/* The bytes of a piece that are within [offset, end) of its file. */
struct stored_part {
	uint64_t start_bytes, length_bytes; /* in the file */
	uint64_t place_bytes;               /* where it is stored */
};

static struct stored_part part_of(const struct stored_pieces *pieces, uint32_t number, uint64_t offset, uint64_t end)
{
	const struct tree_segment *segment = &pieces->map->segments[number];
	uint64_t from = segment->start_bytes > offset ? segment->start_bytes : offset;
	uint64_t to = segment->start_bytes + segment->length_bytes;

	return (struct stored_part){ from, (to < end ? to : end) - from,
		                     pieces->starts[number] + (from - segment->start_bytes) };
}

/* Gives the next part of [offset, end) and advances number; false if there is none. */
static bool next_part(const struct stored_pieces *pieces, uint32_t *number, uint64_t offset, uint64_t end,
                      struct stored_part *part)
{
	if (*number >= pieces->map->count || pieces->map->segments[*number].start_bytes >= end)
		return false;
	*part = part_of(pieces, (*number)++, offset, end);
	return true;
}

static errcode_t read_at(void *state, void *bytes, size_t count, uint64_t offset_bytes)
{
	const struct stored_reader *reader = state;
	struct stored_part part;

	if (!reader->pieces)
		return read_stored(reader, bytes, count, reader->start + offset_bytes);
	/* Holes are not stored, so they are zeroed here. */
	memset(bytes, 0, count);
	for (uint32_t i = segment_at(reader->pieces->map, offset_bytes);
	     next_part(reader->pieces, &i, offset_bytes, offset_bytes + count, &part);) {
		errcode_t error = read_stored(reader, (char *)bytes + (part.start_bytes - offset_bytes),
		                              part.length_bytes, part.place_bytes);

		if (error)
			return error;
	}
	return 0;
}

static void map(const void *state, uint64_t from_bytes, struct content_range *range)
{
	const struct stored_reader *reader = state;
	const struct stored_pieces *pieces = reader->pieces;
	uint32_t number = pieces ? segment_at(pieces->map, from_bytes) : 0;
	struct stored_part part = { from_bytes, reader->size_bytes - from_bytes, reader->start + from_bytes };

	if (pieces && number < pieces->map->count)
		part = part_of(pieces, number, from_bytes, reader->size_bytes);
	bool is_hole = pieces && (number == pieces->map->count || part.start_bytes > from_bytes);

	*range = (struct content_range){
		.logical_bytes = from_bytes,
		.length_bytes = is_hole && number < pieces->map->count ? part.start_bytes - from_bytes :
		                is_hole                                ? reader->size_bytes - from_bytes :
		                                                         part.length_bytes,
		.kind = is_hole ? CONTENT_HOLE : CONTENT_DATA,
		.descriptor = is_hole || reader->origin->unpacked ? -1 : reader->descriptor,
		.place_bytes = part.place_bytes,
	};
}

static void release(const void *state, uint64_t offset_bytes, size_t count)
{
	const struct stored_reader *reader = state;
	const struct unpacked_store *store = reader->origin->unpacked;
	struct stored_part part;

	if (!store)
		return;
	if (!reader->pieces) {
		unpacked_store_release(store, reader->start + offset_bytes, count);
		return;
	}
	for (uint32_t i = segment_at(reader->pieces->map, offset_bytes);
	     next_part(reader->pieces, &i, offset_bytes, offset_bytes + count, &part);)
		unpacked_store_release(store, part.place_bytes, part.length_bytes);
}

/*
 * True if the file is unchanged. A new hard link changes the ctime of a file that is open, so ctime counts only for a
 * file that is opened late, by its name.
 */
static bool is_as_it_was(const struct stored_origin *origin, const struct stat *status)
{
	const struct file_version *version = &origin->version;

	return origin->is_opened_late ?
	               file_version_is(version, status) :
	               version->bytes == status->st_size && times_are_equal(version->mtime, status->st_mtim);
}

static errcode_t check(const struct tree_origin *tree_origin, struct problem *problem)
{
	const struct stored_origin *origin = tree_origin->data;
	struct stat status;

	if (!origin->is_changeable)
		return 0;
	if (origin->is_opened_late ? stat(file_of(tree_origin), &status) : fstat(origin->descriptor, &status))
		return problem_set(problem, errno, tree_origin->path, "cannot examine");
	return is_as_it_was(origin, &status) ? 0 : contents_changed(tree_origin->path, problem);
}

void stored_contents_close(struct stored_origin *origin, bool is_opened_late)
{
	cleanup_close_descriptor(&origin->descriptor);
	origin->descriptor = -1;
	origin->is_opened_late = is_opened_late;
	origin->is_changeable = is_opened_late;
}

static void open_origin_late(struct tree_origin *tree_origin)
{
	struct stored_origin *origin = tree_origin->data;

	if (origin->is_changeable)
		stored_contents_close(origin, true);
}

static char *path_of(const struct tree *tree, uint32_t node)
{
	const char *origin = tree->origins[tree->nodes[node].origin].path;
	char *text = NULL;

	if (node == TREE_ROOT)
		return strdup(origin);
	SCOPE_FREE char *path = path_text("", tree_ascend, tree, node, NULL);

	return path && asprintf(&text, "%s: %s", origin, path + 1) >= 0 ? text : NULL;
}

static void close_origin(void *data)
{
	struct stored_origin *origin = data;

	cleanup_close_descriptor(&origin->descriptor);
	unpacked_store_destroy(origin->unpacked);
	free(origin->lists);
	free(origin->file);
	free(origin);
}

static const struct contents stored_contents = {
	.create = create,
	.destroy = destroy,
	.open = open_file,
	.read_at = read_at,
	.map = map,
	.release = release,
	.check = check,
	.open_late = open_origin_late,
	.path = path_of,
	.close = close_origin,
};

/* In a file of whole blocks, which stays open: it would have to be found anew under a lock of its own. */
static const struct contents block_contents = {
	.create = create,
	.destroy = destroy,
	.open = open_file,
	.read_at = read_at,
	.map = map,
	.path = path_of,
	.close = close_origin,
	.begins_in_blocks = true,
	.fills_blocks = true,
};

static errcode_t add_origin(struct tree *tree, const struct contents *contents, const char *path, int descriptor,
                            uint32_t *number)
{
	SCOPE_CLOSE int owned = descriptor;
	struct stat status = { 0 };

	if (descriptor >= 0 && fstat(descriptor, &status))
		return errno;
	struct stored_origin *origin = malloc(sizeof(*origin));

	if (!origin)
		return ENOMEM;
	*origin = (struct stored_origin){ .descriptor = descriptor, .version = file_version_of(&status) };
	owned = -1;
	return tree_add_origin(tree, contents, origin, path, number);
}

errcode_t stored_contents_add(struct tree *tree, const char *path, int descriptor, uint32_t *number)
{
	return add_origin(tree, &stored_contents, path, descriptor, number);
}

errcode_t stored_contents_add_blocks(struct tree *tree, const char *path, int descriptor, uint32_t *number)
{
	return add_origin(tree, &block_contents, path, descriptor, number);
}

errcode_t stored_contents_add_pieces(struct stored_origin *origin, const struct tree_data_map *map,
                                     const uint64_t *starts, uint64_t *contents)
{
	errcode_t error =
		vector_reserve(&origin->lists, &origin->list_capacity, origin->list_count + 1, sizeof(*origin->lists));

	if (error)
		return error;
	origin->lists[origin->list_count] = (struct stored_pieces){ map, starts };
	*contents = IN_PIECES | origin->list_count++;
	return 0;
}
