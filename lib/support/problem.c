/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/problem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/utf8.h"

/* Out of memory costs the message its path or reason, never the error itself. */
static void record(struct problem *problem, errcode_t error, const char *path, const char *action)
{
	problem->error = error;
	problem->path = path ? strdup(path) : NULL;
	problem->action = action;
	problem->reason = NULL;
}

errcode_t problem_set(struct problem *problem, errcode_t error, const char *path, const char *action)
{
	assert(error);
	if (problem && !problem->error)
		record(problem, error, path, action);
	return error;
}

/* Some libraries' messages are whole lines (libxml's, of damaged xar archives). */
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

void problem_add(struct problem *problem, const char *clause, ...)
{
	SCOPE_FREE char *text = NULL;
	va_list arguments;
	char *reason;

	if (!problem->error)
		return;
	va_start(arguments, clause);
	if (vasprintf(&text, clause, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (!text ||
	    asprintf(&reason, "%s; %s", problem->reason ? problem->reason : error_message(problem->error), text) < 0)
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

/* A message is one line, and no command to the terminal, whatever names and archives say. */
static char *printable(const char *words)
{
	return utf8_printable(words, strlen(words));
}

char *problem_text(const struct problem *problem)
{
	const char *message = problem->error ? error_message(problem->error) : "";
	SCOPE_FREE char *path = printable(problem->path ? problem->path : "");
	SCOPE_FREE char *reason = printable(problem->reason ? problem->reason : message);
	const char *action = problem->action ? problem->action : "";
	char *text;

	if (!path || !reason)
		return NULL;
	if (asprintf(&text, "%s%s%s%s%s", path, *path && (*action || *reason) ? ": " : "", action,
	             *action && *reason ? ": " : "", reason) < 0)
		return NULL;
	return text;
}
