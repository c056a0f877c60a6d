/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/results/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "compare/tunables.h"
#include "simulate/results/scalability.h"
#include "simulate/results/shown.h"
#include "simulate/run/load.h"
#include "support/text/json.h"
#include "support/utf8.h"

#define FIRST_COLUMN 34
#define COLUMN 14

static int width_of(const struct configuration *configuration)
{
	int length = (int)strlen(configuration->name);

	return length > COLUMN ? length : COLUMN;
}

/* As long as the longest column. */
static const char rule[] = "------------------------------------------------------------------------------";
_Static_assert(sizeof(rule) > CONFIGURATION_NAME_BYTES + 2 && sizeof(rule) > FIRST_COLUMN + 2, "columns");

/* Were other programs so busy that the measurement means nothing? */
static bool is_disturbed(const struct simulate_options *options, const struct measurement *measurement)
{
	const struct result_value *others = result_find(&measurement->result, NULL, "others_processors");

	return others && load_disturbs(others->value, measurement->threads, options->online_processors);
}

/* Prints after the tables how busy other programs were, and the effect on the figures. */
static void print_load(FILE *stream, const struct simulate_options *options, const struct measurement *measurements,
                       size_t count)
{
	bool is_any_disturbed = false;
	double most = -1;

	for (size_t index = 0; index < count; index++) {
		const struct result_value *others = result_find(&measurements[index].result, NULL, "others_processors");

		if (!others)
			return;
		most = others->value > most ? others->value : most;
		is_any_disturbed = is_any_disturbed || is_disturbed(options, &measurements[index]);
	}
	fprintf(stream, "\nMeasured in %u run%s each%s.", options->repeats, options->repeats == 1 ? "" : "s",
	        options->repeats == 1 ? ", without quartiles: --repeat=5 gives them" :
	                                ": the median, with the quartiles");
	if (most >= 0)
		fprintf(stream, " Others used up to %.1f of %u processors meanwhile.", most,
		        options->online_processors);
	if (is_any_disturbed)
		fputs(" WARNING: they took processors from the runs whose measured values are marked with !, which are "
		      "worthless.",
		      stream);
	fputs("\n", stream);
}

static void print_value(FILE *stream, const struct simulate_options *options, const struct measurement *measurement,
                        const char *section, const char *key, int width)
{
	const struct result_value *value = result_find(&measurement->result, section, key);
	char text[RESULT_TEXT_BYTES + 1] = "-";

	if (value)
		result_format(value, text);
	if (value && value->kind == RESULT_MEASURED && is_disturbed(options, measurement))
		strcat(text, "!");
	fprintf(stream, " | %*s", width, text);
}

/* Prints all values with one number of threads: a line for each, with its origin; a column for each configuration. */
static void print_by_value(FILE *stream, const struct simulate_options *options, const struct measurement *measurements)
{
	const struct configuration *configurations = options->configurations;
	const struct result *first = &measurements[0].result;
	const char *section = NULL;

	fprintf(stream, "| %-*s | %-8s", FIRST_COLUMN, "", "");
	for (size_t index = 0; index < options->configuration_count; index++)
		fprintf(stream, " | %*s", width_of(&configurations[index]), configurations[index].name);
	fprintf(stream, " |\n|%.*s|----------", FIRST_COLUMN + 2, rule);
	for (size_t index = 0; index < options->configuration_count; index++)
		fprintf(stream, "|%.*s:", width_of(&configurations[index]) + 1, rule);
	fputs("|\n", stream);
	for (unsigned int number = 0; number < first->count; number++) {
		const struct result_value *value = &first->values[number];

		if (value->section && (!section || strcmp(section, value->section) != 0))
			fprintf(stream, "| **%s**\n", value->section);
		section = value->section;
		fprintf(stream, "| %-*s | %-8s", FIRST_COLUMN, value->label, result_kind_name(value->kind));
		for (size_t index = 0; index < options->configuration_count; index++)
			print_value(stream, options, &measurements[index * options->thread_count], value->section,
			            value->key, width_of(&configurations[index]));
		fputs(" |\n", stream);
	}
}

