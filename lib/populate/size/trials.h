/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Empty filesystems that mke2fs makes in files in memory. The last few are kept: none is made twice, several can be
 * made at once, and the one whose size is chosen can be copied into the image. On an idle machine a run of mke2fs takes
 * 3 ms of one processor, half of it before main().
 */
#pragma once

#include "populate/build/workplace.h"
#include "populate/format/mke2fs.h"

/* A search compares two sizes at a time, and returns to the best of those before. */
#define TRIALS_KEPT 4

/* Larger files are not kept when another one is made: the descriptors of a filesystem of 10 TiB take 100 MB. */
#define TRIAL_MOST_BYTES (16u << 20)

/* A file in memory, without a name in any directory, in which mke2fs tries a size. */
struct trial_file {
	int descriptor;
	char *path;    /* valid for this process and its children; owned; NULL: it is not open */
	bool is_named; /* where /proc is missing: a file below TMPDIR, removed at the end */
};

/* Main thread only. To be closed even where opening it failed. */
MUST_CHECK errcode_t trial_file_open(struct trial_file *scratch, struct problem *problem);
void trial_file_close(struct trial_file *scratch);

/* Arguments of mke2fs besides the user's options. */
struct trial_key {
	char size[32];
	uint64_t inodes;
	uint32_t block_bytes;
};

struct trial {
	struct trial_file file;
	struct trial_key key;
	bool is_made;           /* of this key, without an error */
	uint64_t last_use;      /* 0: never */
	struct problem problem; /* why it is not made */
};

/* Zero-initialise. */
struct trials {
	struct trial list[TRIALS_KEPT];
	uint64_t uses;
};

/* True if the last filesystem made takes so little memory that several may be made at once. */
bool trials_are_small(const struct trials *trials);

/*
 * Makes the filesystems of `count` keys, at most TRIALS_KEPT, that are not there, side by side if the pool has workers.
 * run: all else that mke2fs is told. A size that mke2fs refuses is not an error yet. Main thread only.
 */
MUST_CHECK errcode_t trials_make(struct trials *trials, const struct mke2fs_run *run, const struct trial_key *keys,
                                 size_t count, const struct workplace *work, struct problem *problem);

/* The same for one, which is *ret. Errors of mke2fs_run(). */
MUST_CHECK errcode_t trials_get(struct trials *trials, const struct mke2fs_run *run, const struct trial_key *key,
                                const struct workplace *work, const struct trial **ret, struct problem *problem);

/* Copies one into an empty file if it is there. *is_copied is false if it is not. Errors of reading and writing. */
MUST_CHECK errcode_t trials_copy(const struct trials *trials, const struct trial_key *key, int descriptor,
                                 bool *is_copied);

void trials_release(struct trials *trials);
