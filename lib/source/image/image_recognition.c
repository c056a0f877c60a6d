/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/image/image_recognition.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>

#include <blkid/blkid.h>
#include <ext2fs/ext2_fs.h>

#include "disk/raw_image.h"
#include "source/archive/archive_kind.h"
#include "source/kind/stored_contents.h"
#include "support/io/whole_io.h"
#include "support/text/units.h"

#define OFFSET_WORD "offset="
#define NOLOAD_WORD "noload"
#define SUPERBLOCK_AT 1024u
#define SECTOR_BYTES UINT64_C(512) /* libblkid counts in these, whatever the device's sector size */
#define BOOT_SIGNATURE_AT 510      /* offset of the mark of a partition table; GPT has it, too */

bool image_has_prefix(struct source *source)
{
	if (!source_cut_prefix(source, "image"))
		return false;
	const char *offset = strstr(source->path, "?" OFFSET_WORD), *noload = strstr(source->path, "?" NOLOAD_WORD);
	const char *word = !offset || (noload && noload < offset) ? noload : offset;

	source->file_bytes = word ? (size_t)(word - source->path) : 0;
	return true;
}

static errcode_t parse_word(const struct source *source, const char *word, struct image_name *name,
                            struct problem *problem)
{
	const char *number = word + strlen(OFFSET_WORD);

	if (!strcmp(word, NOLOAD_WORD)) {
		name->ignores_journal = true;
		return 0;
	}
	if (strncmp(word, OFFSET_WORD, strlen(OFFSET_WORD)) != 0)
		return problem_set_reason(problem, EINVAL, source->path, "cannot read",
		                          "\"%s\" is not one of offset=N and noload, with commas between them", word);
	if (units_parse_bytes(number, 1, &name->offset_bytes) || name->offset_bytes > INT64_MAX)
		return problem_set_reason(problem, EINVAL, source->path, "cannot read",
		                          "\"%s\" is not an offset: a number of bytes, perhaps with K, M, G or T",
		                          number);
	return 0;
}

errcode_t image_parse_name(const struct source *source, struct image_name *name, struct problem *problem)
{
	SCOPE_FREE char *words = strdup(source->file_bytes ? source->path + source->file_bytes + 1 : "");
	char *next = words;

	*name = (struct image_name){ 0 };
	if (!words)
		return ENOMEM;
	for (const char *word; source->file_bytes && (word = strsep(&next, ","));) {
		errcode_t error = parse_word(source, word, name, problem);

		if (error)
			return error;
	}
	name->file = source->file_bytes ? strndup(source->path, source->file_bytes) : strdup(source->path);
	return name->file ? 0 : ENOMEM;
}

static bool has_partitions(const char *file)
{
	char *offsets = image_partition_offsets(file);

	free(offsets);
	return offsets;
}

bool image_has_name(struct source *source)
{
	uint8_t bytes[DISK_FORM_BYTES];
	char form[RAW_IMAGE_FORM_BYTES];
	struct stat status;

	/*
	 * Only a regular file or a block device is opened: reading would take bytes from a pipe, a terminal or a tape.
	 */
	if (stat(source->path, &status) || (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode)))
		return false;
	if (!raw_image_head(source->path, bytes) || archive_kind_begins(bytes, sizeof(bytes)))
		return false;
	if (disk_form_of(bytes, sizeof(bytes)) != DISK_NONE)
		return true;
	/* The partitions of a packed image are looked for when it is unpacked. */
	return bytes[BOOT_SIGNATURE_AT] == 0x55 && bytes[BOOT_SIGNATURE_AT + 1] == 0xaa &&
	       (raw_image_form(source->path, form) || has_partitions(source->path));
}

static void cleanup_probe(blkid_probe *probe)
{
	blkid_free_probe(*probe);
}

/* True if the partition begins with a superblock of its own. */
static bool has_filesystem_at(int descriptor, uint64_t offset_bytes, uint64_t bytes)
{
	struct ext2_super_block super;

	return !whole_read(descriptor, &super, sizeof(super), offset_bytes + SUPERBLOCK_AT) &&
	       disk_form_filesystem_bytes(&super) && disk_form_filesystem_bytes(&super) <= bytes;
}

char *image_partition_offsets(const char *file)
{
	__attribute__((cleanup(cleanup_probe))) blkid_probe probe = blkid_new_probe_from_filename(file);
	SCOPE_CLOSE int descriptor = source_file_open_path(file);
	blkid_partlist list = probe && descriptor >= 0 ? blkid_probe_get_partitions(probe) : NULL;
	char *text = NULL;

	for (int n = 0; list && n < blkid_partlist_numof_partitions(list); n++) {
		blkid_partition partition = blkid_partlist_get_partition(list, n);
		blkid_loff_t start = blkid_partition_get_start(partition);
		blkid_loff_t sectors = blkid_partition_get_size(partition);
		SCOPE_FREE char *before = text;

		text = TAKE(before);
		if (start <= 0 || sectors <= 0 || start > INT64_MAX / (blkid_loff_t)SECTOR_BYTES ||
		    !has_filesystem_at(descriptor, (uint64_t)start * SECTOR_BYTES, (uint64_t)sectors * SECTOR_BYTES))
			continue;
		before = text;
		if (asprintf(&text, "%s%s%" PRIu64, before ? before : "", before ? ", " : "",
		             (uint64_t)start * SECTOR_BYTES) < 0)
			text = NULL;
	}
	return text;
}

static errcode_t read_size(const char *file, const char *shown, uint64_t offset_bytes, uint64_t *bytes,
                           struct problem *problem)
{
	SCOPE_CLOSE int descriptor = source_file_open_path(file);
	off_t end = descriptor < 0 ? -1 : lseek(descriptor, 0, SEEK_END);
	struct ext2_super_block super;

	if (end < 0)
		return problem_set(problem, errno, shown, "cannot open");
	errcode_t error = whole_read(descriptor, &super, sizeof(super), offset_bytes + SUPERBLOCK_AT);

	if (error && error != ENODATA)
		return problem_set(problem, error, shown, "cannot read");
	*bytes = error ? 0 : disk_form_filesystem_bytes(&super);
	if (!*bytes || *bytes > (uint64_t)end - offset_bytes)
		return problem_set_reason(problem, EINVAL, shown, "cannot choose a size",
		                          "it does not hold the whole of a filesystem");
	return 0;
}

errcode_t image_filesystem_bytes(const struct source *source, uint64_t most_unpacked_bytes, uint64_t *bytes,
                                 struct problem *problem)
{
	struct source_counts counts = { .limits.unpacked_bytes = most_unpacked_bytes };
	struct image_name name;
	struct raw_image raw;
	errcode_t error = image_parse_name(source, &name, problem);
	SCOPE_FREE char *file = name.file;

	if (error)
		return error;
	if (source_is_pipe(file))
		return problem_set_reason(problem, EINVAL, source_file_name(source), "cannot choose a size",
		                          "it comes through a pipe, which can be read once");
	error = raw_image_open(file, &counts, NULL, &raw, problem);
	if (!error)
		error = read_size(raw.path, source->path, name.offset_bytes, bytes, problem);
	raw_image_close(&raw);
	return error;
}
