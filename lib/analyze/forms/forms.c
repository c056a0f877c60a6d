/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/forms/forms.h"

#include <string.h>

#include "analyze/forms/file_extents.h"

/* In the order in which --help names them; the first is the default. */
static const struct report_form forms[] = {
	{ .name = "text",
	  .has_free_space = true,
	  .has_files = true,
	  .print = form_text,
	  .print_file = file_extents_print,
	  .compare = form_compare },
	{ .name = "json", .has_free_space = true, .has_files = true, .print = form_json, .compare = form_compare_json },
	{ .name = "e2freefrag", .has_free_space = true, .print = form_e2freefrag },
	{ .name = "e4defrag", .has_files = true, .print = form_e4defrag },
	{ .name = "openmetrics", .has_free_space = true, .has_files = true, .print = form_openmetrics },
	{ .name = "filefrag", .has_files = true, .print_file = file_extents_print },
};

const struct report_form *form_get(unsigned int index)
{
	return index < sizeof(forms) / sizeof(*forms) ? &forms[index] : NULL;
}
