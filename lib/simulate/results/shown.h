/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel would show in /proc/fs/ext4 after a run: kept as text until the run is reported. */
#pragma once

#include <stdio.h>

#include "compare/kernel_forms.h"
#include "simulate/run/measurement.h"

/* "mb_stats,mb_groups" as a bit for each enum kernel_form. ENOMEM, EINVAL. */
MUST_CHECK errcode_t shown_parse(const char *names, uint32_t *forms);

/* Of an allocator that no thread uses; *text, which the caller frees, is the lines or one JSON document. */
MUST_CHECK errcode_t shown_capture(uint32_t forms, bool as_json, struct ext2mb *mb, char **text);

/* What the runs of a measurement have shown, after a line that says which run. */
void shown_print(FILE *stream, const struct simulate_options *options, const struct measurement *measurements,
                 size_t count);

/* The same as an array of a measurement's runs, if there is anything to show. */
void shown_write(struct json *json, const struct simulate_options *options, const struct measurement *measurement,
                 size_t count);
