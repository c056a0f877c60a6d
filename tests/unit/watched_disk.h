/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The image of tests/unit/mb_image.h, opened for transactions on a disk below that notes what is written and flushed in
 * which order, keeps writes waiting, fails, and counts its users. There is one. Whatever fails ends the test.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include <ext2fs/ext2fs.h>

enum watched_kind { WATCHED_WRITE, WATCHED_FLUSH, WATCHED_COMMIT_BLOCK };

#define WATCHED_NEVER SIZE_MAX
#define WATCHED_ALONE 1 /* it says that threads have to take turns */

struct watched_disk {
	blk64_t failing_block; /* a write to it is EIO; 0: none */
	atomic_uint most_users;
};

extern struct watched_disk watched_disk;

/* manager_flags: of ext2mb_transaction_io_manager(); disk_flags: WATCHED_ALONE. With its bitmaps. */
ext2_filsys watched_disk_open(uint64_t manager_flags, unsigned int disk_flags);

/* Writes that begin at one of these blocks wait, before they are done, until the gate is opened. */
void watched_disk_close_gate(blk64_t start, blk64_t count);
void watched_disk_open_gate(void);

/* Until so many wait there: in vain after 30 seconds. */
void watched_disk_await(unsigned int writes);

/*
 * Returns the index of the first such event, from `index` on, among all since the disk was opened; WATCHED_NEVER:
 * none. block: of a write that has it.
 */
size_t watched_disk_find(enum watched_kind kind, blk64_t block, size_t index);
