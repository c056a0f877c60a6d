/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * After fork(2) two processes have a handle, and each has its own copy of the disk's state in memory: if both wrote,
 * each would undo the other's changes. The first one that writes claims the handle, and the other one is refused: a
 * daemon goes on in the child, most other programs in the parent. A shared page has the claim.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct process_claim {
	struct process_claim *next;
	struct claim_page *page; /* NULL: not open */
	uint32_t process;        /* this process's number among those that share the page */
};

/* Opens a claim, which this process has. ENOMEM. */
MUST_CHECK errcode_t process_claim_open(struct process_claim *claim);
void process_claim_close(struct process_claim *claim);

/* Returns whether this process has the claim; takes it if neither process has since fork(). Any thread; usually two
 * loads. */
bool process_claim_acquire(struct process_claim *claim);

/* Returns whether this process has the claim, without taking it: for cleaning up. */
bool process_claim_has(const struct process_claim *claim);
