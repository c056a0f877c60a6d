/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --history: saved reports of the same filesystem. */
#pragma once

#include "analyze/forms/forms.h"
#include "analyze/forms/saved_report.h"
#include "analyze/report/history.h"
#include "command/command_line.h"

struct past {
	struct report_history history;
	struct saved_report *reports; /* owned */
};

/*
 * Reads the saved reports, which must have the parts that are shown; their time is that of their files. The caller
 * calls past_free() in any case. Errors of saved_report_read(); EINVAL with a reason; ENOMEM.
 */
MUST_CHECK errcode_t past_read(const struct argument_list *paths, const struct form_parts *parts, struct past *past,
                               struct problem *problem);
void past_free(struct past *past);

/* A saved report must have the parts that are shown; action: what cannot be done without. EINVAL. */
MUST_CHECK errcode_t check_saved_parts(const struct figure_values *values, const struct form_parts *parts,
                                       const char *path, const char *action, struct problem *problem);
