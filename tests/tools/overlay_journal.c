/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overlay_journal IMAGE REPLAYED: opens IMAGE, whose journal needs recovery, as a replay would leave it
 * (lib/image/replayed.h), and compares it block by block with REPLAYED, a copy in which somebody else has replayed the
 * journal. The journal itself and ext4's superblock, which a replay marks, are left out; of what the superblock and the
 * descriptors say, what volumes have of it is compared. Prints what the log has. Exit status 1: something differs, or
 * the journal is refused; the message is on standard error.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "image/inode.h"
#include "journal/journal_overlay.h"
#include "image/map_walk.h"
#include "image/replayed.h"

#define BLOCKS_AT_ONCE 256
#define MOST_SHOWN 10

/* The blocks of the journal: a byte each. */
static uint8_t *is_of_journal;

static bool mark(void *context, const struct map_record *record)
{
	(void)context;
	memset(is_of_journal + record->physical, 1, record->count);
	return true;
}

static void find_journal(const struct volume *volume)
{
	SCOPE_FREE void *raw = malloc(volume->format.inode_bytes);
	uint64_t blocks_read = 0;
	struct volume_inode inode;
	struct map_walker walker;
	struct map_shape shape;

	is_of_journal = calloc(volume->geometry.end_block, 1);
	if (!raw || !is_of_journal || volume_inode_read(volume, volume->superblock.s_journal_inum, raw, &inode) ||
	    map_walker_open(volume, (struct damage_listener){ 0 }, &blocks_read, &walker))
		errx(2, "the journal's inode cannot be read");
	map_walk(&walker, inode.ino, &inode.view, mark, NULL, &shape);
	map_walker_close(&walker);
}

/* A block without ext4's superblock. */
static bool differs(uint64_t block, uint32_t block_bytes, uint8_t *ours, uint8_t *theirs)
{
	uint64_t start = block * block_bytes, skipped = start < 1024 ? 1024 - start : 0;

	if (start < 2048 && start + block_bytes > 1024) {
		memset(ours + skipped, 0, 1024);
		memset(theirs + skipped, 0, 1024);
	}
	return memcmp(ours, theirs, block_bytes) != 0;
}

static uint64_t compare_blocks(const struct volume *image, const struct volume *replayed)
{
	uint32_t block_bytes = image->format.block_bytes;
	SCOPE_FREE uint8_t *ours = malloc((size_t)BLOCKS_AT_ONCE * block_bytes);
	SCOPE_FREE uint8_t *theirs = malloc((size_t)BLOCKS_AT_ONCE * block_bytes);
	uint64_t end = image->geometry.end_block, different = 0;

	if (!ours || !theirs)
		errx(2, "out of memory");
	for (uint64_t block = 0; block < end; block += BLOCKS_AT_ONCE) {
		uint64_t count = end - block < BLOCKS_AT_ONCE ? end - block : BLOCKS_AT_ONCE;

		if (volume_read(image, block, count, ours) || volume_read(replayed, block, count, theirs))
			errx(2, "block %" PRIu64 " cannot be read", block);
		for (uint64_t n = 0; n < count; n++) {
			if (is_of_journal[block + n] ||
			    !differs(block + n, block_bytes, ours + n * block_bytes, theirs + n * block_bytes))
				continue;
			if (different++ < MOST_SHOWN)
				printf("block %" PRIu64 " differs; the overlay has %s\n", block + n,
				       volume_is_in_place(image, block + n, 1) ? "no such block" : "it");
		}
	}
	return different;
}

static bool is_same_group(const struct volume_group *one, const struct volume_group *other)
{
	return one->block_bitmap == other->block_bitmap && one->inode_table == other->inode_table &&
	       one->inodes_used == other->inodes_used && one->free_clusters == other->free_clusters &&
	       one->free_inodes == other->free_inodes && one->bitmap_checksum == other->bitmap_checksum &&
	       one->is_uninitialised == other->is_uninitialised;
}

/*
 * A mount, and e2fsck 1.47.2 with -E journal_only, also release orphans and take orphan_present away, which an image
 * with an orphan file has had since it was mounted. So has_orphans says the same on both sides only without such a
 * file.
 */
static bool compare_volumes(const struct volume *image, const struct volume *replayed)
{
	bool has_orphan_file = image->superblock.s_feature_compat & EXT4_FEATURE_COMPAT_ORPHAN_FILE;

	if (image->geometry.end_block != replayed->geometry.end_block || image->inodes != replayed->inodes ||
	    image->superblock.s_last_orphan != replayed->superblock.s_last_orphan ||
	    (!has_orphan_file && image->has_orphans != replayed->has_orphans)) {
		puts("the superblock differs");
		return false;
	}
	for (size_t n = 0; n < image->geometry.groups; n++)
		if (!is_same_group(&image->group[n], &replayed->group[n])) {
			printf("the descriptor of group %zu differs\n", n);
			return false;
		}
	return true;
}

static void print_figures(const struct volume *image)
{
	struct journal_overlay_figures figures = journal_overlay_figures(image->overlay);
	size_t count = journal_overlay_count(image->overlay), escaped = 0, descriptors = 0;

	for (size_t index = 0; index < count; index++) {
		struct journal_overlay_block block = journal_overlay_get(image->overlay, index);

		escaped += block.is_escaped;
		descriptors += block.block == image->geometry.first_block + 1;
	}
	printf("%" PRIu32 " transactions, %" PRIu64 " copies, %zu blocks, %" PRIu64
	       " hidden, %zu escaped, %zu of descriptors, %s\n",
	       figures.transactions, figures.copies, count, figures.hidden, escaped, descriptors,
	       figures.is_wrapped ? "wrapped" : "straight");
}

static int fail(struct problem *problem)
{
	SCOPE_FREE char *text = problem_text(problem);

	warnx("%s", text);
	problem_clear(problem);
	return 1;
}

int main(int argc, char **argv)
{
	struct volume image, replayed;
	struct problem problem = { 0 };

	initialize_ext2_error_table();
	if (argc != 3)
		errx(2, "usage: overlay_journal IMAGE REPLAYED");
	if (volume_open_as_replayed(argv[1], 0, &image, &problem))
		return fail(&problem);
	if (!image.overlay)
		errx(2, "%s: there is nothing to be replayed", argv[1]);
	if (volume_open(argv[2], 0, &replayed, &problem))
		return fail(&problem);
	find_journal(&image);
	bool is_equal = compare_volumes(&image, &replayed);
	uint64_t different = is_equal ? compare_blocks(&image, &replayed) : 0;

	print_figures(&image);
	if (different)
		printf("%" PRIu64 " blocks differ\n", different);
	free(is_of_journal);
	volume_close(&image);
	volume_close(&replayed);
	return !is_equal || different;
}
