/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2frag: options, one report, one message; the work is in lib/analyze. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include <ext2fs/ext2fs.h>

#include "analyze/analyze.h"
#include "e2frag_history.h"
#include "e2frag_options.h"
#include "e2frag_subject.h"
#include "image/lookup.h"
#include "output/output.h"
#include "support/io/same_file.h"
#include "support/io/whole_io.h"
#include "support/run/interrupt.h"

#define EXIT_SCORE 3

const char *tool_name = "e2frag";

/* --- --html: the page and the file that it is in ------------------------------------------------------------------ */

struct page {
	const struct report *before, *after;
	const struct form_parts *parts;
};

static errcode_t write_form(void *context, FILE *stream)
{
	const struct page *page = context;

	return form_html(page->before, page->after, page->parts, stream);
}

static bool is_shown(const struct report *report, const struct stat *page)
{
	return report && is_same_file(report->filesystem.device, page);
}

/*
 * Writes the page of form_html(); after is NULL but for comparisons. A file gets its name once it is whole; an older
 * page stays until then. A pipe is written directly. Block devices and the reported images are refused.
 */
static errcode_t page_write(const struct command *command, const struct report *before, const struct report *after,
                            struct problem *problem)
{
	const char *path = command->html;
	struct page page = { before, after, &command->parts };
	struct stat status;
	bool exists = stat(path, &status) == 0;

	if (exists && S_ISBLK(status.st_mode))
		return problem_set_reason(problem, EINVAL, path, "cannot write the page", "it is a device");
	if (exists && (is_shown(before, &status) || is_shown(after, &status)))
		return problem_set_reason(problem, EINVAL, path, "cannot write the page", "it is the image itself");
	/* Only a temporary file needs removing at a signal; a pipe may block for any time. */
	if (!exists || S_ISREG(status.st_mode))
		interrupt_install();
	errcode_t error = text_file_write(path, write_form, &page, "cannot write the page", problem);

	interrupt_uninstall();
	if (error)
		interrupt_explain(path, problem);
	return error;
}

/* --- The report --------------------------------------------------------------------------------------------------- */

/* Damaged parts have been counted and left out. */
static int print_damage(const struct subject *subject)
{
	const struct report *report = subject->report;

	if (!report || (!report->damage.count && !report->filesystem.missing_blocks))
		return EXIT_SUCCESS;
	const struct report_filesystem *filesystem = &report->filesystem;
	char left_out[64] = "";

	if (report->damage.count)
		snprintf(left_out, sizeof(left_out), "%" PRIu64 " left out:", report->damage.count);
	if (filesystem->missing_blocks)
		print_failure_reason(EXT2_ET_SHORT_READ, subject->volume.path, "cannot read all of it",
		                     VOLUME_CUT_OFF "%s%s", filesystem->blocks - filesystem->missing_blocks,
		                     filesystem->blocks, *left_out ? "; " : "", left_out);
	else
		print_failure_reason(EXT2_ET_CORRUPT_SUPERBLOCK, subject->volume.path, "cannot read all of it", "%s%s",
		                     filesystem->is_mounted ? "it is mounted; " : "", left_out);
	form_damage(report, "  ", stderr);
	return EXIT_FAILURE;
}

/* Printed to standard error, because not every form has a place for it. */
static void print_left_out(const struct command *command, const struct subject *subject)
{
	const struct report *report = subject->report;
	const char *path = subject->volume.path;

	if (command->options.quick_seconds && report->quick.groups)
		print_failure_reason(EXT2_ET_CANCEL_REQUESTED, path, "--quick left out",
		                     "the free space of %" PRIu64 " of %u groups", report->quick.groups,
		                     report->filesystem.groups);
	if (!command->options.quick_seconds || command->options.without_files)
		return;
	if (!report->quick.inodes && !report->quick.files)
		print_failure_reason(EXT2_ET_CANCEL_REQUESTED, path, "--quick left out", "all directories");
	else
		print_failure_reason(EXT2_ET_CANCEL_REQUESTED, path, "--quick left out",
		                     "%" PRIu64 " of %" PRIu64 " inodes, extents of %" PRIu64 " files, all directories",
		                     report->quick.inodes, report->quick.inodes_in_use, report->quick.files);
}

