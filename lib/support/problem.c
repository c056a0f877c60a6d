/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/problem.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/utf8.h"
#include "support/vector.h"

/* Without memory the message lacks its path or reason; the error is kept. */
static void record(struct problem *problem, errcode_t error, const char *path, const char *action)
{
	*problem = (struct problem){ .error = error, .path = path ? strdup(path) : NULL, .action = action };
}

errcode_t problem_set(struct problem *problem, errcode_t error, const char *path, const char *action)
{
	assert(error);
	if (problem && !problem->error)
		record(problem, error, path, action);
	return error;
}

/* Some libraries' messages end with a newline (libxml's about damaged xar archives). */
static void drop_line_end(char *reason)
{
	size_t length = strlen(reason);

	if (length && reason[length - 1] == '\n')
		reason[length - 1] = '\0';
}

errcode_t problem_set_reason(struct problem *problem, errcode_t error, const char *path, const char *action,
                             const char *reason, ...)
{
	va_list arguments;

	assert(error);
	if (!problem || problem->error)
		return error;
	record(problem, error, path, action);
	va_start(arguments, reason);
	if (vasprintf(&problem->reason, reason, arguments) < 0)
		problem->reason = NULL;
	va_end(arguments);
	if (problem->reason)
		drop_line_end(problem->reason);
	return error;
}

void problem_add(struct problem *problem, const char *more, ...)
{
	SCOPE_FREE char *text = NULL;
	va_list arguments;
	char *reason;

	if (!problem->error)
		return;
	va_start(arguments, more);
	if (vasprintf(&text, more, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (!text ||
	    asprintf(&reason, "%s%s", problem->reason ? problem->reason : error_message(problem->error), text) < 0)
		return;
	free(problem->reason);
	problem->reason = reason;
}

void problem_move(struct problem *to, struct problem *from)
{
	if (to == from)
		return;
	problem_clear(to);
	*to = *from;
	*from = (struct problem){ 0 };
}

void problem_clear(struct problem *problem)
{
	free(problem->path);
	free(problem->reason);
	*problem = (struct problem){ 0 };
}

char *problem_text(const struct problem *problem)
{
	const char *message = problem->error ? error_message(problem->error) : "";
	/* A message is one line without commands to the terminal, whatever names and archives contain. */
	SCOPE_FREE char *path = utf8_printable(problem->path ? problem->path : "");
	SCOPE_FREE char *reason = utf8_printable(problem->reason ? problem->reason : message);
	const char *action = problem->action ? problem->action : "";
	char *text;

	if (!path || !reason)
		return NULL;
	if (asprintf(&text, "%s%s%s%s%s", path, *path && (*action || *reason) ? ": " : "", action,
	             *action && *reason ? ": " : "", reason) < 0)
		return NULL;
	return text;
}

errcode_t warnings_add(struct warnings *warnings, struct problem *first, uint64_t count)
{
	if (count > 1)
		problem_add(first, " (and %" PRIu64 " more)", count - 1);
	errcode_t error = vector_add(&warnings->list, &warnings->count, &warnings->capacity, first, sizeof(*first));

	if (error)
		problem_clear(first);
	*first = (struct problem){ 0 };
	return error;
}

void warnings_clear(struct warnings *warnings)
{
	for (size_t i = 0; i < warnings->count; i++)
		problem_clear(&warnings->list[i]);
	free(warnings->list);
	*warnings = (struct warnings){ 0 };
}
