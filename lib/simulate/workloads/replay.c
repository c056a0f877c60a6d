/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Repeats a trace, under a policy or as traced. */
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "allocator/core/arithmetic.h"
#include "analyze/report/report.h"
#include "simulate/replay/replayer.h"
#include "simulate/replay/trace.h"
#include "simulate/replay/trace_line.h"
#include "simulate/results/counted_values.h"

enum { DEVICE, INODES, STREAMS, LAYOUT };

enum inodes { INODES_AUTO, INODES_TRACED, INODES_POLICY };

static const struct workload_option replay_options[] = {
	[DEVICE] = { "device", "MAJOR:MINOR", SETTING_TEXT, 0, 0, 0,
	             "the filesystem to replay, where the trace is of several" },
	[INODES] = { "inodes", "auto|traced|policy", SETTING_CHOICE, INODES_AUTO, 0, 0,
	             "which numbers inodes get; auto: the traced ones with the kernel's policies" },
	[STREAMS] = { "streams", "processor|process|one", SETTING_CHOICE, REPLAY_BY_PROCESSOR, 0, 0,
	              "whose small files share preallocations, where these are by thread" },
	[LAYOUT] = { "layout", "FILE", SETTING_TEXT, 0, 0, 0, "write where the files are: see e2allocsim(8)" },
	{ 0 },
};

struct replay {
	struct simulation *simulation;
	struct replayer replayer;
	struct trace_counts trace;
};

static errcode_t run_event(void *context, const struct trace_event *event, struct problem *problem)
{
	struct replay *replay = context;
	errcode_t error = replayer_run_event(&replay->replayer, event);

	return error ? problem_set(problem, error, replay->simulation->image->path, "cannot replay on it") : 0;
}

/* --- Resulting files ----------------------------------------------------------------------------------- */

struct totals {
	uint64_t files, blocks, extents, most_extents, other_blocks;
};

static bool has_data(const struct replay_file *file)
{
	return file->is_counted && !S_ISDIR(file->mode) && file->runs.blocks;
}

static void count_file(const struct replay_file *file, void *context)
{
	struct totals *totals = context;

	if (!file->is_counted)
		return;
	totals->other_blocks += file->other_blocks + (S_ISDIR(file->mode) ? file->runs.blocks : 0);
	if (!has_data(file))
		return;
	uint64_t extents = file_runs_extents(&file->runs, 0, UINT32_MAX);
	totals->files++;
	totals->blocks += file->runs.blocks;
	totals->extents += extents;
	totals->most_extents = max_u64(totals->most_extents, extents);
}

static errcode_t add_layout_values(const struct replay *replay)
{
	struct simulation *simulation = replay->simulation;
	double block_kib = simulation->image->format.block_bytes / 1024.0;
	struct totals totals = { 0 };
	errcode_t error = space_values_add(simulation, NULL);

	if (error)
		return error;
	replay_files_each(&replay->replayer.files, count_file, &totals);
	result_add(
		simulation->result, NULL, RESULT_LAYOUT,
		(const struct named_value[]){
			{ "extents_per_file", "Avg. extents per file", report_ratio(totals.extents, totals.files), 2 },
			{ "most_extents", "Most extents of a file", (double)totals.most_extents, 0 },
			{ "extent_avg_kb", "Avg. size per extent (KB)",
	                  report_ratio(totals.blocks, totals.extents) * block_kib, 0 },
			{ "files", "Files with blocks", (double)totals.files, 0 },
			{ "blocks", "Blocks of files", (double)totals.blocks, 0 },
			{ "other_blocks", "Blocks of maps and directories", (double)totals.other_blocks, 0 },
			{ 0 },
		});
	return 0;
}

static errcode_t add_request_values(const struct replay *replay)
{
	const struct replay_counts *counts = &replay->replayer.counts;
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	errcode_t error = ext2mb_read_stats(replay->simulation->image->mb, &stats);
	bool is_traced = replay->simulation->configuration->is_traced;

	if (error)
		return error;
	result_add(replay->simulation->result, "requests", RESULT_COUNTED,
	           (const struct named_value[]){
			   { "requests", "Requests for data", (double)counts->requests, 0 },
			   { "blocks", "Blocks asked for", (double)counts->asked_blocks, 0 },
			   { "in_one", "Became one extent", (double)counts->in_one, 0 },
			   { "extents", "Extents that they became", (double)counts->extents, 0 },
			   { "other", "Requests for other blocks", (double)counts->other, 0 },
			   { "failed_blocks", "Blocks not to be had", (double)counts->failed_blocks, 0 },
			   { "groups_scanned", "Groups scanned",
	                     (double)(is_traced ? counts->groups_scanned : stats.groups_scanned), 0 },
			   { 0 },
		   });
	return 0;
}

