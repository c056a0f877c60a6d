/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2frag: options, one report, one message; the work is in lib/analyze. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <ext2fs/ext2fs.h>

#include "analyze/read/paths.h"
#include "e2frag_options.h"
#include "e2frag_page.h"
#include "e2frag_subject.h"
#include "support/io/flush.h"
#include "support/run/interrupt.h"

#define EXIT_SCORE 3

const char tool_name[] = "e2frag";

/* What is damaged has been counted and left out. */
static int print_damage(const struct subject *subject)
{
	const struct report *report = subject->report;
	struct problem problem = { 0 };

	if (!report || !report->damage_count)
		return EXIT_SUCCESS;
	problem_set_reason(&problem, EXT2_ET_CORRUPT_SUPERBLOCK, subject->volume.path, "cannot read all of it",
	                   "%" PRIu64 " left out:", report->damage_count);
	print_problem(&problem);
	form_damage(report, "  ", stderr);
	return EXIT_FAILURE;
}

static void copy_damage(const struct damage_list *damage, struct report *report)
{
	report->damage_count = damage->count;
	for (unsigned int n = 0; n < damage->kept; n++)
		report->damage[n] = damage->first[n];
}

static int print_paths(const struct command *command, struct subject *subject)
{
	const struct volume *volume = &subject->volume;
	struct problem problem = { 0 };
	struct damage_list damage = { 0 };
	int status = EXIT_SUCCESS;

	for (size_t n = 0; n < command->path_count; n++) {
		const char *path = command->paths[n];
		uint32_t ino;
		errcode_t error = paths_lookup(volume, path, &damage, &ino);

		if (!error)
			error = command->form->print_file(volume, ino, path, command->with_rows, &damage,
			                                  stdout);
		if (error) {
			problem_set(&problem, error, path, "cannot show its extents");
			status = print_problem(&problem);
		}
	}
	copy_damage(&damage, subject->report);
	return status ? status : print_damage(subject);
}

static struct form_parts parts_of(const struct command *command)
{
	return (struct form_parts){
		.free_space = !command->options.without_free,
		.files = !command->options.without_files,
		.groups = command->show_groups,
		.by_directory = command->show_directories,
		.unlink = command->show_unlink,
	};
}

static int print_report(struct command *command, const struct report *report)
{
	struct form_parts parts = parts_of(command);
	struct problem problem = { 0 };

	if (command->html && page_write(command->html, report, NULL, &parts, &problem))
		return print_problem(&problem);
	command->output_error = command->form->print(report, &parts, stdout);
	return EXIT_SUCCESS;
}

static void set_chunk(struct command *command, const struct report_filesystem *filesystem)
{
	command->options.chunk_blocks = command->chunk_kilobytes * 1024 / filesystem->block_bytes;
	if (command->chunk_kilobytes && command->options.chunk_blocks < filesystem->cluster_blocks)
		usage_error("-c: a chunk cannot be smaller than a block (with bigalloc, a cluster) of the filesystem");
}

static errcode_t analyze_subject(struct command *command, struct subject *subject, struct problem *problem)
{
	if (subject->is_saved)
		return 0;
	errcode_t error = progress_start(stderr, command->progress, &command->options.progress);

	if (error)
		return problem_set(problem, error, NULL, "cannot show progress");
	set_chunk(command, &subject->report->filesystem);
	/* What follows writes to where reading may stop for long: there a signal ends us at once, as usual. */
	interrupt_install();
	error = analyze(&subject->volume, &command->options, subject->report, problem);
	interrupt_uninstall();
	progress_end(command->options.progress);
	if (error)
		interrupt_explain(command->name, problem);
	return error;
}

/* A saved report has what it was asked for when it was made. */
static errcode_t take_figures(const struct command *command, const struct subject *subject, const char *name,
                              struct compared *compared, struct problem *problem)
{
	*compared = (struct compared){ .report = subject->report, .saved = subject->saved.text };
	if (!subject->is_saved) {
		figures_take(subject->report, &compared->figures);
		return 0;
	}
	compared->figures = subject->saved.figures;
	if (command->html)
		return problem_set_reason(problem, EINVAL, name, "cannot make a page",
		                          "a saved report lacks part of it: name the filesystem itself");
	if (!compared->figures.has_free_space && !command->options.without_free)
		return problem_set_reason(problem, EINVAL, name, "cannot compare",
		                          "the saved report has no free space: use --only=files");
	if (!compared->figures.has_files && !command->options.without_files)
		return problem_set_reason(problem, EINVAL, name, "cannot compare",
		                          "the saved report has no files: use --only=free");
	return 0;
}

static errcode_t print_comparison(struct command *command, const struct subject *first,
                                  const struct subject *second, struct problem *problem)
{
	struct form_parts parts = parts_of(command);
	struct compared before, after;
	errcode_t error = take_figures(command, first, command->name, &before, problem);

	if (!error)
		error = take_figures(command, second, command->compare, &after, problem);
	if (!error && command->html)
		error = page_write(command->html, first->report, second->report, &parts, problem);
	if (error)
		return error;
	command->output_error = command->form->compare(&before, &after, &parts, stdout);
	return 0;
}

static int compare(struct command *command, const struct subject *subject)
{
	struct problem problem = { 0 };
	struct subject other;
	errcode_t error = subject_open(command->compare, 0, 0, true, &other, &problem);

	if (!error)
		error = analyze_subject(command, &other, &problem);
	if (!error)
		error = print_comparison(command, subject, &other, &problem);
	int status = error ? print_problem(&problem) : print_damage(&other);

	subject_close(&other);
	return status;
}

static int analyze_and_print(struct command *command, struct subject *subject)
{
	struct problem problem = { 0 };
	const struct report *report = subject->report;

	if (analyze_subject(command, subject, &problem))
		return print_problem(&problem);
	int status = command->compare ? compare(command, subject) : print_report(command, report);

	if (print_damage(subject))
		status = EXIT_FAILURE;
	double score = subject->is_saved ? figures_score(&subject->saved.figures) : report->verdict.score;

	if (!status && command->has_max_score && (uint64_t)(score + 0.5) > command->max_score)
		status = EXIT_SCORE;
	return status;
}

static int run(struct command *command)
{
	struct problem problem = { 0 };
	struct subject subject;
	int status;

	bool may_be_saved = command->compare;

	if (subject_open(command->name, command->offset_bytes, command->partition, may_be_saved, &subject, &problem))
		status = print_problem(&problem);
	else if (command->path_count)
		status = print_paths(command, &subject);
	else
		status = analyze_and_print(command, &subject);
	subject_close(&subject);
	errcode_t error = command->output_error ? command->output_error : flush_output(stdout);

	if (!error)
		return status;
	problem_set(&problem, error, "standard output", "cannot write");
	return print_problem(&problem);
}

int main(int argument_count, char **arguments)
{
	struct command command;

	tool_start(argument_count, arguments);
	command_parse(argument_count, arguments, &command);
	int status = run(&command);

	command_free(&command);
	interrupt_die();
	return status;
}
