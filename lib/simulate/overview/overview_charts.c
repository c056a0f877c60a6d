// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate/overview/overview_charts.h"

#include <errno.h>
#include <string.h>

#include "populate/output/output.h"
#include "simulate/overview/chart.h"
#include "support/vector.h"

struct bars {
	struct chart_bar *list; /* owned */
	size_t count, capacity;
};

/* 1234567 as "1 234 567"; small ones with their decimals. */
static void print_number(const struct result_value *value, char text[CHART_TEXT_BYTES])
{
	char plain[RESULT_TEXT_BYTES];
	size_t digits, used = 0;

	result_format(value, plain);
	digits = strcspn(plain, ".");
	for (size_t index = 0; plain[index] && used + 2 < CHART_TEXT_BYTES; index++) {
		if (index && index < digits && (digits - index) % 3 == 0)
			text[used++] = ' ';
		text[used++] = plain[index];
	}
	text[used] = '\0';
}

static errcode_t add_bar(struct bars *bars, const struct overview_chart *chart, const struct simulate_options *options,
                         const char *group, const struct configuration *configuration, const struct result_value *value)
{
	errcode_t error = vector_reserve(&bars->list, &bars->capacity, bars->count + 1, sizeof(*bars->list));

	if (error)
		return error;
	struct chart_bar *bar = &bars->list[bars->count++];
	size_t index = (size_t)(configuration - options->configurations);
	size_t half = options->configuration_count / 2;

	*bar = (struct chart_bar){ .value = value->value, .color = 2 };
	snprintf(bar->group, sizeof(bar->group), "%s", group);
	snprintf(bar->label, sizeof(bar->label), "%s", configuration->name);
	print_number(value, bar->text);
	/* Colors are for what comes again in each group; where nothing does, the last, ours, stands out. */
	if (chart->has_two_kinds)
		bar->color = (unsigned int)(index < half ? index : 3 + index - half);
	else if (*group)
		bar->color = (unsigned int)index;
	else if (index + 1 < options->configuration_count)
		bar->color = 0;
	return 0;
}

/* Sections are groups, in the order in which they come; a value without any is in none. */
static errcode_t add_sections(struct bars *bars, const struct overview_chart *chart,
                              const struct simulate_options *options, const struct measurement *measurements,
                              size_t column, const char *group)
{
	const struct result *first = &measurements[column].result;

	for (unsigned int number = 0; number < first->count; number++) {
		const char *section = first->values[number].section;

		if (strcmp(first->values[number].key, chart->key) != 0)
			continue;
		for (size_t row = 0; row < options->configuration_count; row++) {
			const struct measurement *measurement = &measurements[row * options->thread_count + column];
			const struct result_value *value = result_find(&measurement->result, section, chart->key);
			errcode_t error = value ? add_bar(bars, chart, options, section ? section : group,
			                                  &options->configurations[row], value) :
			                          0;

			if (error)
				return error;
		}
	}
	return 0;
}

/* The column with the most threads that have a processor each. */
static size_t online_column(const struct simulate_options *options)
{
	size_t best = 0;

	for (size_t column = 0; column < options->thread_count; column++)
		if (options->threads[column] <= options->online_processors)
			best = column;
	return best;
}

static errcode_t collect(struct bars *bars, const struct overview_chart *chart, const struct simulate_options *options,
                         const struct measurement *measurements)
{
	errcode_t error = 0;

	if (chart->is_online || options->thread_count == 1) {
		size_t column = chart->is_online ? online_column(options) : 0;

		return add_sections(bars, chart, options, measurements, column, "");
	}
	for (size_t column = 0; !error && column < options->thread_count; column++) {
		char group[CHART_TEXT_BYTES];

		snprintf(group, sizeof(group), "%u thread%s", options->threads[column],
		         options->threads[column] == 1 ? "" : "s");
		error = add_sections(bars, chart, options, measurements, column, group);
	}
	return error;
}

static errcode_t write_chart(void *context, FILE *stream)
{
	return chart_write(stream, context);
}

errcode_t overview_chart_write(const char *directory, const struct overview_chart *chart,
                               const struct simulate_options *options, const struct measurement *measurements,
                               struct problem *problem)
{
	SCOPE_FREE char *path = NULL;
	struct bars bars = { 0 };

	if (asprintf(&path, "%s/allocsim-%s.svg", directory, chart->name) < 0)
		return problem_set(problem, ENOMEM, directory, "cannot write a chart");
	errcode_t error = collect(&bars, chart, options, measurements);
	SCOPE_FREE struct chart_bar *list = bars.list;
	struct chart drawn = { chart->title, chart->is_logarithmic, list, bars.count };

	if (error)
		return problem_set(problem, error, path, "cannot write a chart");
	return text_file_write(path, write_chart, &drawn, "cannot write a chart", problem);
}
