/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extended headers of tar that are larger than libarchive reads (1 MiB, and 1 MB for a record), without what is left
 * out anyway: macOS has attributes of any size, which ext4 does not store.
 */
#pragma once

#include <stdbool.h>

#include "support/problem.h"

struct pax_cut {
	/* The next bytes of the archive, from the member's first header on; none: its end. */
	errcode_t (*next)(void *context, const uint8_t **bytes, size_t *count);
	void *context;
	bool without_xattrs; /* they are left out, too */

	/* What is to be read instead of that; owned: */
	uint8_t *bytes;
	size_t count, capacity;
	uint64_t taken;      /* so many bytes of the archive */
	bool has_lost_xattr; /* one was left out */
	char too_large[100]; /* the key of a record that is used, and for which there is no room; empty: none */

	const uint8_t *at_hand;
	size_t at_hand_count;
};

/* Is this header of a member so large that it has to be cut? */
bool pax_cut_is_for(const char *block);

/*
 * Makes a member's headers anew; what has been read after them follows unchanged. EBADMSG: they are damaged; ENOMEM,
 * errors of next(). cut->bytes is to be freed also after a failure.
 */
MUST_CHECK errcode_t pax_cut_make(struct pax_cut *cut);
