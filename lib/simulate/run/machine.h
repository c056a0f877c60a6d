/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What calls cost on a machine that is modelled: many processors, of which this one need not have any. Each preset is
 * fitted to figures that somebody has published of that machine, for one kind of call; see e2allocsim(8).
 */
#pragma once

#include <stdint.h>

#include "support/problem.h"

/* Nanoseconds. */
struct machine {
	const char *name;
	uint32_t call;     /* of a call: what a processor does by itself */
	uint32_t held;     /* of the allocator's locks, each time that one is taken */
	uint32_t handover; /* more, where another processor had that lock last */
	uint32_t waiter;   /* and for each processor that waits for it then */
	uint32_t shared; /* of a call: what one processor at a time does outside of the allocator, as in the journal */
};

/* A preset; NULL after the last one. */
const struct machine *machine_get(unsigned int index);

/* A preset's name, or "CALL:HELD:HANDOVER:WAITER:SHARED" in nanoseconds. EINVAL. */
MUST_CHECK errcode_t machine_parse(const char *text, struct machine *machine);
