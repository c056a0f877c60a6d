/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's files in /proc/fs/ext4 as of the end of a run, kept as text until the run is reported. */
#pragma once

#include <stdio.h>

#include "compare/kernel_forms.h"
#include "simulate/run/measurement.h"

/* Parses "mb_stats,mb_groups" into a bit for each enum kernel_form. ENOMEM, EINVAL. */
MUST_CHECK errcode_t shown_parse(const char *names, uint32_t *forms);

/* Captures the forms of an allocator that no thread uses; *text, which the caller frees, has the lines or one JSON
 * document. */
MUST_CHECK errcode_t shown_capture(uint32_t forms, bool as_json, struct ext2mb *mb, char **text);

/* Prints the forms of a measurement's runs, each after a line that names the run. */
void shown_print(FILE *stream, const struct simulate_options *options, const struct measurement *measurements,
                 size_t count);

/* The same as an array of a measurement's runs, if forms were captured. */
void shown_write(struct json *json, const struct simulate_options *options, const struct measurement *measurement,
                 size_t count);
