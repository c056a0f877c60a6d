/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/scan.h"

#include "ext2fs/pack.h"

errcode_t scan_take(struct ext2mb_worker *worker, const struct scan_request *request, uint64_t *start, uint32_t *taken)
{
	return pack_take(worker, request->goal, worker->mb->geometry.clusters, request->count, start, taken);
}
