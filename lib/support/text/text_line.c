/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/text/text_line.h"

#include <errno.h>

#include "support/cleanup.h"
#include "support/vector.h"

errcode_t text_line_read(FILE *file, char **line, size_t *capacity, size_t *bytes)
{
	size_t count = 0;
	int byte = 0;

	errno = 0;
	while (byte != '\n' && (byte = getc_unlocked(file)) != EOF) {
		if (count == TEXT_LINE_MOST_BYTES)
			return EFBIG;
		if (count + 2 > *capacity) {
			errcode_t error = vector_reserve(line, capacity, count + 2, 1);

			if (error)
				return error;
		}
		(*line)[count++] = (char)byte;
	}
	if (byte == EOF && ferror(file))
		return errno ? errno : EIO;
	if (count)
		(*line)[count] = '\0';
	*bytes = count;
	return 0;
}

errcode_t text_line_each(const char *path, text_line_taker take, void *context, struct problem *problem)
{
	SCOPE_FCLOSE FILE *file = fopen(path, "re");
	SCOPE_FREE char *line = NULL;
	size_t capacity = 0, bytes;

	if (!file)
		return problem_set(problem, errno, path, "cannot open");
	for (unsigned long number = 1;; number++) {
		errcode_t error = text_line_read(file, &line, &capacity, &bytes);

		if (error)
			return problem_set(problem, error, path, "cannot read");
		if (!bytes)
			return 0;
		SCOPE_FREE char *origin = text_line_origin(path, number);

		error = origin ? take(context, origin, line, bytes, problem) :
		                 problem_set(problem, ENOMEM, path, "cannot read");
		if (error)
			return error;
	}
}

char *text_line_origin(const char *path, unsigned long number)
{
	char *origin;

	return asprintf(&origin, "%s:%lu", path, number) < 0 ? NULL : origin;
}

errcode_t text_line_problem(struct problem *problem, errcode_t error, const char *path, unsigned long number,
                            const char *action, const char *word, const char *why)
{
	SCOPE_FREE char *origin = text_line_origin(path, number);

	if (!why)
		return problem_set(problem, error, origin, action);
	return problem_set_reason(problem, error, origin, action, "\"%s\" %s", word, why);
}
