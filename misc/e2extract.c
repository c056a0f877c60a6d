/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2extract: options, messages; the image is read by lib/source, and written out by lib/extract. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "e2extract_options.h"
#include "extract/name_files.h"
#include "run_files_json.h"
#include "source/sources.h"
#include "support/run/interrupt.h"

const char *tool_name = "e2extract";

#define PREFIX "image:"

/* The source that is nothing but an image, whatever its name and bytes look like. The caller frees it. */
static char *source_name(const struct command *command)
{
	const char *image = command->image;
	char *name;
	int made;

	if (!strncmp(image, PREFIX, strlen(PREFIX)))
		image += strlen(PREFIX);
	made = command->offset_bytes ? asprintf(&name, PREFIX "%s?offset=%" PRIu64, image, command->offset_bytes) :
	                               asprintf(&name, PREFIX "%s", image);
	return made < 0 ? NULL : name;
}

static void print_warnings(struct warnings *warnings)
{
	for (size_t i = 0; i < warnings->count; i++)
		print_problem(&warnings->list[i]);
}

/* What was left out is an error, and what the output does not hold is one with --strict. */
static int print_report(const struct command *command, struct extract_report *report)
{
	bool is_strict = command->options.is_strict && report->losses.count;
	int status = report->left_out.count || is_strict ? EXIT_FAILURE : EXIT_SUCCESS;

	if (!command->is_quiet || is_strict)
		print_warnings(&report->losses);
	print_warnings(&report->left_out);
	return status;
}

/* The keys are those of e2extract(8). */
static errcode_t print_json(struct command *command, const struct extract_report *report, size_t damaged)
{
	struct json json = { .stream = stdout };

	json_open_object(&json, NULL);
	json_members(&json, JSON_TEXT("image", command->image), JSON_TEXT("output", command->output),
	             JSON_COUNT("files", report->files), JSON_COUNT("data_bytes", report->data_bytes),
	             JSON_COUNT("losses", report->losses.count),
	             JSON_COUNT("left_out", report->left_out.count + damaged));
	errcode_t error = run_files_json(&json, &command->files);

	json_close_object(&json);
	errcode_t stream_error = json_end(&json);

	return error ? error : stream_error;
}

static errcode_t read_image(struct command *command, struct pool *pool, struct warnings *warnings,
                            struct warnings *left_out, struct tree **tree, struct problem *problem)
{
	SCOPE_FREE char *name = source_name(command);
	const char *names[] = { name };
	const struct scan_options options = {
		.asks_for_times = true,
		.warnings = warnings,
		.left_out = left_out,
		.counts = command->options.counts,
		.files = command->has_report || command->lists_inputs ? &command->files : NULL,
		.progress = command->options.progress,
	};
	const struct source_layering layering = { 0 };

	if (!name)
		return ENOMEM;
	if (command->lists_inputs)
		return sources_look_at(names, 1, &layering, &options, pool, problem);
	progress_stage(command->options.progress, "scan", 0, 0);
	return sources_scan(names, 1, &layering, &options, pool, tree, problem);
}

static errcode_t run_with(struct command *command, struct pool *pool, int *status, struct problem *problem)
{
	struct source_counts counts = { .limits = command->limits };
	struct extract_report report = { 0 };
	struct warnings warnings = { 0 }, left_out = { 0 };
	struct tree *tree = NULL;

	command->options.counts = &counts;
	errcode_t error = command->has_report ? extract_name_files(&command->options, &command->files, problem) : 0;

	if (!error)
		error = read_image(command, pool, &warnings, &left_out, &tree, problem);

	if (!error)
		error = extract(tree, &command->options, pool, &report, problem);
	progress_end(command->options.progress);
	if (!command->is_quiet)
		print_warnings(&warnings);
	print_warnings(&left_out);
	*status = print_report(command, &report);
	if (left_out.count)
		*status = EXIT_FAILURE;
	if (!error && command->has_report && (error = print_json(command, &report, left_out.count)))
		problem_set(problem, error, command->output, "the report cannot be written");
	warnings_clear(&warnings);
	warnings_clear(&left_out);
	extract_report_clear(&report);
	if (tree)
		tree_destroy(tree);
	return error;
}

static int run(struct command *command)
{
	struct problem problem = { 0 };
	struct pool *pool;
	int status = EXIT_FAILURE;
	errcode_t error = pool_create(command->threads, &pool);

	if (error)
		return print_failure(error, NULL, "cannot start threads");
	error = progress_start(stderr, command->progress, &command->options.progress);
	if (error)
		problem_set(&problem, error, NULL, "cannot show progress");
	else
		error = run_with(command, pool, &status, &problem);
	pool_destroy(pool);
	if (!error)
		return status;
	problem_set(&problem, error, command->image, "cannot extract");
	interrupt_explain(command->image, &problem);
	return print_output_problem(&problem);
}

/* --list-inputs=json: makes nothing. */
static int list_inputs(struct command *command)
{
	struct problem problem = { 0 };
	struct pool *pool = NULL;
	struct tree *none;
	errcode_t error = pool_create(0, &pool);

	if (!error)
		error = extract_name_files(&command->options, &command->files, &problem);
	if (!error)
		error = read_image(command, pool, NULL, NULL, &none, &problem);
	pool_destroy(pool);
	return run_files_end(&command->files, error, &problem);
}

int main(int argument_count, char **arguments)
{
	struct command command;

	tool_start();
	command_parse(argument_count, arguments, &command);
	command.options.source = command.image;
	interrupt_install();
	int status = command.lists_inputs ? list_inputs(&command) : run(&command);

	run_files_clear(&command.files);

	if (status != EXIT_SUCCESS)
		interrupt_die();
	return status;
}