/* Prints one value: a line for each configuration, a column for each number of threads. */
static void print_by_threads(FILE *stream, const struct simulate_options *options,
                             const struct measurement *measurements)
{
	const char *key = options->workload->row;
	const struct result_value *value = result_find(&measurements[0].result, NULL, key);

	fprintf(stream, "%s (%s), by number of %s\n\n| %-*s", value ? value->label : key,
	        value ? result_kind_name(value->kind) : "", options->machine ? "modelled processors" : "threads",
	        FIRST_COLUMN, "");
	for (size_t column = 0; column < options->thread_count; column++)
		if (options->threads[column])
			fprintf(stream, " | %*u", COLUMN, options->threads[column]);
		else
			fprintf(stream, " | %*s", COLUMN, "none: in turns");
	fprintf(stream, " |\n|%.*s", FIRST_COLUMN + 2, rule);
	for (size_t column = 0; column < options->thread_count; column++)
		fprintf(stream, "|%.*s:", COLUMN + 1, rule);
	fputs("|\n", stream);
	for (size_t row = 0; row < options->configuration_count; row++) {
		fprintf(stream, "| %-*s", FIRST_COLUMN, options->configurations[row].name);
		for (size_t column = 0; column < options->thread_count; column++)
			print_value(stream, options, &measurements[row * options->thread_count + column], NULL, key,
			            COLUMN);
		fputs(" |\n", stream);
	}
}

/* Fits a law to one configuration's measurements that had a processor for each thread. */
static bool fit_row(const struct simulate_options *options, const struct measurement *row, struct scalability *fit)
{
	SCOPE_FREE struct scalability_point *points = calloc(options->thread_count, sizeof(*points));
	size_t count = 0;

	for (size_t column = 0; points && column < options->thread_count; column++) {
		const struct result_value *value = result_find(&row[column].result, NULL, "ops");
		unsigned int threads = options->threads[column];

		if (value && threads >= 1 && threads <= options->online_processors)
			points[count++] = (struct scalability_point){ threads, value->value };
	}
	return points && scalability_fit(points, count, fit);
}

static unsigned int most_threads(const struct simulate_options *options)
{
	unsigned int most = 1;

	for (size_t column = 0; column < options->thread_count; column++)
		if (options->threads[column] > most)
			most = options->threads[column];
	return most;
}

/* Prints the law's extrapolation to more processors, marked as not measured. */
static void print_fits(FILE *stream, const struct simulate_options *options, const struct measurement *measurements)
{
	const unsigned int most = most_threads(options);
	/* The same unit as in the table above: of all threads together, or of each. */
	const double shares = strcmp(options->workload->row, "ops") == 0 ? 1 : most;
	bool is_first = true;

	for (size_t row = 0; row < options->configuration_count; row++) {
		struct scalability fit;

		if (!fit_row(options, &measurements[row * options->thread_count], &fit))
			continue;
		if (is_first)
			fprintf(stream,
			        "\nUniversal scalability law, fitted to what was measured with up to %u threads, one a "
			        "processor\n\n| %-*s |   sigma |   kappa | if there were %u processors "
			        "|\n|%.*s|--------:|"
			        "--------:|-----------------------:|\n",
			        options->online_processors, FIRST_COLUMN, "", most, FIRST_COLUMN + 2, rule);
		is_first = false;
		fprintf(stream, "| %-*s | %7.4f | %7.4f | %22.0f |\n", FIRST_COLUMN, options->configurations[row].name,
		        fit.sigma, fit.kappa, scalability_at(&fit, most) / shares);
	}
}

void report_tables(FILE *stream, const struct simulate_options *options, const struct measurement *measurements,
                   size_t count)
{
	if (options->workload->row && count > 1) {
		print_by_threads(stream, options, measurements);
		print_load(stream, options, measurements, count);
		if (!options->machine)
			print_fits(stream, options, measurements);
		shown_print(stream, options, measurements, count);
		return;
	}
	/* With several numbers of threads there is a table for each. */
	for (size_t column = 0; column < options->thread_count; column++) {
		if (column)
			fputc('\n', stream);
		utf8_print(options->image, stream);
		fprintf(stream, ", %s", options->workload->name);
		if (options->input) {
			fputs(" of ", stream);
			utf8_print(options->input, stream);
		}
		fputs(", ", stream);
		if (options->input)
			fputs("in its order\n\n", stream);
		else if (options->machine)
			fprintf(stream, "%u modelled processors of %s, seed %" PRIu64 "\n\n", options->threads[column],
			        options->machine->name, options->seed);
		else if (options->threads[column])
			fprintf(stream, "%u threads\n\n", options->threads[column]);
		else
			fprintf(stream, "turns in one thread, seed %" PRIu64 "\n\n", options->seed);
		print_by_value(stream, options, measurements + column);
	}
	print_load(stream, options, measurements, count);
	shown_print(stream, options, measurements, count);
}

static void write_choices(struct json *json, const struct policy_options *options)
{
	uint32_t choices = (policy_choices(options->policy) | options->choices_added) & ~options->choices_dropped;

	json_open_array(json, "choices");
	for (const struct choice *choice = all_choices; choice->name; choice++)
		if (choices & choice->choice)
			json_string(json, NULL, choice->name);
	json_close_array(json);
}

