/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/ageing/profile.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/random.h"
#include "support/text/text_line.h"

extern const char agrawal_profile[], dabre_profile[], douceur_profile[], grundman_profile[], halves_profile[],
	meyer_profile[], pramod_profile[], synced_profile[], wang_lanl_profile[], wang_os_profile[];

static const struct built_in {
	const char *name, *text;
} built_in[] = {
	{ "agrawal", agrawal_profile },   { "dabre", dabre_profile },   { "douceur", douceur_profile },
	{ "grundman", grundman_profile }, { "halves", halves_profile }, { "meyer", meyer_profile },
	{ "pramod", pramod_profile },     { "synced", synced_profile }, { "wang_lanl", wang_lanl_profile },
	{ "wang_os", wang_os_profile },
};

#define BUILT_IN (sizeof(built_in) / sizeof(*built_in))
#define MOST_BYTES ((double)(UINT64_C(1) << 44))
#define MOST_WEIGHT ((double)(UINT64_C(1) << 40))
#define MOST_PARTS 65536
#define MOST_STREAMS 1024

/* The default of profiles: half of the files are written at once, the others in parts as programs write them. */
static const struct weights usual_steps = {
	.list = { { 1, 0, 3, 3 }, { 3, 0, 1, 4 }, { 7, 0, 1, 5 }, { 20, 0, 1, 6 } },
	.count = 4,
};
static const struct weights some_directories = { .list = { { 1, 100, 1, 1 } }, .count = 1 };

/* --- Reading ------------------------------------------------------------------------------------------------ */

/* Reads up to `most` numbers that are not negative. Returns how many there are; -1 if there is anything else. */
static int read_numbers(char *words, double *numbers, int most)
{
	int count = 0;
	char *left = NULL;

	for (char *word = strtok_r(words, " \t\n", &left); word; word = strtok_r(NULL, " \t\n", &left)) {
		char *end;

		if (count == most)
			return -1;
		numbers[count] = strtod(word, &end);
		if (*end || !isfinite(numbers[count]) || numbers[count] < 0)
			return -1;
		count++;
	}
	return count;
}

/* All numbers but ages are integers. Each is greater than that of the line before. */
static const char *add_weight(struct weights *weights, bool is_whole, double most, const double *numbers)
{
	const struct weight *last = weights->count ? &weights->list[weights->count - 1] : NULL;

	if ((is_whole && floor(numbers[0]) != numbers[0]) || floor(numbers[1]) != numbers[1] ||
	    floor(numbers[2]) != numbers[2])
		return "it should be a whole number";
	if (weights->count == PROFILE_MOST_WEIGHTS)
		return "there are too many such lines";
	if (numbers[0] > most || numbers[1] > MOST_WEIGHT || numbers[2] > PROFILE_MOST_DIRECTORIES)
		return "a number is too large";
	if (last && numbers[0] <= last->value)
		return "it should be more than the line before";
	weights->list[weights->count++] = (struct weight){
		.value = numbers[0],
		.count = (uint32_t)numbers[2],
		.weight = (uint64_t)numbers[1],
		.sum = (last ? last->sum : 0) + (uint64_t)numbers[1],
	};
	return NULL;
}

static const char *set_number(uint32_t *number, double least, double most, double value)
{
	if (value < least || value > most || floor(value) != value)
		return "it should be a whole number that is in range";
	*number = (uint32_t)value;
	return NULL;
}

/* Returns NULL, or what is wrong with the line. */
static const char *read_words(struct profile *profile, const char *key, char *words)
{
	const struct {
		const char *name;
		struct weights *weights;
		double most;
		int numbers;
	} lists[] = {
		{ "size", &profile->sizes, MOST_BYTES, 2 },
		{ "age", &profile->ages, MOST_WEIGHT, 2 },
		{ "depth", &profile->depths, PROFILE_MOST_DEPTH, 3 },
		{ "step", &profile->steps, MOST_PARTS, 2 },
	};
	const struct {
		const char *name;
		uint32_t *number, least, most;
	} single[] = {
		{ "fallocate", &profile->fallocate_percent, 0, 100 },
		{ "fallocate-parts", &profile->fallocate_parts_percent, 0, 100 },
		{ "streams", &profile->streams, 1, MOST_STREAMS },
		{ "delete", &profile->delete_percent, 1, 99 },
	};
	double numbers[3] = { 0 };
	int count = read_numbers(words, numbers, 3);

	for (size_t index = 0; index < sizeof(lists) / sizeof(*lists); index++) {
		if (strcmp(key, lists[index].name) != 0)
			continue;
		if (count != lists[index].numbers)
			return "there should be numbers after it, as e2allocsim(8) says";
		return add_weight(lists[index].weights, lists[index].weights != &profile->ages, lists[index].most,
		                  numbers);
	}
	for (size_t index = 0; index < sizeof(single) / sizeof(*single); index++) {
		if (strcmp(key, single[index].name) != 0)
			continue;
		if (count != 1)
			return "there should be one number after it";
		return set_number(single[index].number, single[index].least, single[index].most, numbers[0]);
	}
	return "there is no such word";
}

