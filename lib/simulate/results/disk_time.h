/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Models the time that a disk of 2014 would take to read and write a layout; nothing is measured. It is one disk with
 * 7200 revolutions a minute, and the filesystem is at its beginning. An access that continues the last one costs only
 * the transfer. Any other access costs a seek, which grows with the square root of the distance, and half a
 * revolution; for a short gap the disk waits instead. Reads are served in their order. Writes are collected until
 * there are DISK_WRITEBACK_BYTES of them, or until disk_time_flush(), and then sorted by block, as by an elevator.
 *
 * Not modelled: several requests in flight, the disk's own cache and zones, the journal, metadata, the processor.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

#define DISK_WRITEBACK_BYTES (UINT64_C(64) << 20)

struct disk_run {
	uint64_t start; /* blocks */
	uint64_t count;
};

/* Zero-initialise but for block_bytes. */
struct disk_time {
	uint32_t block_bytes;
	double seconds;
	uint64_t head;           /* the block after the last access */
	struct disk_run *writes; /* owned */
	size_t write_count, write_capacity;
	uint64_t write_blocks;
};

void disk_time_read(struct disk_time *disk, uint64_t start, uint64_t count);

/* ENOMEM. */
MUST_CHECK errcode_t disk_time_write(struct disk_time *disk, uint64_t start, uint64_t count);

/* Writes the collected writes. */
void disk_time_flush(struct disk_time *disk);

void disk_time_close(struct disk_time *disk);
