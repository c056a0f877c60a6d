/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/owners/owner_map.h"

#include <errno.h>
#include <string.h>

#include "support/text/text_line.h"
#include "support/text/units.h"
#include "support/vector.h"

/* 4294967295 is "no id" to chown(2). */
#define LARGEST_ID (UINT32_MAX - 1)

static void free_rule(struct owner_rule *rule)
{
	for (int kind = 0; kind < ACCOUNT_KINDS; kind++) {
		free(rule->from[kind].name);
		free(rule->to[kind].name);
	}
	free(rule->origin);
}

void owner_map_destroy(struct owner_map *map)
{
	for (int kind = 0; kind < ACCOUNT_KINDS; kind++)
		free(map->ids[kind].ranges);
	for (size_t i = 0; i < map->rule_count; i++)
		free_rule(&map->rules[i]);
	free(map->rules);
	*map = (struct owner_map){ 0 };
}

static bool parse_range(const char *text, struct id_range *range)
{
	SCOPE_FREE char *copy = strdup(text);
	uint64_t numbers[3];
	char *rest = copy;

	for (int i = 0; i < 3; i++) {
		const char *word = rest ? strsep(&rest, ":") : NULL;

		if (!word || units_parse_number(word, i == 2, (uint64_t)LARGEST_ID + (i == 2), &numbers[i]))
			return false;
	}
	if (rest || numbers[0] + numbers[2] > LARGEST_ID + 1ull || numbers[1] + numbers[2] > LARGEST_ID + 1ull)
		return false;
	*range = (struct id_range){ (uint32_t)numbers[0], (uint32_t)numbers[1], (uint32_t)numbers[2] };
	return true;
}

static bool touch(uint32_t one, uint32_t one_count, uint32_t other, uint32_t other_count)
{
	return one < other ? other - one < one_count : one - other < other_count;
}

errcode_t owner_map_add_range(struct owner_map *map, enum account_kind kind, const char *text, const char *origin,
                              struct problem *problem)
{
	struct id_map *ids = &map->ids[kind];
	struct id_range range;
	size_t place = 0;

	if (!parse_range(text, &range))
		return problem_set_reason(problem, EINVAL, origin, "bad range",
		                          "\"%s\" is not FROM:TO:COUNT with ids up to %u", text, LARGEST_ID);
	for (size_t i = 0; i < ids->count; i++) {
		const struct id_range *other = &ids->ranges[i];

		if (touch(range.from, range.count, other->from, other->count) ||
		    touch(range.to, range.count, other->to, other->count))
			return problem_set_reason(problem, EINVAL, origin, "bad range", "\"%s\" overlaps \"%u:%u:%u\"",
			                          text, other->from, other->to, other->count);
		place += other->from < range.from;
	}
	errcode_t error = vector_reserve(&ids->ranges, &ids->capacity, ids->count + 1, sizeof(*ids->ranges));

	if (error)
		return problem_set(problem, error, origin, "cannot add range");
	memmove(&ids->ranges[place + 1], &ids->ranges[place], (ids->count - place) * sizeof(range));
	ids->ranges[place] = range;
	ids->count++;
	return 0;
}

static errcode_t bad_rule(struct problem *problem, const char *origin, const char *word, const char *why)
{
	return problem_set_reason(problem, EINVAL, origin, "bad rule", "\"%s\" %s", word, why);
}

static errcode_t parse_part(const char *text, const char *origin, struct owner_part *part, struct problem *problem)
{
	uint64_t id;

	if (!text || !*text || !strcmp(text, "*"))
		return 0;
	if (strspn(text, "0123456789") == strlen(text)) {
		if (units_parse_number(text, 0, LARGEST_ID, &id))
			return bad_rule(problem, origin, text, "is larger than any id");
		*part = (struct owner_part){ .kind = OWNER_ID, .id = (uint32_t)id };
		return 0;
	}
	*part = (struct owner_part){ .kind = OWNER_NAME, .name = strdup(text) };
	return part->name ? 0 : problem_set(problem, ENOMEM, origin, "cannot read rule");
}

/* Parses USER, USER:GROUP or :GROUP. */
static errcode_t parse_owner(char *text, const char *origin, struct owner_part parts[ACCOUNT_KINDS],
                             struct problem *problem)
{
	char *rest = text;
	const char *user = strsep(&rest, ":");
	const char *group = strsep(&rest, ":");

	if (rest)
		return bad_rule(problem, origin, rest, "follows user and group");
	errcode_t error = parse_part(user, origin, &parts[ACCOUNT_USER], problem);

	return error ? error : parse_part(group, origin, &parts[ACCOUNT_GROUP], problem);
}

/* Parses a line into a rule. The rule is in the map already, so the map frees the parts that a wrong rule holds. */
static errcode_t parse_rule(char *line, struct owner_rule *rule, struct problem *problem)
{
	static const char blanks[] = " \t\n";
	char *state = NULL;
	char *from = strtok_r(line, blanks, &state);
	char *to = strtok_r(NULL, blanks, &state);
	const char *more = strtok_r(NULL, blanks, &state);

	if (!to)
		return bad_rule(problem, rule->origin, from, "is followed by no new owner");
	if (more)
		return bad_rule(problem, rule->origin, more, "follows the new owner");
	errcode_t error = parse_owner(from, rule->origin, rule->from, problem);

	if (!error)
		error = parse_owner(to, rule->origin, rule->to, problem);
	if (!error && rule->to[ACCOUNT_USER].kind == OWNER_ANY && rule->to[ACCOUNT_GROUP].kind == OWNER_ANY)
		error = bad_rule(problem, rule->origin, to, "names neither a user nor a group");
	return error;
}

static errcode_t add_line(void *context, const char *origin, char *line, size_t bytes, struct problem *problem)
{
	struct owner_map *map = context;
	const char *start = line + strspn(line, " \t\n");

	(void)bytes;
	if (!*start || *start == '#')
		return 0;
	errcode_t error = vector_reserve(&map->rules, &map->rule_capacity, map->rule_count + 1, sizeof(*map->rules));

	if (error)
		return problem_set(problem, error, origin, "cannot read rule");
	struct owner_rule *rule = &map->rules[map->rule_count++];

	*rule = (struct owner_rule){ .origin = strdup(origin) };
	return rule->origin ? parse_rule(line, rule, problem) :
	                      problem_set(problem, ENOMEM, origin, "cannot read rule");
}

errcode_t owner_map_add_file(struct owner_map *map, const char *path, struct problem *problem)
{
	return text_line_each(path, add_line, map, problem);
}
