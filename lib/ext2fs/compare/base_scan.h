/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the sets were gone through before patches 15, 16 and 17, in any combination, and in the series. */
#ifndef EXT2FS_BASE_SCAN_H
#define EXT2FS_BASE_SCAN_H

#include "ext2fs/search/group_search.h"

/* An indexed criterion's sweep. ENOMEM. */
MUST_CHECK errcode_t base_scan_sweep(struct search *search);

#endif
