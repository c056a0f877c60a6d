/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The number of used inodes of each group, by its inode table and by its descriptor. If the two differ, the report
 * lacks files, or has deleted ones.
 */
#pragma once

#include "analyze/report/report.h"
#include "image/volume.h"

/* NULL if nothing is compared. */
struct inode_counts {
	uint32_t *used; /* by group; bit 31: part of the table was not read */
};

/* Compares nothing if the filesystem is in use, or has orphans. ENOMEM. */
MUST_CHECK errcode_t inode_counts_open(const struct volume *volume, struct inode_counts *counts);
void inode_counts_close(struct inode_counts *counts);

/* Adds a part of a group's table: `count` inodes from first_ino on. Any thread. */
void inode_counts_add(const struct inode_counts *counts, const struct volume *volume, uint32_t first_ino,
                      const uint8_t *table, uint32_t inodes);

/* Notes that a part of the group's table is not read. Any thread. */
void inode_counts_leave_out(const struct inode_counts *counts, uint32_t group);

/* Called after all have been added: groups whose counts differ become damage. */
void inode_counts_compare(const struct inode_counts *counts, const struct volume *volume, struct damage_list *damage);
