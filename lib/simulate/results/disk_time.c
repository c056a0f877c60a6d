/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/results/disk_time.h"

#include <math.h>
#include <stdlib.h>

#include "support/vector.h"

#define BYTES_A_SECOND 130e6    /* a middle zone of a disk of 2014 */
#define HALF_REVOLUTION 4.17e-3 /* 7200 a minute */
#define LEAST_SEEK 0.8e-3
#define MOST_SEEK 16e-3 /* over all of the disk */
#define DISK_BYTES 1e12

static double transfer_seconds(const struct disk_time *disk, uint64_t blocks)
{
	return (double)blocks * disk->block_bytes / BYTES_A_SECOND;
}

static double seek_seconds(const struct disk_time *disk, uint64_t blocks)
{
	double part = (double)blocks * disk->block_bytes / DISK_BYTES;

	return LEAST_SEEK + (MOST_SEEK - LEAST_SEEK) * sqrt(part < 1 ? part : 1) + HALF_REVOLUTION;
}

void disk_time_read(struct disk_time *disk, uint64_t start, uint64_t count)
{
	if (start != disk->head) {
		uint64_t distance = start > disk->head ? start - disk->head : disk->head - start;
		double seek = seek_seconds(disk, distance), wait = transfer_seconds(disk, distance);

		disk->seconds += start > disk->head && wait < seek ? wait : seek;
	}
	disk->seconds += transfer_seconds(disk, count);
	disk->head = start + count;
}

static int by_place(const void *left, const void *right)
{
	const struct disk_run *one = left, *other = right;

	return (one->start > other->start) - (one->start < other->start);
}

void disk_time_flush(struct disk_time *disk)
{
	qsort(disk->writes, disk->write_count, sizeof(*disk->writes), by_place);
	for (size_t index = 0; index < disk->write_count; index++)
		disk_time_read(disk, disk->writes[index].start, disk->writes[index].count);
	disk->write_count = 0;
	disk->write_blocks = 0;
}

errcode_t disk_time_write(struct disk_time *disk, uint64_t start, uint64_t count)
{
	errcode_t error = vector_add(&disk->writes, &disk->write_count, &disk->write_capacity,
	                             &(struct disk_run){ start, count }, sizeof(struct disk_run));

	if (error)
		return error;
	disk->write_blocks += count;
	if (disk->write_blocks * disk->block_bytes >= DISK_WRITEBACK_BYTES)
		disk_time_flush(disk);
	return 0;
}

void disk_time_close(struct disk_time *disk)
{
	free(disk->writes);
	*disk = (struct disk_time){ 0 };
}
