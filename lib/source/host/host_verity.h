/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the host that fs-verity protects. statx(2) tells which they are, in 0.4 us; so only filesystems that can
 * have them are asked, which are few, and a first file of theirs tells.
 */
#pragma once

#include "tree/verity.h"
#include "support/arena.h"

enum host_verity_support {
	HOST_VERITY_UNKNOWN,
	HOST_VERITY_NONE,
	HOST_VERITY_POSSIBLE,
};

/* Asks a regular file of a directory, which is opened for it: does its filesystem have fs-verity? UNKNOWN: the file may
 * not be opened. */
enum host_verity_support host_verity_ask(int directory, const char *name);

/* Is the file protected? What cannot be asked is not. */
bool host_verity_has(int directory, const char *name);

/*
 * Reads how a protected file is: its descriptor, whose digest its contents must come to, and its signature. *ret: in
 * memory. Errors of opening, ENOMEM; ENOTTY: Linux before 5.12, which does not tell; EUCLEAN: it is unlike any that is
 * known.
 */
MUST_CHECK errcode_t host_verity_read(int directory, const char *name, struct arena *memory,
                                      const struct tree_verity **ret);
