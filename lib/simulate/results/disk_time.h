/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a disk of 2014 would take to read and write what lies where: a model, nothing is measured. One disk with
 * 7200 revolutions a minute, of which the filesystem is the beginning. Whatever follows on the last access costs the
 * transfer alone. Anything else costs a seek, which grows with the square root of the distance, and half a revolution;
 * a short gap is waited out instead. Reads are served as they come, one after the other. Writes are kept until there
 * are DISK_WRITEBACK_BYTES of them, or disk_time_flush(), and then go in the order of their places, as from an
 * elevator.
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

/* What is still kept is written. */
void disk_time_flush(struct disk_time *disk);

void disk_time_close(struct disk_time *disk);
