/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal_again IMAGE: makes each block of the journal's log once more, from what it says, as
 * lib/ondisk/journal_block.h would, and compares it with the one that is there: its superblock, and the transactions
 * from where the log begins, or, if it is empty, from its first block. Prints what it has compared. Exit status 1:
 * something differs.
 */
#include <endian.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "ondisk/journal_block.h"

#define MAGIC 0xc03b3998u

enum { DESCRIPTOR = 1, COMMIT = 2, REVOKE = 5 };
enum { ESCAPED = 1, SAME_UUID = 2, LAST_TAG = 8 };

struct log {
	ext2_filsys fs;
	struct journal_superblock super;
	struct journal_format format;
	uint32_t at; /* a block of the journal */
	unsigned long descriptors, tags, commits, revokes, escaped, different;
};

static uint8_t *read_journal(const struct log *log, uint32_t logical)
{
	uint8_t *data = malloc(log->fs->blocksize);
	blk64_t block;

	if (!data || ext2fs_bmap2(log->fs, EXT2_JOURNAL_INO, NULL, NULL, 0, logical, NULL, &block) ||
	    io_channel_read_blk64(log->fs->io, block, 1, data))
		errx(2, "block %u of the journal cannot be read", logical);
	return data;
}

static uint32_t get32(const uint8_t *data, size_t offset)
{
	uint32_t value;

	memcpy(&value, data + offset, sizeof(value));
	return be32toh(value);
}

static uint32_t next_of(const struct log *log, uint32_t logical)
{
	return logical + 1 == journal_log_end(&log->super) ? log->super.first : logical + 1;
}

static void compare(struct log *log, const char *what, const uint8_t *ours, const uint8_t *theirs, size_t bytes)
{
	for (size_t at = 0; at < bytes; at++) {
		if (ours[at] == theirs[at])
			continue;
		printf("%s in block %u: byte %zu is %02x, not %02x\n", what, log->at, at, theirs[at], ours[at]);
		log->different++;
		return;
	}
}

static uint32_t tag_bytes(const struct log *log)
{
	if (log->super.incompat & JOURNAL_INCOMPAT_CSUM_V3)
		return 16;
	return 8 + (log->super.incompat & JOURNAL_INCOMPAT_64BIT ? 4 : 0) +
	       (log->super.incompat & JOURNAL_INCOMPAT_CSUM_V2 ? 2 : 0);
}

/* In all versions flags are in the low half of the second word. */
static uint32_t read_tag(const struct log *log, const uint8_t *at, struct journal_tag *tag)
{
	bool is_version3 = log->super.incompat & JOURNAL_INCOMPAT_CSUM_V3;
	uint32_t flags = is_version3 ? get32(at, 4) : get32(at, 4) & 0xffff;

	tag->block = get32(at, 0);
	if (log->super.incompat & JOURNAL_INCOMPAT_64BIT)
		tag->block |= (uint64_t)get32(at, 8) << 32;
	tag->is_escaped = flags & ESCAPED;
	return flags;
}

static void again_descriptor(struct log *log, const uint8_t *theirs, uint32_t sequence)
{
	struct journal_tag tags[65536 / 8];
	const uint8_t *at = theirs + 12;
	uint32_t count = 0, flags, logical = log->at;
	uint8_t *ours = malloc(log->format.block_bytes);

	do {
		flags = read_tag(log, at, &tags[count]);
		at += tag_bytes(log) + (flags & SAME_UUID ? 0 : 16);
		logical = next_of(log, logical);
		tags[count].contents = read_journal(log, logical);
		log->escaped += tags[count++].is_escaped;
	} while (!(flags & LAST_TAG));
	if (!ours)
		errx(2, "out of memory");
	if (count > journal_descriptor_tags(&log->format))
		errx(1, "%u tags in block %u, and there can be %u", count, log->at,
		     journal_descriptor_tags(&log->format));
	journal_descriptor_write(&log->format, sequence, tags, count, ours);
	/* jbd2 does not clear what is after the last tag. */
	compare(log, "descriptor", ours, theirs, (size_t)(at - theirs));
	if (log->format.checksum_version && !memcmp(ours, theirs, log->format.block_bytes - 4))
		compare(log, "descriptor", ours, theirs, log->format.block_bytes);
	log->descriptors++;
	log->tags += count;
	log->at = logical;
	while (count)
		free((void *)tags[--count].contents);
	free(ours);
}

static void again_commit(struct log *log, const uint8_t *theirs, uint32_t sequence)
{
	uint8_t *ours = malloc(log->format.block_bytes);

	if (!ours)
		errx(2, "out of memory");
	journal_commit_write(&log->format, sequence, (uint64_t)get32(theirs, 48) << 32 | get32(theirs, 52),
	                     get32(theirs, 56), ours);
	compare(log, "commit block", ours, theirs, log->format.block_bytes);
	log->commits++;
	free(ours);
}

static void again_transactions(struct log *log)
{
	uint32_t begin = log->super.start ? log->super.start : log->super.first, sequence = 0;

	log->at = begin;
	do {
		uint8_t *block = read_journal(log, log->at);
		bool is_next = get32(block, 0) == MAGIC && (!sequence || get32(block, 8) == sequence);
		uint32_t type = get32(block, 4);

		if (is_next)
			sequence = get32(block, 8);
		if (is_next && type == DESCRIPTOR)
			again_descriptor(log, block, sequence);
		else if (is_next && type == COMMIT)
			again_commit(log, block, sequence++);
		log->revokes += is_next && type == REVOKE;
		free(block);
		if (!is_next)
			return;
		log->at = next_of(log, log->at);
	} while (log->at != begin);
}

static void again_superblock(struct log *log)
{
	uint8_t *theirs = read_journal(log, 0), ours[JOURNAL_SUPERBLOCK_BYTES];

	if (journal_superblock_read(theirs, &log->super) != JOURNAL_SUPERBLOCK_GOOD)
		errx(1, "the journal's superblock is not good");
	memcpy(ours, theirs, sizeof(ours));
	journal_superblock_update(ours, &log->super);
	compare(log, "superblock", ours, theirs, sizeof(ours));
	free(theirs);
}

int main(int argc, char **argv)
{
	struct log log = { 0 };

	initialize_ext2_error_table();
	if (argc != 2)
		errx(2, "one image");
	errcode_t error =
		ext2fs_open(argv[1], EXT2_FLAG_64BITS | EXT2_FLAG_IGNORE_CSUM_ERRORS, 0, 0, unix_io_manager, &log.fs);
	if (error)
		errx(2, "%s: %s", argv[1], error_message(error));
	again_superblock(&log);
	log.format = journal_format_of(&log.super);
	again_transactions(&log);
	ext2fs_free(log.fs);
	printf("%lu descriptors, %lu tags (%lu escaped), %lu commit blocks, %lu revoke blocks\n", log.descriptors,
	       log.tags, log.escaped, log.commits, log.revokes);
	return log.different != 0;
}
