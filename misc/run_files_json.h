/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints what a run reads and writes as the members `inputs` and `outputs` of a tool's JSON. */
#pragma once

#include "source/kind/run_files.h"
#include "support/text/json.h"

/* Examines the outputs, and writes both members. ENOMEM. */
MUST_CHECK errcode_t run_files_json(struct json *json, struct run_files *files);

/* Says on standard error which outputs lie in a source and were left out of it. */
void run_files_print_left_out(const struct run_files *files);

/*
 * Ends a run of --list-inputs=json: prints a document of both, or what has failed. Returns the exit status.
 */
int run_files_end(struct run_files *files, errcode_t error, struct problem *problem);