/* Writes the tunables that were set. */
static void write_tunables(struct json *json, const struct policy_options *options)
{
	if (!options->tunables_set)
		return;
	json_open_object(json, "set");
	for (const struct tunable *tunable = all_tunables; tunable->name; tunable++) {
		uint64_t value = options->tunable_values[tunable - all_tunables];

		if (!tunable_is_set(tunable, options))
			continue;
		if (tunable->words)
			json_string(json, tunable->name, tunable->words[value]);
		else
			json_unsigned(json, tunable->name, value);
	}
	json_close_object(json);
}

/* Writes the word of this index among words with | between them. */
static void write_choice(struct json *json, const struct workload_option *option, uint64_t index)
{
	const char *word = option->argument;

	for (; index && strchr(word, '|'); index--)
		word = strchr(word, '|') + 1;
	json_bytes(json, option->name, word, strcspn(word, "|"));
}

/* Writes null if the value is unknown. */
static void write_number(struct json *json, const struct result_value *value)
{
	if (value->kind == RESULT_MEASURED && value->value < 0) {
		json_string(json, "value", NULL);
		return;
	}
	json_number(json, "value", value->value, value->decimals);
	if (value->runs > 1)
		json_members(json, JSON_NUMBER("lower_quartile", value->lower, value->decimals),
		             JSON_NUMBER("upper_quartile", value->upper, value->decimals),
		             JSON_COUNT("repeats", value->runs));
}

static void write_measurement(struct json *json, const struct simulate_options *options,
                              const struct measurement *measurement, size_t count)
{
	json_open_object(json, NULL);
	json_string(json, "configuration", measurement->configuration->name);
	write_choices(json, &measurement->configuration->options);
	write_tunables(json, &measurement->configuration->options);
	json_unsigned(json, options->machine ? "modelled_processors" : "threads", measurement->threads);
	if (result_is_measured(&measurement->result))
		json_boolean(json, "is_disturbed", is_disturbed(options, measurement));
	json_open_array(json, "values");
	for (unsigned int index = 0; index < measurement->result.count; index++) {
		const struct result_value *value = &measurement->result.values[index];

		json_open_row(json, NULL);
		if (value->section)
			json_string(json, "section", value->section);
		json_members(json, JSON_TEXT("key", value->key), JSON_TEXT("kind", result_kind_name(value->kind)));
		write_number(json, value);
		json_close_object(json);
	}
	json_close_array(json);
	shown_write(json, options, measurement, count);
	json_close_object(json);
}

static void write_fits(struct json *json, const struct simulate_options *options,
                       const struct measurement *measurements)
{
	json_open_array(json, "fits");
	for (size_t row = 0; row < options->configuration_count; row++) {
		struct scalability fit;

		if (fit_row(options, &measurements[row * options->thread_count], &fit))
			json_row(json, NULL, JSON_TEXT("configuration", options->configurations[row].name),
			         JSON_COUNT("most_threads", options->online_processors),
			         JSON_NUMBER("lambda", fit.lambda, 0), JSON_NUMBER("sigma", fit.sigma, 6),
			         JSON_NUMBER("kappa", fit.kappa, 6));
	}
	json_close_array(json);
}

errcode_t report_json(FILE *stream, const struct simulate_options *options, const struct measurement *measurements,
                      size_t count)
{
	struct json json = { .stream = stream };

	json_open_object(&json, NULL);
	json_members(&json, JSON_TEXT("workload", options->workload->name), JSON_TEXT("image", options->image));
	if (options->input)
		json_string(&json, "input", options->input);
	json_unsigned(&json, "seed", options->seed);
	if (options->machine)
		json_string(&json, "machine", options->machine->name);
	if (options->machine && options->cpu_percent)
		json_unsigned(&json, "cpu_limit_percent", options->cpu_percent);
	json_open_object(&json, "options");
	for (unsigned int index = 0; options->workload->options[index].name; index++) {
		const struct workload_option *option = &options->workload->options[index];

		if (option->kind == SETTING_CHOICE)
			write_choice(&json, option, options->settings[index].number);
		else if (option->kind != SETTING_TEXT)
			json_unsigned(&json, option->name, options->settings[index].number);
		else if (options->settings[index].text)
			json_string(&json, option->name, options->settings[index].text);
	}
	json_close_object(&json);
	json_open_array(&json, "measurements");
	for (size_t index = 0; index < count; index++)
		write_measurement(&json, options, &measurements[index], count);
	json_close_array(&json);
	if (!options->machine)
		write_fits(&json, options, measurements);
	json_close_object(&json);
	return json_end(&json);
}
