/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2update: options, messages, one report; the work is in lib/update. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "analyze/forms/form_delta.h"
#include "e2update_options.h"
#include "run_files_json.h"
#include "support/io/whole_io.h"
#include "support/run/interrupt.h"
#include "support/text/json.h"
#include "support/text/units.h"
#include "support/utf8.h"
#include "update/update.h"

const char *tool_name = "e2update";

static void print_action(void *context, char sign, const char *path)
{
	const struct command *command = context;
	FILE *stream = command->is_json ? stderr : stdout;

	fputc(sign, stream);
	fputc(' ', stream);
	utf8_print(path, stream);
	fputc('\n', stream);
}

static void print_count(uint64_t count, const char *what, bool *is_first)
{
	if (count)
		printf("%s%" PRIu64 " %s", *is_first ? "" : ", ", count, what);
	*is_first = *is_first && !count;
}

static void print_growth(const struct update_report *report, bool is_dry_run)
{
	printf("%s by %s: it lack%s ", is_dry_run ? "would become larger" : "larger",
	       units_bytes(report->grown_bytes).text, is_dry_run ? "s" : "ed");
	if (report->lacked_blocks)
		printf("%" PRIu64 " blocks%s", report->lacked_blocks, report->lacked_inodes ? " and " : "");
	if (report->lacked_inodes)
		printf("%" PRIu64 " inodes", report->lacked_inodes);
	putchar('\n');
}

static void print_report(const struct command *command, const struct update_report *report)
{
	bool is_first = true, is_same = !(report->added + report->replaced + report->changed + report->removed);

	utf8_print(command->options.image, stdout);
	fputs(command->options.is_dry_run && !is_same ? " would change: " : ": ", stdout);
	print_count(report->added, "added", &is_first);
	print_count(report->replaced, "replaced", &is_first);
	print_count(report->changed, "with other metadata", &is_first);
	print_count(report->removed, "removed", &is_first);
	puts(!is_same ? "" : report->grown_bytes ? "nothing but its size" : "nothing: all is as it should be");
	if (report->commits)
		printf("%s of data, %" PRIu64 " transaction%s\n", units_bytes(report->data_bytes).text, report->commits,
		       units_plural(report->commits));
	if (command->options.layer_cache.path)
		printf("%u layer%s from the cache, %u unpacked into it\n", report->layers_cached,
		       report->layers_cached == 1 ? "" : "s", report->layers_made);
	if (report->links.followed)
		printf("%" PRIu64 " director%s put where a symbolic link leads\n", report->links.followed,
		       report->links.followed == 1 ? "y" : "ies");
	if (report->grown_bytes)
		print_growth(report, command->options.is_dry_run);
	if (*report->root_hash)
		printf("root hash: %s\n", report->root_hash);
	if (report->delta.old_path)
		form_delta_text(&report->delta, "against ", stdout);
}

/* The keys are those of e2update(8). */
static errcode_t print_json(struct command *command, const struct update_report *report)
{
	struct json json = { .stream = stdout };

	json_open_object(&json, NULL);
	json_members(
		&json, JSON_TEXT("image", command->options.image), JSON_BOOLEAN("dry_run", command->options.is_dry_run),
		JSON_COUNT("added", report->added), JSON_COUNT("replaced", report->replaced),
		JSON_COUNT("metadata_changed", report->changed), JSON_COUNT("removed", report->removed),
		JSON_COUNT("unchanged", report->unchanged), JSON_COUNT("data_bytes", report->data_bytes),
		JSON_COUNT("transactions", report->commits), JSON_COUNT("logged_blocks", report->logged_blocks),
		JSON_COUNT("direct_blocks", report->direct_blocks), JSON_COUNT("grown_bytes", report->grown_bytes),
		JSON_COUNT("lacked_blocks", report->lacked_blocks), JSON_COUNT("lacked_inodes", report->lacked_inodes),
		JSON_COUNT("links_followed", report->links.followed),
		JSON_COUNT("links_replaced", report->links.replaced), JSON_COUNT("warnings", report->warnings.count));
	if (command->options.layer_cache.path)
		json_members(&json, JSON_COUNT("layers_made", report->layers_made),
		             JSON_COUNT("layers_cached", report->layers_cached));
	if (*report->root_hash)
		json_string(&json, "root_hash", report->root_hash);
	if (report->delta.old_path)
		form_delta_json(&json, &report->delta);
	errcode_t error = run_files_json(&json, &command->files);

	json_close_object(&json);
	errcode_t stream_error = json_end(&json);

	return error ? error : stream_error;
}

static errcode_t show(struct command *command, const struct update_report *report)
{
	if (command->is_json)
		return print_json(command, report);
	if (!command->is_quiet)
		print_report(command, report);
	return flush_output(stdout);
}

static int run(struct command *command)
{
	struct problem problem = { 0 };
	struct update_report report = { 0 };
	update_listener listener =
		command->is_verbose || (command->options.is_dry_run && !command->is_quiet) ? print_action : NULL;
	struct run_files *files = &command->files;
	errcode_t error = against_name_ranges(&command->against, files);

	files->names_outputs_only = !command->is_json;

	if (!error)
		error = progress_start(stderr, command->progress, &command->options.progress);
	if (error)
		problem_set(&problem, error, NULL, "cannot show progress");
	else
		error = update(&command->options, files, listener, command, &report, &problem);
	progress_end(command->options.progress);
	for (size_t i = 0; i < report.warnings.count; i++)
		print_problem(&report.warnings.list[i]);
	run_files_print_left_out(files);
	if (report.skipped[SCAN_IMAGE])
		print_failure_reason(EINVAL, command->options.image, NULL, "is in its own source and is left out");
	errcode_t text_error =
		error ? 0 : against_write_ranges(&command->against, command->options.image, &report.delta, &problem);

	if (!error && (error = show(command, &report)))
		problem_set(&problem, error, command->options.image,
		            "the update is done, but its report cannot be written");
	if (!error)
		error = text_error;
	update_report_clear(&report);
	if (!error)
		return EXIT_SUCCESS;
	interrupt_explain(command->options.image, &problem);
	return command->options.is_dry_run ? print_output_problem(&problem) : print_problem(&problem);
}

/* --list-inputs=json: changes nothing. */
static int list_inputs(struct command *command)
{
	struct problem problem = { 0 };
	errcode_t error = against_name_ranges(&command->against, &command->files);

	if (!error)
		error = update_look(&command->options, &command->files, &problem);
	return run_files_end(&command->files, error, &problem);
}

/* Every thread has up to four descriptors: with 256 processors the usual limit, 1024, is too low. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int main(int argument_count, char **arguments)
{
	struct command command;

	tool_start();
	raise_descriptor_limit();
	command_parse(argument_count, arguments, &command);
	interrupt_install();
	int status = command.lists_inputs ? list_inputs(&command) : run(&command);

	command_free(&command);
	if (status != EXIT_SUCCESS)
		interrupt_die();
	return status;
}
