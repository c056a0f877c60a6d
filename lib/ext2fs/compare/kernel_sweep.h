/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the sets were gone through before patches 15, 16 and 17, in any combination, and in the series. */
#ifndef EXT2FS_KERNEL_SWEEP_H
#define EXT2FS_KERNEL_SWEEP_H

#include "ext2fs/search/group_search.h"

/* For struct search_operations. */
MUST_CHECK errcode_t kernel_sweep(struct search *search);
bool kernel_meet_busy(struct search *search, uint32_t number);

#endif
