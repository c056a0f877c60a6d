/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the user will be told although the work was done. However often a thing happened, it is one warning: the
 * first case, whole, and how many there were.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

struct warning {
	struct problem first;
	uint64_t count;
};

/* Zero-initialise. Main thread. */
struct warnings {
	struct warning *list; /* owned, in the order in which they were added */
	size_t count, capacity;
};

/* Moves first, the problem of the first case, into a new warning; count: of all cases. ENOMEM clears it. */
MUST_CHECK errcode_t warnings_add(struct warnings *warnings, struct problem *first, uint64_t count);

/* The text after "tool: ", one line without its end. The caller frees it; NULL: no memory. */
char *warning_text(const struct warning *warning);

void warnings_clear(struct warnings *warnings);
