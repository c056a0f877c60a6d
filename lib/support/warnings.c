/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/warnings.h"

#include <inttypes.h>
#include <stdio.h>

#include "support/vector.h"

errcode_t warnings_add(struct warnings *warnings, struct problem *first, uint64_t count)
{
	errcode_t error =
		vector_reserve(&warnings->list, &warnings->capacity, warnings->count + 1, sizeof(*warnings->list));

	if (error) {
		problem_clear(first);
		return error;
	}
	struct warning *warning = &warnings->list[warnings->count++];

	*warning = (struct warning){ .count = count };
	problem_move(&warning->first, first);
	return 0;
}

char *warning_text(const struct warning *warning)
{
	SCOPE_FREE char *first = problem_text(&warning->first);
	char *text;

	if (!first)
		return NULL;
	if (warning->count <= 1)
		return TAKE(first);
	if (asprintf(&text, "%s (and %" PRIu64 " more)", first, warning->count - 1) < 0)
		return NULL;
	return text;
}

void warnings_clear(struct warnings *warnings)
{
	for (size_t i = 0; i < warnings->count; i++)
		problem_clear(&warnings->list[i].first);
	free(warnings->list);
	*warnings = (struct warnings){ 0 };
}
