/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Locks of fcntl(2), beside flock(2)'s: POSIX locks, and those of QEMU on the disks of its machines. */
#pragma once

#include <stdbool.h>

/*
 * Has another program a lock on any byte of the file? False where the
 * filesystem has no locks.
 */
bool file_locks_are_held(int descriptor);

/*
 * Keeps QEMU from using the file until the descriptor is closed, which may be open only for reading: QEMU looks for
 * locks on the bytes from 100 and from 200 on (block/file-posix.c), one for each of its permissions.
 */
void file_locks_keep_qemu_out(int descriptor);