static int print_paths(const struct command *command, struct subject *subject)
{
	const struct volume *volume = &subject->volume;
	struct damage_list *damage = &subject->report->damage;
	int status = EXIT_SUCCESS;

	for (size_t n = 0; n < command->paths.count; n++) {
		const char *path = command->paths.list[n];
		uint32_t ino;
		errcode_t error = paths_lookup(volume, path, damage_list_listener(damage), &ino);

		if (!error)
			error = command->form->print_file(volume, ino, path, command->with_rows, damage, stdout);
		if (error)
			status = print_failure(error, path, "cannot show its extents");
	}
	return status ? status : print_damage(subject);
}

static int print_report(struct command *command, const struct report *report)
{
	struct problem problem = { 0 };

	if (command->html && page_write(command, report, NULL, &problem))
		return print_problem(&problem);
	if (command->options.lists) {
		command->output_error = form_list(report, command->ends_with_nul, stdout);
		return EXIT_SUCCESS;
	}
	command->output_error = command->form->print(report, &command->parts, stdout);
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
	if (subject->saved.text)
		return 0;
	errcode_t error = progress_start(stderr, command->progress, &command->options.progress);

	if (error)
		return problem_set(problem, error, NULL, "cannot show progress");
	set_chunk(command, &subject->report->filesystem);
	/* The rest writes to an output whose reader may block: there a signal ends us at once, as usual. */
	interrupt_install();
	error = analyze(&subject->volume, &command->options, subject->report, problem);
	interrupt_uninstall();
	progress_end(command->options.progress);
	if (error)
		interrupt_explain(subject->name, problem);
	return error;
}

/* A saved report has the figures that were asked for when it was made. */
static errcode_t compute_figures(const struct command *command, const struct subject *subject, const char *name,
                                 struct compared *compared, struct problem *problem)
{
	*compared = (struct compared){ .report = subject->report, .saved = subject->saved.text };
	if (!subject->saved.text) {
		figures_compute(subject->report, &compared->figures);
		return 0;
	}
	compared->figures = subject->saved.figures;
	if (command->html)
		return problem_set_reason(problem, EINVAL, name, "cannot make a page",
		                          "a saved report lacks part of it: name the filesystem itself");
	return check_saved_parts(&compared->figures, &command->parts, name, "cannot compare", problem);
}

static errcode_t print_comparison(struct command *command, const struct subject *first, const struct subject *second,
                                  struct problem *problem)
{
	struct compared before, after;
	errcode_t error = compute_figures(command, first, command->name, &before, problem);

	if (!error)
		error = compute_figures(command, second, command->compare, &after, problem);
	if (!error && command->html)
		error = page_write(command, first->report, second->report, problem);
	if (error)
		return error;
	command->output_error = command->form->compare(&before, &after, &command->parts, stdout);
	return 0;
}

static int compare(struct command *command, const struct subject *subject)
{
	struct problem problem = { 0 };
	/* Another filesystem, which begins with its file. */
	const struct place_options where = { .most_unpacked_bytes = command->where.most_unpacked_bytes };
	struct subject other;
	errcode_t error = subject_open(command->compare, &where, true, command->progress, &other, &problem);

	if (!error)
		error = analyze_subject(command, &other, &problem);
	if (!error)
		error = print_comparison(command, subject, &other, &problem);
	int status = error ? print_problem(&problem) : print_damage(&other);

	subject_close(&other);
	return status;
}

/* Compares the score as shown: 30.4 is not above 30, and 30.44 not above 30.4. */
static bool is_above(const struct command *command, double score)
{
	char shown[32];

	snprintf(shown, sizeof(shown), "%.*f", (int)command->score_decimals, score);
	return strtod(shown, NULL) > command->max_score;
}

