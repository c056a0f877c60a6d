/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of the tree become protected by fs-verity as the options say. */
#pragma once

#include "populate/build/plan.h"
#include "populate/build/report.h"
#include "populate/build/workplace.h"

/*
 * Regular files that the patterns match get the protection that the options describe, whatever the source says, and
 * their signatures. EINVAL with a reason: no file matches, or a signature has a size that Linux does not read.
 */
MUST_CHECK errcode_t protect_tree(struct tree *tree, const struct workplace *work);

/* Adds the digests of what has been copied to the report. ENOMEM. */
MUST_CHECK errcode_t protect_report(const struct plan *plan, struct populate_report *report);

/* Is there a file that is to be protected? */
bool protect_is_wanted(const struct tree *tree);
