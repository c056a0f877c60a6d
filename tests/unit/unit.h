/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by all unit tests: a suite that reports in TAP, for prove. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "assertions.h"

/* The test goes on without a part; the summary of all tests names it, with the reason. */
static inline void skip_part(const char *reason)
{
	const char *path = getenv("SKIPPED_PARTS");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	fprintf(file, "%s\n", reason);
	fclose(file);
}

/* make soak has time for each repetition (SOAK in the environment). */
static inline bool is_soak(void)
{
	const char *text = getenv("SOAK");

	return text && *text;
}

/* Runs the suite and returns main()'s exit status. */
static inline int run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);

	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
