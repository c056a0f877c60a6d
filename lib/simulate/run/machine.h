/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of calls on a modelled machine, which may have more processors than this one. Each preset is fitted to
 * published figures of that machine, for one kind of call; see e2allocsim(8).
 */
#pragma once

#include <stdint.h>

#include "support/problem.h"

/* Nanoseconds. */
struct machine {
	const char *name;
	uint32_t call;     /* of a call: private work of a processor */
	uint32_t held;     /* for each acquisition of a lock of the allocator */
	uint32_t handover; /* added if another processor had that lock last */
	uint32_t waiter;   /* added for each processor that waits for it then */
	uint32_t shared;   /* of a call: serialised work outside of the allocator, as in the journal */
	uint32_t far;  /* added to a call's private work if another processor made the last call: the memory that all
	                * calls  change is in that one's cache */
	uint32_t line; /* in place of handover for s_md_lock, which protects the head of a list and a counter; with a
	                * group's lock its bitmap, buddy, descriptor and statistics go to the next processor */
};

/* Ends with a zero row. */
extern const struct machine machine_presets[];

/* Parses a preset's name, or "CALL:HELD:HANDOVER:WAITER:SHARED[:FAR[:LINE]]" in nanoseconds. EINVAL. */
MUST_CHECK errcode_t machine_parse(const char *text, struct machine *machine);