/* The file ends with the image where the filesystem begins with it. */
static bool is_image(const struct command *command, const struct subject *subject)
{
	struct stat status;

	return !command->where.offset_bytes && !command->where.partition &&
	       fstat(subject->volume.descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

static errcode_t read_delta(const struct command *command, const struct subject *subject, const struct target *target,
                            struct delta *delta, struct problem *problem)
{
	const struct delta_options options = { command->against.chunk_bytes, is_image(command, subject) };
	struct delta_old old;
	struct pool *pool;
	errcode_t error = delta_old_open(target->path, target->offset_bytes, &old, problem);

	if (error)
		return error;
	error = pool_create(command->options.threads, &pool);
	if (error) {
		delta_old_close(&old);
		return problem_set(problem, error, NULL, "cannot start threads");
	}
	interrupt_install();
	error = delta_read(&subject->volume, &old, &options, pool, delta, problem);
	interrupt_uninstall();
	if (error)
		interrupt_explain(command->name, problem);
	pool_destroy(pool);
	delta_old_close(&old);
	delta->old_path = command->against.old;
	return error;
}

/* --against: the older image is looked at in the same place. The report then has *delta. */
static errcode_t compare_with_old(const struct command *command, struct subject *subject, struct delta *delta,
                                  struct problem *problem)
{
	const char *old = command->against.old;
	struct place place;

	if (!old)
		return 0;
	errcode_t error = find_place(old, &command->where, command->progress, &place, problem);

	if (!error)
		error = place_rename(&place, read_delta(command, subject, &place.target, delta, problem), problem);
	place_leave(&place);
	if (error)
		return error;
	subject->report->delta = delta;
	return against_write_ranges(&command->against, subject->path, delta, problem);
}

static int analyze_and_print(struct command *command, struct subject *subject, struct delta *delta)
{
	struct problem problem = { 0 };
	const struct report *report = subject->report;

	if (analyze_subject(command, subject, &problem))
		return print_problem(&problem);
	if (compare_with_old(command, subject, delta, &problem))
		return print_problem(&problem);
	int status = command->compare ? compare(command, subject) : print_report(command, report);

	print_left_out(command, subject);
	if (print_damage(subject))
		status = EXIT_FAILURE;
	double score = subject->saved.text ? figures_score(&subject->saved.figures) : report->verdict.score;

	if (!status && is_above(command, score))
		status = EXIT_SCORE;
	return status;
}

/* Reads one of several filesystems; its report is kept. What is wrong has been said. */
static int read_one(struct command *command, const char *name, struct subject *subject)
{
	struct problem problem = { 0 };
	errcode_t error = subject_open(name, &command->where, false, command->progress, subject, &problem);

	if (!error)
		error = analyze_subject(command, subject, &problem);
	if (error) {
		subject->is_left_out = true;
		subject_leave(subject);
		return print_problem(&problem);
	}
	print_left_out(command, subject);
	int status = print_damage(subject);

	subject_leave(subject);
	return status;
}

/* One that cannot be read is left out, and the others are shown. */
static int run_several(struct command *command)
{
	SCOPE_FREE struct subject *subjects = calloc(command->name_count, sizeof(*subjects));
	SCOPE_FREE const struct report **reports = calloc(command->name_count, sizeof(*reports));
	size_t count = 0, read = 0;
	int status = EXIT_SUCCESS;
	bool is_too_high = false;

	if (!subjects || !reports)
		exit_without_memory();
	while (read < command->name_count && !interrupt_pending()) {
		struct subject *subject = &subjects[read];

		if (read_one(command, command->names[read++], subject))
			status = EXIT_FAILURE;
		if (subject->is_left_out)
			continue;
		reports[count++] = subject->report;
		is_too_high = is_too_high || is_above(command, subject->report->verdict.score);
	}
	if (!interrupt_pending())
		command->output_error = command->form->print_all(reports, count, &command->parts, stdout);
	while (read)
		subject_close(&subjects[--read]);
	return !status && is_too_high ? EXIT_SCORE : status;
}

static int run_one(struct command *command)
{
	struct problem problem = { 0 };
	struct past past = { 0 };
	struct subject subject;
	struct delta delta = { 0 };
	int status;

	if (command->history.count && past_read(&command->history, &command->parts, &past, &problem)) {
		past_free(&past);
		return print_problem(&problem);
	}

	if (subject_open(command->name, &command->where, command->compare, command->progress, &subject, &problem))
		status = print_problem(&problem);
	else if (command->paths.count)
		status = print_paths(command, &subject);
	else {
		if (command->history.count)
			subject.report->history = &past.history;
		status = analyze_and_print(command, &subject, &delta);
	}
	delta_free(&delta);
	subject_close(&subject);
	past_free(&past);
	return status;
}

static int run(struct command *command)
{
	int status = command->name_count > 1 ? run_several(command) : run_one(command);
	errcode_t error = command->output_error ? command->output_error : flush_output(stdout);

	return error ? print_output_failure(error) : status;
}

int main(int argument_count, char **arguments)
{
	struct command command;

	tool_start();
	command_parse(argument_count, arguments, &command);
	int status = run(&command);

	command_free(&command);
	interrupt_die();
	return status;
}
