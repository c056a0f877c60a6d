/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "words.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "support/text/units.h"

errcode_t words_refuse(struct problem *problem, const char *word, const char *why)
{
	problem_set_reason(problem, EINVAL, NULL, "wrong argument", "%s: %s", word, why);
	return WRONG_USAGE;
}

static errcode_t refuse_number(struct problem *problem, const char *word, const char *what, uint64_t minimum,
                               uint64_t maximum)
{
	problem_set_reason(problem, EINVAL, NULL, "wrong argument", "%s: it is not %s from %" PRIu64 " to %" PRIu64,
	                   word, what, minimum, maximum);
	return WRONG_USAGE;
}

errcode_t words_number(const char *word, uint64_t minimum, uint64_t maximum, uint64_t *number, struct problem *problem)
{
	return units_parse_number(word, minimum, maximum, number) ?
	               refuse_number(problem, word, "a number", minimum, maximum) :
	               0;
}

errcode_t words_length(const char *word, uint64_t cluster_blocks, uint64_t most, uint64_t *blocks,
                       struct problem *problem)
{
	errcode_t error = words_number(word, 1, most, blocks, problem);

	if (error || *blocks % cluster_blocks == 0)
		return error;
	problem_set_reason(problem, EINVAL, NULL, "wrong argument",
	                   "%s: it is not a multiple of %" PRIu64 ", a cluster", word, cluster_blocks);
	return WRONG_USAGE;
}

errcode_t words_range(const char *word, uint32_t groups, struct group_range *range, struct problem *problem)
{
	uint64_t first, last = groups - 1;

	*range = (struct group_range){ 0, groups };
	if (!word)
		return 0;
	SCOPE_FREE char *text = strdup(word);
	if (!text)
		return ENOMEM;
	char *dash = strchr(text, '-');

	if (dash)
		*dash++ = '\0';
	if (units_parse_number(text, 0, groups - 1, &first) ||
	    (dash && *dash && units_parse_number(dash, first, groups - 1, &last)))
		return refuse_number(problem, word, "a range of groups", 0, groups - 1);
	*range = (struct group_range){ (uint32_t)first, (uint32_t)(dash ? last : first) + 1 };
	return 0;
}
