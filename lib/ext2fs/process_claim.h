/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * After fork(2) two processes have a handle, and each its own memory of what is on disk: if both wrote, each would undo
 * what the other has done. The first one that writes has it from then on, the other one is refused: a daemon goes on in
 * the child, most others in the parent. Each is told by a page that they share.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct process_claim {
	struct process_claim *next;
	struct claim_page *page; /* NULL: it is not open */
	uint32_t process;        /* this one's number among those that have the page */
};

/* This process has it. ENOMEM. */
MUST_CHECK errcode_t process_claim_open(struct process_claim *claim);
void process_claim_close(struct process_claim *claim);

/* Whether this process has it, or has taken it now as nobody has since fork(). Any thread; two loads as a rule. */
bool process_claim_acquire(struct process_claim *claim);

/* Whether this process has it, for what is no reason to take it: letting go. */
bool process_claim_has(const struct process_claim *claim);