static void add_trace_values(const struct replay *replay)
{
	const struct trace_counts *trace = &replay->trace;
	const struct replay_contradictions *contradictions = &replay->replayer.files.contradictions;

	result_add(
		replay->simulation->result, "trace", RESULT_COUNTED,
		(const struct named_value[]){
			{ "events", "Events replayed", (double)trace->events, 0 },
			{ "lost", "Events lost", (double)trace->lost, 0 },
			{ "not_understood", "Lines not understood", (double)trace->not_understood, 0 },
			{ "first_not_understood", "Number of the first one", (double)trace->first_not_understood, 0 },
			{ "refused", "Requests the kernel refused", (double)replay->replayer.counts.refused, 0 },
			{ "commits", "Commits", (double)replay->replayer.counts.commits, 0 },
			{ 0 },
		});
	result_add(
		replay->simulation->result, "contradictions", RESULT_COUNTED,
		(const struct named_value[]){
			{ "taken_twice", "Blocks taken that are in use", (double)contradictions->taken_twice, 0 },
			{ "unknown_blocks", "Blocks freed that nobody has", (double)contradictions->unknown_blocks, 0 },
			{ "made_twice", "Inodes taken that are in use", (double)contradictions->made_twice, 0 },
			{ "unknown_files", "Files that are not known", (double)contradictions->unknown_files, 0 },
			{ "moved", "Blocks for what has some", (double)contradictions->moved, 0 },
			{ "impossible", "Events with impossible numbers", (double)contradictions->impossible, 0 },
			{ 0 },
		});
}

/* --- The layout as text -------------------------------------------------------------------------------------- */

struct printing {
	FILE *file;
	const char *name;
};

static void print_file(const struct replay_file *file, void *context)
{
	const struct printing *printing = context;

	for (size_t index = 0; has_data(file) && index < file->runs.count; index++) {
		const struct file_run *run = &file->runs.list[index];

		fprintf(printing->file, "%s\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu32 "\n", printing->name,
		        file->ino, run->logical, run->physical, run->count);
	}
}

/* Each configuration appends to the file; the first one, which is the trace's, begins it. */
static errcode_t write_layout(const struct replay *replay)
{
	const struct simulation *simulation = replay->simulation;
	const char *path = simulation->settings[LAYOUT].text;

	if (!path)
		return 0;
	FILE *file = fopen(path, simulation->configuration->is_traced ? "we" : "ae");
	struct printing printing = { file, simulation->configuration->name };

	if (!file)
		return problem_set(simulation->problem, errno, path, "cannot open");
	if (simulation->configuration->is_traced)
		fputs("# configuration\tinode\tlogical\tphysical\tblocks\n", file);
	replay_files_each(&replay->replayer.files, print_file, &printing);
	bool has_failed = ferror(file);
	if (fclose(file) || has_failed)
		return problem_set(simulation->problem, errno ? errno : EIO, path, "cannot write");
	return 0;
}

/* --- The workload -------------------------------------------------------------------------------------------- */

static errcode_t read_trace(struct replay *replay)
{
	struct simulation *simulation = replay->simulation;
	const char *device_text = simulation->settings[DEVICE].text;
	uint64_t device;

	if (device_text && !trace_device_parse(device_text, &device))
		return problem_set_reason(simulation->problem, EINVAL, NULL, "--device",
		                          "%s is no device: MAJOR:MINOR, as 7:0", device_text);
	const struct trace_options options = {
		.device = device_text ? &device : NULL,
		.cluster_blocks = (uint32_t)geometry_cluster_blocks(&simulation->image->geometry),
	};

	return trace_read(simulation->options->input, &options, run_event, replay, simulation->options->progress,
	                  &replay->trace, simulation->problem);
}

static errcode_t finish(struct replay *replay)
{
	struct simulation *simulation = replay->simulation;
	errcode_t error = replayer_finish(&replay->replayer);

	if (!error)
		error = add_layout_values(replay);
	if (!error)
		error = add_request_values(replay);
	if (error)
		return problem_set(simulation->problem, error, simulation->image->path, "cannot replay on it");
	add_trace_values(replay);
	return write_layout(replay);
}

/* Only our own policy chooses inode numbers itself. */
static bool has_own_inodes(const struct simulation *simulation)
{
	uint64_t inodes = simulation->settings[INODES].number;
	const struct policy_options *options = &simulation->configuration->options;
	uint32_t choices = (policy_choices(options->policy) | options->choices_added) & ~options->choices_dropped;

	if (simulation->configuration->is_traced || inodes == INODES_TRACED)
		return false;
	return inodes == INODES_POLICY || choices & CHOICE_DIRECTORY_SHARES;
}

static errcode_t replay_run(struct simulation *simulation)
{
	SCOPE_FREE struct replay *replay = calloc(1, sizeof(*replay));

	if (!replay)
		return problem_set(simulation->problem, ENOMEM, simulation->image->path, "cannot replay on it");
	replay->simulation = simulation;
	replay->replayer = (struct replayer){
		.image = simulation->image,
		.is_traced = simulation->configuration->is_traced,
		.inodes_by_policy = has_own_inodes(simulation),
		.streams = (enum replay_streams)simulation->settings[STREAMS].number,
	};
	errcode_t error = replayer_open(&replay->replayer);

	if (error)
		problem_set(simulation->problem, error, simulation->image->path, "cannot replay on it");
	if (!error)
		error = read_trace(replay);
	if (!error)
		error = finish(replay);
	replayer_close(&replay->replayer);
	return error;
}

const struct workload replay_workload = {
	.name = "replay",
	.summary = "what a trace of the kernel's events says that was done, as it was and under policies",
	.input = "TRACE",
	.options = replay_options,
	.run = replay_run,
};
