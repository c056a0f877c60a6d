/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order in which contents are placed with --layout=layers: those of the lowest source first, and within a source
 * that of the merged tree. This is the order of the source's own tree, since the order of nodes depends on their paths
 * alone; so it is the order in which a layer's pack has them.
 */
#pragma once

#include "populate/build/plan.h"

/* Makes plan->content_order, unless it is there or the layout has none. Linear, 4 bytes a file. Serial. ENOMEM. */
MUST_CHECK errcode_t content_order_make(struct plan *plan);

void content_order_release(struct plan *plan);
