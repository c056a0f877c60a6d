/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sum of all files below a folder: of their names, types, modes, owners, sizes, mtimes and ctimes, which the host
 * tells without opening them. It changes with each of them, and does not depend on the order of adding; no file is
 * kept.
 *
 * The hash is fast and not cryptographic: whoever may set ctimes may also find two folders of one sum.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct folder_sum {
	uint64_t names; /* without the folder itself */
	uint64_t bytes; /* of regular files */
	/* How many belong to the user or group 65534, the folder itself, too: so do all whom a user namespace does not
	 * know. */
	uint64_t of_nobody;
	uint64_t low, high;
};

/* The key of a directory, made of its parent's and its name. That of the folder itself is 0. */
uint64_t folder_sum_key(uint64_t parent_key, const char *name, size_t name_bytes);

/*
 * Adds a file in the directory of this key; the folder itself has no name. has_outputs: it is a directory in which this
 * run makes files, and its times do not count, because that changes them.
 */
void folder_sum_add(struct folder_sum *sum, uint64_t key, const char *name, size_t name_bytes,
                    const struct stat *status, bool has_outputs);

void folder_sum_join(struct folder_sum *sum, const struct folder_sum *more);
