/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report comes to, and what would help. Pure. */
#pragma once

#include "analyze/report/report.h"

/* Fills in report->verdict from all the rest. */
void verdict_make(struct report *report);
