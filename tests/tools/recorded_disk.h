/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An io_manager on a file that remembers all writes and flushes, so that a crash can be put between any of them.
 * Threads may write and flush at the same time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ext2fs/ext2fs.h>

enum disk_event_kind { DISK_WRITE, DISK_FLUSH, DISK_COMMITTED };

struct disk_event {
	enum disk_event_kind kind;
	uint64_t offset, bytes; /* of a write */
	uint8_t *data;
};

/* What is wrong with the disk, or with what is written to it. */
enum disk_fault {
	DISK_SOUND,
	DISK_WITHOUT_FLUSH,  /* flushes do nothing */
	DISK_STALE_CHECKSUM, /* the journal's superblock keeps the checksum that it had */
};

struct recorded_disk {
	struct disk_event *events;
	size_t count, capacity;
	enum disk_fault fault;
	uint64_t journal_super_offset; /* of the fault */
};

/* There is one, for libext2fs tells an io_manager nothing but the file's name. Ends the program when out of memory. */
extern struct recorded_disk recorded_disk;
extern io_manager recorded_disk_manager;

/* Notes that a commit has returned. */
void recorded_disk_committed(void);

/* All of a file, as a disk before its first event; the caller frees it. Whatever fails ends the program. */
uint8_t *recorded_disk_read(const char *path, uint64_t *bytes);
