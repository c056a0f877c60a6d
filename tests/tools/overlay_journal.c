/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overlay_journal IMAGE REPLAYED: reads IMAGE, whose journal needs recovery, through the overlay of its journal
 * (lib/image/journal_overlay.h), and compares it block by block with REPLAYED, a copy in which somebody else has
 * replayed the journal. The journal itself and ext4's superblock, which a replay marks, are left out. Prints what the
 * log has. Exit status 1: a block differs, or the journal is refused; the message is on standard error.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <ext2fs/ext2fs.h>

#include "image/journal_overlay.h"
#include "support/io/whole_io.h"
#include "support/vector.h"

#define BLOCKS_AT_ONCE 256
#define MOST_SHOWN 10

struct ranges {
	struct journal_range *items;
	size_t count, capacity;
};

static errcode_t read_image(void *context, uint64_t offset_bytes, void *buffer, size_t bytes)
{
	return whole_read(*(int *)context, buffer, bytes, offset_bytes);
}

static int add_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t logical, blk64_t reference_block, int reference_offset,
                     void *context)
{
	struct ranges *ranges = context;
	struct journal_range *last = ranges->count ? &ranges->items[ranges->count - 1] : NULL;

	(void)fs, (void)reference_block, (void)reference_offset;
	if (last && last->logical + last->count == (uint64_t)logical && last->physical + last->count == *block) {
		last->count++;
		return 0;
	}
	if (vector_reserve(&ranges->items, &ranges->capacity, ranges->count + 1, sizeof(*ranges->items)))
		errx(2, "out of memory");
	ranges->items[ranges->count++] = (struct journal_range){ (uint64_t)logical, *block, 1 };
	return 0;
}

static void find_journal(const char *path, struct journal_source *source, struct ranges *ranges)
{
	ext2_filsys fs;
	errcode_t error =
		ext2fs_open(path, EXT2_FLAG_64BITS | EXT2_FLAG_IGNORE_CSUM_ERRORS, 0, 0, unix_io_manager, &fs);

	if (error)
		errx(2, "%s: %s", path, error_message(error));
	source->block_bytes = fs->blocksize;
	source->blocks = ext2fs_blocks_count(fs->super);
	source->is_external = fs->super->s_journal_dev && !fs->super->s_journal_inum;
	/* Clusters of bigalloc are not iterated over here: the journal's inode has extents of blocks all the same. */
	error = source->is_external ?
	                0 :
	                ext2fs_block_iterate3(fs, EXT2_JOURNAL_INO, BLOCK_FLAG_READ_ONLY | BLOCK_FLAG_DATA_ONLY, NULL,
	                                      add_block, ranges);
	if (error)
		errx(2, "%s: %s", path, error_message(error));
	ext2fs_free(fs);
	source->ranges = ranges->items;
	source->range_count = ranges->count;
}

static bool is_of_journal(const struct journal_source *source, uint64_t block)
{
	for (size_t index = 0; index < source->range_count; index++)
		if (block - source->ranges[index].physical < source->ranges[index].count)
			return true;
	return false;
}

/* A block without ext4's superblock. */
static bool differs(const struct journal_source *source, uint64_t block, uint8_t *ours, uint8_t *theirs)
{
	uint64_t start = block * source->block_bytes, skipped = start < 1024 ? 1024 - start : 0;

	if (start < 2048 && start + source->block_bytes > 1024) {
		memset(ours + skipped, 0, 1024);
		memset(theirs + skipped, 0, 1024);
	}
	return memcmp(ours, theirs, source->block_bytes) != 0;
}

static uint64_t compare(const struct journal_overlay *overlay, const struct journal_source *source, int image,
                        int replayed)
{
	size_t bytes = (size_t)BLOCKS_AT_ONCE * source->block_bytes;
	SCOPE_FREE uint8_t *ours = malloc(bytes);
	SCOPE_FREE uint8_t *theirs = malloc(bytes);
	uint64_t different = 0;

	if (!ours || !theirs)
		errx(2, "out of memory");
	for (uint64_t block = 0; block < source->blocks; block += BLOCKS_AT_ONCE) {
		uint64_t left = source->blocks - block, count = left < BLOCKS_AT_ONCE ? left : BLOCKS_AT_ONCE;

		if (whole_read(image, ours, count * source->block_bytes, block * source->block_bytes) ||
		    whole_read(replayed, theirs, count * source->block_bytes, block * source->block_bytes) ||
		    journal_overlay_apply(overlay, source, block, count, ours))
			errx(2, "block %" PRIu64 " cannot be read", block);
		for (uint64_t n = 0; n < count; n++) {
			uint8_t *one = ours + n * source->block_bytes, *other = theirs + n * source->block_bytes;
			struct journal_overlay_block found;

			if (is_of_journal(source, block + n) || !differs(source, block + n, one, other))
				continue;
			if (different++ < MOST_SHOWN)
				printf("block %" PRIu64 " differs; the overlay has %s\n", block + n,
				       journal_overlay_find(overlay, block + n, &found) ? "it" : "no such block");
		}
	}
	return different;
}

static void print_figures(const struct journal_overlay *overlay)
{
	struct journal_overlay_figures figures = journal_overlay_figures(overlay);
	size_t escaped = 0;

	for (size_t index = 0; index < journal_overlay_count(overlay); index++)
		escaped += journal_overlay_get(overlay, index).is_escaped;
	printf("%" PRIu32 " transactions, %" PRIu64 " copies, %zu blocks, %" PRIu64 " hidden, %zu escaped, %s\n",
	       figures.transactions, figures.copies, journal_overlay_count(overlay), figures.hidden, escaped,
	       figures.is_wrapped ? "wrapped" : "straight");
}

int main(int argc, char **argv)
{
	SCOPE_CLOSE int image = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	SCOPE_CLOSE int replayed = argc == 3 ? open(argv[2], O_RDONLY) : -1;
	struct journal_source source = { .read = read_image, .context = &image };
	struct ranges ranges = { 0 };
	struct problem problem = { 0 };
	struct journal_overlay *overlay;

	initialize_ext2_error_table();
	if (image < 0 || replayed < 0)
		errx(2, "usage: overlay_journal IMAGE REPLAYED");
	find_journal(argv[1], &source, &ranges);
	if (journal_overlay_read(&source, &overlay, &problem)) {
		SCOPE_FREE char *text = problem_text(&problem);

		warnx("%s", text);
		problem_clear(&problem);
		free(ranges.items);
		return 1;
	}
	uint64_t different = compare(overlay, &source, image, replayed);

	print_figures(overlay);
	if (different)
		printf("%" PRIu64 " blocks differ\n", different);
	journal_overlay_free(overlay);
	free(ranges.items);
	return different != 0;
}
