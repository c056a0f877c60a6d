/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a new file may take a regular file's place by rename(2). A program that reaches the old one by another way
 * than its name would not see the new one: further hard links, bind mounts, loop devices, open descriptors.
 */
#pragma once

#include "support/problem.h"

/*
 * Errors name the path and the reason, and end in the advice: EBUSY, or what rename(2) would fail with. A file that is
 * not there may be made. Whether a process has it open is known on filesystems with leases (fcntl(2)), to the file's
 * owner and to root; whether a loop device has, everywhere. A file that is closed within half a second is not in use.
 */
MUST_CHECK errcode_t replace_check(const char *path, const char *advice, struct problem *problem);
