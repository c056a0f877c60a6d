/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/read/inode_counts.h"

#include <errno.h>

#define IS_LEFT_OUT (UINT32_C(1) << 31)

errcode_t inode_counts_open(const struct volume *volume, struct inode_counts *counts)
{
	*counts = (struct inode_counts){ 0 };
	if (!volume->is_at_rest || volume->has_orphans)
		return 0;
	counts->used = calloc(volume->geometry.groups, sizeof(*counts->used));
	return counts->used ? 0 : ENOMEM;
}

void inode_counts_close(struct inode_counts *counts)
{
	free(counts->used);
}

void inode_counts_add(const struct inode_counts *counts, const struct volume *volume, uint32_t first_ino,
                      const uint8_t *table, uint32_t inodes)
{
	uint32_t used = 0;

	if (!counts->used)
		return;
	for (uint32_t n = 0; n < inodes; n++) {
		struct inode_view inode;

		inode_view_read(&volume->format, table + (size_t)n * volume->format.inode_bytes, &inode);
		used += inode.links || first_ino + n < volume->geometry.first_inode;
	}
	__atomic_add_fetch(&counts->used[(first_ino - 1) / volume->geometry.inodes_per_group], used, __ATOMIC_RELAXED);
}

void inode_counts_leave_out(const struct inode_counts *counts, uint32_t group)
{
	if (counts->used)
		__atomic_or_fetch(&counts->used[group], IS_LEFT_OUT, __ATOMIC_RELAXED);
}

void inode_counts_compare(const struct inode_counts *counts, const struct volume *volume, struct damage_list *damage)
{
	uint32_t inodes = volume->geometry.inodes_per_group;

	for (uint32_t number = 0; counts->used && number < volume->geometry.groups; number++) {
		const struct volume_group *group = &volume->group[number];

		if (!group->is_doubtful && !(counts->used[number] & IS_LEFT_OUT) &&
		    counts->used[number] != inodes - group->free_inodes)
			damage_add_group(damage, number, "its inode table differs from its count of free inodes");
	}
}
