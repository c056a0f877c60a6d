/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptors of fs-verity in an image. */
#pragma once

#include "source/image/image_scan.h"
#include "tree/verity.h"

/*
 * Reads a protected regular file's descriptor and signature, which are found from the end of its last extent. The
 * hashes are not read: they follow from the contents, which must come to the descriptor's digest. *ret: in the worker's
 * memory; NULL: there is nothing that Linux would take for a descriptor of this file. Errors of reading, ENOMEM,
 * EDQUOT. Uses worker->records.
 */
MUST_CHECK errcode_t image_read_verity(struct image_scan *scan, struct image_worker *worker,
                                       const struct volume_inode *source, const struct tree_verity **ret);
