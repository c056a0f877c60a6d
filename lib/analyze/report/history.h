/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Earlier reports of the same filesystem, as far as a trend shows them. */
#pragma once

#include "analyze/report/figures.h"

struct history_entry {
	const char *path; /* of the saved report; borrowed */
	int64_t time;     /* when it was written, in seconds since 1970 */
	struct figure_values figures;
};

struct report_history {
	struct history_entry *entries; /* in the order in which they are shown; owned by the caller */
	size_t count;
};
