/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qcow2, QEMU's form of disks (docs/interop/qcow2.rst of QEMU), versions 2 and 3: the present state of the disk, not
 * its snapshots.
 */
#pragma once

#include "support/problem.h"
#include "support/run/progress.h"

/*
 * Writes the disk to `to`, a new file, and leaves out what is zero or was never written. path is for the problem.
 * EINVAL with a reason and advice: it needs another file, is encrypted, or has compressed clusters or a feature that is
 * not known; EBADMSG: it is damaged; ENOMEM, errors of reading and writing, EINTR.
 */
MUST_CHECK errcode_t qcow2_unpack(int from, struct progress *progress, int to, const char *path,
                                  struct problem *problem);
