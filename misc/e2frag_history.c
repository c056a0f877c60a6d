/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "e2frag_history.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

errcode_t check_saved_parts(const struct figure_values *values, const struct form_parts *parts, const char *path,
                            const char *action, struct problem *problem)
{
	if (!values->has_free_space && parts->free_space)
		return problem_set_reason(problem, EINVAL, path, action,
		                          "the saved report has no free space: use --only=files");
	if (!values->has_files && parts->files)
		return problem_set_reason(problem, EINVAL, path, action,
		                          "the saved report has no files: use --only=free");
	return 0;
}

static errcode_t read_entry(const char *path, const struct form_parts *parts, struct saved_report *report,
                            struct history_entry *entry, struct problem *problem)
{
	struct stat status;
	errcode_t error = saved_report_read(path, report, problem);

	if (!error)
		error = check_saved_parts(&report->figures, parts, path, "cannot show the history", problem);
	if (error)
		return error;
	if (stat(path, &status))
		return problem_set(problem, errno, path, "cannot show the history");
	*entry = (struct history_entry){ .path = path, .time = status.st_mtime, .figures = report->figures };
	return 0;
}

errcode_t past_read(const struct argument_list *paths, const struct form_parts *parts, struct past *past,
                    struct problem *problem)
{
	errcode_t error = 0;

	*past = (struct past){
		.history.entries = calloc(paths->count, sizeof(*past->history.entries)),
		.reports = calloc(paths->count, sizeof(*past->reports)),
	};
	if (!past->history.entries || !past->reports)
		return problem_set(problem, ENOMEM, NULL, "cannot show the history");
	for (size_t n = 0; !error && n < paths->count; n++) {
		past->history.count++;
		error = read_entry(paths->list[n], parts, &past->reports[n], &past->history.entries[n], problem);
	}
	return error;
}

void past_free(struct past *past)
{
	for (size_t n = 0; past->reports && n < past->history.count; n++)
		saved_report_free(&past->reports[n]);
	free(past->reports);
	free(past->history.entries);
}
