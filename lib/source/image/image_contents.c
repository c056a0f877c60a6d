/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/image/image_contents.h"

#include <errno.h>
#include <string.h>

#include "image/mounts.h"
#include "image/replayed.h"
#include "support/bisect.h"
#include "support/io/whole_io.h"

/* The reader of one origin. */
struct image_reader {
	const struct tree *tree;
	const struct image_origin *origin;
	const struct image_file *file; /* NULL: the file has no data */
	uint64_t size_bytes;           /* including the padding of the last block if the file is encrypted */
	uint8_t *blocks;               /* BUFFER_BYTES, for blocks that the journal has; NULL: not needed yet */
};

#define BUFFER_BYTES ((size_t)64 << 10) /* at least a block of the largest size */

static errcode_t create(const struct tree *tree, uint32_t origin, void **state)
{
	struct image_reader *reader = malloc(sizeof(*reader));

	*state = reader;
	if (!reader)
		return ENOMEM;
	*reader = (struct image_reader){ .tree = tree, .origin = tree->origins[origin].data };
	return 0;
}

static void destroy(void *state)
{
	struct image_reader *reader = state;

	free(reader->blocks);
	free(reader);
}

static errcode_t open_file(void *state, uint32_t number, struct problem *problem)
{
	struct image_reader *reader = state;
	const struct tree_node *node = &reader->tree->nodes[number];

	(void)problem;
	reader->file = (const struct image_file *)(uintptr_t)tree_contents(node);
	reader->size_bytes = tree_stored_bytes(reader->tree, node);
	return 0;
}

/* Returns the first record that ends after an offset. */
static uint32_t record_at(const struct image_file *file, unsigned int block_bits, uint64_t offset)
{
	return (uint32_t)BISECT(file->record_count, n,
	                        (file->records[n].logical + file->records[n].count) << block_bits > offset);
}

/* The part of a record that is within [offset, end) of its file, and its place in the image's file or device. */
struct part {
	uint64_t start_bytes, length_bytes;
	uint64_t place_bytes;
};

static struct part part_of(const struct volume *volume, const struct map_record *record, uint64_t offset, uint64_t end)
{
	unsigned int block_bits = volume->format.block_bits;
	uint64_t start = record->logical << block_bits, from = start > offset ? start : offset;
	uint64_t to = (record->logical + record->count) << block_bits;

	return (struct part){ from, (to < end ? to : end) - from,
		              volume->offset_bytes + (record->physical << block_bits) + (from - start) };
}

/* Reads a part block by block, because the journal has newer contents of some of its blocks. */
static errcode_t read_blocks(struct image_reader *reader, const struct part *part, uint8_t *bytes)
{
	const struct volume *volume = &reader->origin->volume;
	unsigned int block_bits = volume->format.block_bits;
	uint64_t at = part->place_bytes - volume->offset_bytes, end = at + part->length_bytes;

	if (!reader->blocks)
		reader->blocks = malloc(BUFFER_BYTES);
	if (!reader->blocks)
		return ENOMEM;
	while (at < end) {
		uint64_t block = at >> block_bits, left = ((end - 1) >> block_bits) - block + 1;
		uint64_t count = left < BUFFER_BYTES >> block_bits ? left : BUFFER_BYTES >> block_bits;
		uint64_t begin = at - (block << block_bits), piece = (count << block_bits) - begin;
		errcode_t error = volume_read(volume, block, count, reader->blocks);

		if (error)
			return error;
		piece = piece < end - at ? piece : end - at;
		memcpy(bytes, reader->blocks + begin, piece);
		bytes += piece;
		at += piece;
	}
	return 0;
}

static errcode_t read_part(struct image_reader *reader, const struct map_record *record, const struct part *part,
                           uint8_t *bytes)
{
	const struct volume *volume = &reader->origin->volume;

	return volume_is_in_place(volume, record->physical, record->count) ?
	               whole_read(volume->descriptor, bytes, part->length_bytes, part->place_bytes) :
	               read_blocks(reader, part, bytes);
}

static void read_inline(const struct image_file *file, uint8_t *bytes, size_t count, uint64_t offset)
{
	uint64_t left = offset < file->inline_bytes ? file->inline_bytes - offset : 0;

	memset(bytes, 0, count);
	if (left)
		memcpy(bytes, file->inline_data + offset, left < count ? left : count);
}

static errcode_t read_at(void *state, void *bytes, size_t count, uint64_t offset)
{
	struct image_reader *reader = state;
	const struct image_file *file = reader->file;
	const struct volume *volume = &reader->origin->volume;
	uint64_t done = offset, end = offset + count;

	if (!file || file->inline_data) {
		memset(bytes, 0, count);
		if (file)
			read_inline(file, bytes, count, offset);
		return 0;
	}
	for (uint32_t n = record_at(file, volume->format.block_bits, offset); n < file->record_count; n++) {
		const struct map_record *record = &file->records[n];

		if (record->logical << volume->format.block_bits >= end)
			break;
		if (record->is_unwritten)
			continue;
		const struct part part = part_of(volume, record, offset, end);

		memset((uint8_t *)bytes + (done - offset), 0, part.start_bytes - done);
		errcode_t error = read_part(reader, record, &part, (uint8_t *)bytes + (part.start_bytes - offset));

		if (error)
			return error;
		done = part.start_bytes + part.length_bytes;
	}
	memset((uint8_t *)bytes + (done - offset), 0, end - done);
	return 0;
}

