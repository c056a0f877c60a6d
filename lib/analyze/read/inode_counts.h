/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many inodes each group has in use, by its inode table and by its descriptor: where the two differ, files are
 * missing from the report, or deleted ones are in it.
 */
#pragma once

#include "analyze/report/report.h"
#include "image/volume.h"

/* NULL where nothing is to be compared. */
struct inode_counts {
	uint32_t *used; /* by group; bit 31: part of the table was not read */
};

/* Nothing of a filesystem that is in use, or that has inodes in use without links. ENOMEM. */
MUST_CHECK errcode_t inode_counts_open(const struct volume *volume, struct inode_counts *counts);
void inode_counts_close(struct inode_counts *counts);

/* Part of a group's table: so many inodes, the first of them first_ino. Any thread. */
void inode_counts_add(const struct inode_counts *counts, const struct volume *volume, uint32_t first_ino,
                      const uint8_t *table, uint32_t inodes);

/* Part of the group's table is not read. Any thread. */
void inode_counts_leave_out(const struct inode_counts *counts, uint32_t group);

/* After all have been added: the groups whose counts differ become damage. */
void inode_counts_compare(const struct inode_counts *counts, const struct volume *volume, struct damage_list *damage);
