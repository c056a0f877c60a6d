/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The history of a report, as parts of its forms. The report has its history, and figures that are computed. */
#pragma once

#include "analyze/forms/forms.h"
#include "analyze/report/history.h"

/* A table: a row for each earlier report, one for the present, and the change since the first. */
void form_history_text(const struct report *report, const struct form_parts *parts, FILE *stream);

/* Writes the member "history": an array of path, time and figures; path and time of the last one, the present, are
 * null. */
void form_history_json(struct json *json, const struct report *report, const struct form_parts *parts);