static errcode_t read_line(void *context, const char *origin, char *line, size_t bytes, struct problem *problem)
{
	size_t blank = strspn(line, " \t\n");

	if (memchr(line, '\0', bytes))
		return problem_set_reason(problem, EINVAL, origin, "cannot read the profile", "it has a NUL");
	line[strcspn(line, "#\n")] = '\0';
	if (blank >= strlen(line))
		return 0;
	char *key = line + blank, *words = key + strcspn(key, " \t");
	if (*words)
		*words++ = '\0';
	const char *why = read_words(context, key, words);

	return why ? problem_set_reason(problem, EINVAL, origin, "cannot read the profile", "\"%s\": %s", key, why) : 0;
}

static errcode_t read_text(const struct built_in *from, struct profile *profile, struct problem *problem)
{
	SCOPE_FREE char *text = strdup(from->text);
	char *left = NULL;

	if (!text)
		return problem_set(problem, ENOMEM, from->name, "cannot read the profile");
	for (char *line = strtok_r(text, "\n", &left); line; line = strtok_r(NULL, "\n", &left)) {
		errcode_t error = read_line(profile, from->name, line, strlen(line), problem);

		if (error)
			return error;
	}
	return 0;
}

static uint64_t sum_of(const struct weights *weights)
{
	return weights->count ? weights->list[weights->count - 1].sum : 0;
}

/* The largest value with a weight. */
static double largest_of(const struct weights *weights)
{
	size_t count = weights->count;

	while (count && !weights->list[count - 1].weight)
		count--;
	return count ? weights->list[count - 1].value : 0;
}

static const char *check(struct profile *profile)
{
	uint64_t directories = 0;

	if (!profile->depths.count)
		profile->depths = some_directories;
	if (!profile->steps.count)
		profile->steps = usual_steps;
	for (size_t index = 0; index < profile->depths.count; index++) {
		struct weight *depth = &profile->depths.list[index];

		/* Some published profiles have files at depths without directories. */
		if (!depth->count || !depth->value)
			depth->count = 1;
		directories += depth->count;
	}
	if (largest_of(&profile->sizes) < 1)
		return "there are no sizes";
	if (!sum_of(&profile->depths) || !sum_of(&profile->steps) || (profile->ages.count && !sum_of(&profile->ages)) ||
	    profile->steps.list[0].value < 1)
		return "the weights of a list are all 0";
	return directories > PROFILE_MOST_DIRECTORIES ? "there are too many directories" : NULL;
}

errcode_t profile_read(const char *name, struct profile *profile, struct problem *problem)
{
	const struct built_in *from = NULL;

	*profile = (struct profile){ .fallocate_percent = 10, .streams = 4, .delete_percent = 2 };
	for (size_t index = 0; index < BUILT_IN; index++)
		if (!strcmp(name, built_in[index].name))
			from = &built_in[index];
	if (!from && access(name, F_OK))
		return problem_set_reason(problem, errno, name, "cannot open", "%s, and no such profile is built in",
		                          error_message(errno));
	errcode_t error = from ? read_text(from, profile, problem) : text_line_each(name, read_line, profile, problem);
	const char *why = error ? NULL : check(profile);

	return why ? problem_set_reason(problem, EINVAL, name, "cannot read the profile", "%s", why) : error;
}

/* --- Choosing ----------------------------------------------------------------------------------------------- */

size_t profile_choose(const struct weights *weights, uint64_t *random)
{
	uint64_t drawn = random_next(random) % sum_of(weights);
	size_t index = 0;

	while (weights->list[index].sum <= drawn)
		index++;
	return index;
}

uint64_t profile_choose_size(const struct profile *profile, uint64_t *random)
{
	size_t index = profile_choose(&profile->sizes, random);
	uint64_t least = index ? (uint64_t)profile->sizes.list[index - 1].value + 1 : 0;
	uint64_t most = (uint64_t)profile->sizes.list[index].value;

	return most > least ? least + random_next(random) % (most - least + 1) : most;
}

double profile_mean_size(const struct profile *profile)
{
	double sum = 0, before = 0;

	for (size_t index = 0; index < profile->sizes.count; index++) {
		const struct weight *size = &profile->sizes.list[index];

		sum += (before + size->value) / 2 * (double)size->weight;
		before = size->value;
	}
	return sum / (double)sum_of(&profile->sizes);
}

/* --- Comparing ---------------------------------------------------------------------------------------------- */

size_t profile_size_index(const struct profile *profile, uint64_t bytes)
{
	size_t index = 0;

	while (index + 1 < profile->sizes.count && profile->sizes.list[index].value < (double)bytes)
		index++;
	return index;
}

double profile_distance(const struct weights *weights, const uint64_t *counts)
{
	double total = 0, sum = 0, most = 0;

	for (size_t index = 0; index < weights->count; index++)
		total += (double)counts[index];
	for (size_t index = 0; total > 0 && index < weights->count; index++) {
		sum += (double)counts[index];
		most = fmax(most, fabs(sum / total - (double)weights->list[index].sum / (double)sum_of(weights)));
	}
	return most;
}
