/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "space.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "assertions.h"
#include "mb_image.h"

void space_open(struct space *space, ext2_filsys fs)
{
	uint8_t *used = mb_image_read_clusters(&space->clusters);

	space->first_block = fs->super->s_first_data_block;
	space->cluster_bits = (unsigned int)fs->cluster_ratio_bits;
	space->owners = calloc(space->clusters, 1);
	space->credits = 0;
	for (uint64_t cluster = 0; cluster < space->clusters; cluster++) {
		space->owners[cluster] = used[cluster];
		space->credits += !used[cluster];
	}
	free(used);
}

void space_close(struct space *space)
{
	free((void *)space->owners);
}

int64_t space_take_credits(_Atomic int64_t *credits, int64_t most)
{
	int64_t seen = atomic_load(credits);

	while (seen > 0) {
		int64_t wanted = most < seen ? most : seen;

		if (atomic_compare_exchange_weak(credits, &seen, seen - wanted))
			return wanted;
	}
	return 0;
}

void space_change(struct space *space, const struct ext2mb_extent *extent, uint8_t before, uint8_t after)
{
	uint64_t start = (extent->start - space->first_block) >> space->cluster_bits;

	for (uint64_t cluster = start; cluster < start + (extent->count >> space->cluster_bits); cluster++)
		if (atomic_exchange(&space->owners[cluster], after) != before)
			ck_abort_msg("cluster %llu was handed out twice", (unsigned long long)cluster);
}

void space_compare_with_disk(const struct space *space)
{
	uint64_t count;
	uint8_t *used = mb_image_read_clusters(&count);

	for (uint64_t cluster = 0; cluster < count; cluster++)
		if (used[cluster] != space->owners[cluster])
			ck_abort_msg("cluster %llu differs on disk", (unsigned long long)cluster);
	free(used);
}
