/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judges a disk after a crash, once its journal has been replayed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A state of the filesystem: what its blocks that are in use hold. */
struct crash_state {
	uint64_t *hashes; /* of each block; 0: it is free, the journal's, or has the superblock */
};

struct crash_judge {
	const char *path; /* of the file that disks are put into */
	uint8_t *file;    /* mapped */
	uint64_t bytes;
	uint32_t block_bytes;
	uint64_t blocks;
	bool *is_left_out; /* the primary superblock's and the journal's */
	uint8_t *replayed; /* by e2fsck */
};

/* disk: a whole filesystem. path: of a file to be made. Whatever fails ends the program, in all of these. */
void crash_judge_init(struct crash_judge *judge, const char *path, const uint8_t *disk, uint64_t bytes);

/* The state that a disk shows, without a replay: that of the last checkpoint. */
struct crash_state crash_judge_state(struct crash_judge *judge, const uint8_t *disk);

/* e2fsck replays the journal and then finds nothing to complain of. NULL, or what is wrong. */
const char *crash_judge_replay(struct crash_judge *judge, const uint8_t *disk);

/* A disk that the kernel does not mount, for its superblock is torn: e2fsck mends it if there is a backup. NULL, or
 * what is wrong. */
bool crash_judge_is_torn(const uint8_t *disk);
const char *crash_judge_mend(struct crash_judge *judge, const uint8_t *disk);

/* Whether what crash_judge_replay() left is that state. */
bool crash_judge_shows(const struct crash_judge *judge, const struct crash_state *state);

/*
 * The kernel's and debugfs's replay of the same disk give the same blocks as e2fsck's, which was last. NULL, or what
 * is wrong.
 */
const char *crash_judge_kernel(struct crash_judge *judge, const uint8_t *disk);
const char *crash_judge_debugfs(struct crash_judge *judge, const uint8_t *disk);
