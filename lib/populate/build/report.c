// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/build/report.h"

#include <stdlib.h>

const char *const populate_stage_names[POPULATE_STAGES] = {
	[POPULATE_SCAN] = "scan", [POPULATE_FORMAT] = "format", [POPULATE_PLAN] = "plan",
	[POPULATE_COPY] = "copy", [POPULATE_SEAL] = "seal", [POPULATE_VERIFY] = "verify",
};

void populate_report_clear(struct populate_report *report)
{
	for (uint32_t i = 0; i < report->source_count; i++)
		free(report->sources[i].path);
	free(report->sources);
	report->sources = NULL;
	report->source_count = 0;
	warnings_clear(&report->warnings);
}
