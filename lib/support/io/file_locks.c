/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/io/file_locks.h"

#include <fcntl.h>
#include <unistd.h>

#define QEMU_FIRST_BYTE 100
#define QEMU_BYTES 128

bool file_locks_are_held(int descriptor)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return !fcntl(descriptor, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

void file_locks_keep_qemu_out(int descriptor)
{
	struct flock lock = {
		.l_type = F_RDLCK,
		.l_whence = SEEK_SET,
		.l_start = QEMU_FIRST_BYTE,
		.l_len = QEMU_BYTES,
	};

	(void)!fcntl(descriptor, F_OFD_SETLK, &lock);
}
