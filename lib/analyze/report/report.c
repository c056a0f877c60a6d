/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/report/report.h"

#include <stdlib.h>

void report_destroy(struct report *report)
{
	free(report->free.groups);
	free(report->free.zones);
	free(report->worst);
	free(report->by_directory);
	if (report->unlink) {
		free(report->unlink->costly);
		free(report->unlink->shared);
	}
	free(report->unlink);
	arena_destroy(&report->arena);
}