static void map(const void *state, uint64_t from_bytes, struct content_range *range)
{
	const struct image_reader *reader = state;
	const struct image_file *file = reader->file;
	const struct volume *volume = &reader->origin->volume;
	uint32_t number = file ? record_at(file, volume->format.block_bits, from_bytes) : 0;
	uint64_t left = reader->size_bytes - from_bytes;

	*range = (struct content_range){ from_bytes, left, CONTENT_HOLE, -1, 0 };
	if (file && from_bytes < file->inline_bytes) {
		range->kind = CONTENT_DATA;
		range->length_bytes = file->inline_bytes - from_bytes < left ? file->inline_bytes - from_bytes : left;
	}
	if (!file || number == file->record_count)
		return;
	const struct map_record *record = &file->records[number];
	const struct part part = part_of(volume, record, from_bytes, reader->size_bytes);

	if (part.start_bytes > from_bytes) {
		range->length_bytes = part.start_bytes - from_bytes;
		return;
	}
	range->length_bytes = part.length_bytes;
	range->kind = record->is_unwritten ? CONTENT_UNWRITTEN : CONTENT_DATA;
	if (record->is_unwritten || !volume_is_in_place(volume, record->physical, record->count))
		return;
	range->descriptor = volume->descriptor;
	range->place_bytes = part.place_bytes;
}

static errcode_t check(const struct tree_origin *tree_origin, struct problem *problem)
{
	const struct image_origin *origin = tree_origin->data;
	struct stat status;

	/* A file's mtime tells whether it has changed; a device has nothing that tells it. */
	if (!origin->is_changeable)
		return mounts_of(origin->raw.path) == MOUNTS_WRITABLE ? contents_changed(tree_origin->path, problem) :
		                                                        0;
	if (fstat(origin->volume.descriptor, &status))
		return problem_set(problem, errno, tree_origin->path, "cannot examine");
	/* A new hard link to the image changes its ctime, so ctime is not compared. */
	return status.st_size == origin->version.bytes && times_are_equal(status.st_mtim, origin->version.mtime) ?
	               0 :
	               contents_changed(tree_origin->path, problem);
}

char *image_file_path(const char *image, ascend_step step, const void *tree, uint32_t number, const char *name)
{
	char *text = NULL;

	if (number == ASCEND_ROOT && !name)
		return strdup(image);
	SCOPE_FREE char *path = path_text("", step, tree, number, name);

	/* The path in the message has no slash at its beginning. */
	return path && asprintf(&text, "%s: %s", image, path + 1) >= 0 ? text : NULL;
}

static char *path_of(const struct tree *tree, uint32_t node)
{
	return image_file_path(tree->origins[tree->nodes[node].origin].path, tree_ascend, tree, node, NULL);
}

static void close_origin(void *data)
{
	struct image_origin *origin = data;

	if (origin->volume.descriptor >= 0)
		volume_close(&origin->volume);
	raw_image_close(&origin->raw);
	free(origin);
}

static const struct contents image_contents = {
	.create = create,
	.destroy = destroy,
	.open = open_file,
	.read_at = read_at,
	.map = map,
	.check = check,
	.path = path_of,
	.close = close_origin,
	.begins_in_blocks = true,
};

struct image_origin *image_contents_of(const struct tree *tree)
{
	return tree->origins[0].data;
}

const struct volume *image_volume_of(const struct tree *tree)
{
	return tree->origin_count && tree->origins[0].contents == &image_contents ? &image_contents_of(tree)->volume :
	                                                                            NULL;
}

static errcode_t open_origin(struct image_origin *origin, const struct image_name *name,
                             const struct scan_options *options, struct problem *problem)
{
	errcode_t error = raw_image_open(name->file, options->counts, options->progress, &origin->raw, problem);

	if (error)
		return error;
	progress_stage(options->progress, "scan", 0, 0);
	error = (name->ignores_journal ? volume_open : volume_open_as_replayed)(origin->raw.path, name->offset_bytes,
	                                                                        &origin->volume, problem);
	if (error)
		origin->volume.descriptor = -1;
	return raw_image_rename(&origin->raw, error, name->file, problem);
}

errcode_t image_contents_add(struct tree *tree, const char *path, const struct image_name *name,
                             const struct scan_options *options, struct problem *problem)
{
	struct image_origin *origin = calloc(1, sizeof(*origin));
	uint32_t number;
	struct stat status;

	if (!origin)
		return ENOMEM;
	origin->volume.descriptor = -1;
	origin->raw.descriptor = -1;
	errcode_t error = tree_add_origin(tree, &image_contents, origin, path, &number);

	if (!error)
		error = open_origin(origin, name, options, problem);
	if (error)
		return error;
	if (fstat(origin->volume.descriptor, &status))
		return problem_set(problem, errno, path, "cannot examine");
	origin->is_changeable = S_ISREG(status.st_mode);
	origin->version = file_version_of(&status);
	return 0;
}
