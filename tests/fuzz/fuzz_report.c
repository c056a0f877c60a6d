/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saved reports: what e2frag --compare takes as the output of --json, and shows beside another. */
#include "fuzz.h"

#include "analyze/forms/forms.h"
#include "analyze/forms/saved_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static const struct form_parts parts = { .free_space = true, .files = true };
	struct fuzz_path path = fuzz_file("report.json", bytes, count);
	struct problem problem = { 0 };
	struct saved_report report;

	saved_report_is(path.text);
	errcode_t error = saved_report_read(path.text, &report, &problem);

	fuzz_check_problem(error, &problem);
	if (!error) {
		const struct compared compared = { .figures = report.figures, .saved = report.text };
		SCOPE_FREE char *text = NULL;
		size_t text_bytes;
		FILE *stream = open_memstream(&text, &text_bytes);

		FUZZ_CHECK(stream);
		FUZZ_CHECK(form_compare(&compared, &compared, &parts, stream) == 0);
		FUZZ_CHECK(form_compare_json(&compared, &compared, &parts, stream) == 0);
		fclose(stream);
	}
	saved_report_free(&report);
	return 0;
}
