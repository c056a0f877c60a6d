// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate/overview/overview.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "simulate/overview/overview_charts.h"
#include "simulate/overview/overview_disks.h"
#include "simulate/results/report.h"
#include "simulate/simulate.h"
#include "support/io/whole_io.h"
#include "support/run/interrupt.h"

#define SUPPOSED_PROCESSORS 64
#define MEASURED_REPEATS 3 /* of which the median is shown */
#define MOST_THREADS 8
#define MOST_CHARTS 3
#define MOST_SETTINGS 4

struct overview_setting {
	const char *name; /* of the workload's option; NULL after the last one */
	uint64_t full, quick;
	uint64_t shared; /* where disks are compared, some of which have less room; 0: as above */
};

struct experiment {
	const char *title, *workload;
	const char *intent; /* a sentence or two in Markdown */
	enum comparison comparison;
	const char *compare;                /* as on the command line; NULL: the kinds of orphans are compared */
	unsigned int threads[MOST_THREADS]; /* up to the second 0; so {} is taking turns */
	struct overview_setting settings[MOST_SETTINGS];
	bool is_layout; /* so it depends on the disk: it runs on those of overview_disks.h, too */
	struct overview_chart charts[MOST_CHARTS];
};

static const struct experiment experiments[] = {
	{
		.title = "append: 64 files of 1 GiB side by side",
		.workload = "append",
		.intent = "The fio job of the series, 4 KiB at a time by fallocate(2). Layouts are *simulated*: "
			  "streams take "
			  "turns in one thread as the seed decides, and 64 processors are supposed.",
		.comparison = COMPARE_POLICIES,
		.compare = "policies",
		.settings = { { "file-size", 1 << 30, 1 << 20, 256 << 20 } },
		.is_layout = true,
		.charts = { { "append-extents", "append: extents per file (layout, seeded turns)", "extents_per_file",
	                      true },
	                    { "append-free", "append: free extents (layout, seeded turns)", "free_extents", true },
	                    { "append-bandwidth", "append: MiB/s of metadata alone (measured, one thread)",
	                      "bandwidth_mib", false } },
	},
	{
		.title = "fallocate2: 8 KiB appends to 1 MiB, truncate",
		.workload = "fallocate2",
		.intent = "will-it-scale's loop, *measured*; more threads than processors share them.",
		.comparison = COMPARE_PATCHES,
		.compare = "patches",
		.threads = { 1, 2, 8, 64 },
		.settings = { { "rounds", 0, 20 } },
		.charts = { { "fallocate2",
	                      "fallocate2: appends per container and second, a thread for each processor (measured)",
	                      "ops_per_container", false, false, true } },
	},
	{
		.title = "normalize: the seven steps of 2014",
		.workload = "normalize",
		.intent = "How much to reserve: layouts, the same every time; made-up trees like Linux 6.1's source.",
		.comparison = COMPARE_NORMALIZATIONS,
		.compare = "normalizations",
		.settings = { { "files", 20000, 200 }, { "dd-size", 512 << 20, 1 << 20 } },
		.is_layout = true,
		.charts = { { "normalize-extents", "normalize: extents of each step's files (layout)", "tree_extents",
	                      true, true },
	                    { "normalize-free", "normalize: median free extent in KiB after each step (layout)",
	                      "free_median_kb", true, true },
	                    { "normalize-stripes", "normalize: stripes covered in part (layout)", "partial_stripes",
	                      true, true } },
	},
	{
		.title = "truncate: the list of orphans",
		.workload = "truncate",
		.intent = "Files of 256 KiB truncated byte by byte, *measured*, all threads together; each truncation "
		          "changes its inode four times, as in Linux.",
		.threads = { 1, 2, 8, 32, 128 },
		.settings = { { "file-size", 256 << 10, 4 << 10 } },
		.charts = { { "truncate", "truncate: truncations per second, all threads (measured)", "ops", false } },
	},
	{
		.title = "creat_clo: create and close",
		.workload = "creat_clo",
		.intent = "The same list, 100 000 times each, *measured*.",
		.threads = { 1, 2, 8, 32, 128 },
		.settings = { { "times", 100000, 1000 } },
		.charts = { { "creat-clo", "creat_clo: truncations per second, all threads (measured)", "ops",
	                      false } },
	},
	{
		.title = "unlink: 725 000 small files in random order",
		.workload = "unlink",
		.intent = "The case of 2008: extracted by 4 streams in turns, deleted directory by directory; layouts.",
		.comparison = COMPARE_WINDOWS,
		.compare = "windows",
		/* The least for which rm(1) sorts by inode number, as we do. */
		.settings = { { "files", 725000, 2000 }, { "directories", 10001, 50 } },
		.is_layout = true,
		.charts = { { "unlink", "unlink: block bitmaps that the files of a directory lie in (layout)",
	                      "bitmaps_per_directory", false },
	                    { "unlink-writes", "unlink: block bitmap writes while deleting (layout)", "bitmap_writes",
	                      false } },
	},
};

#define EXPERIMENTS (sizeof(experiments) / sizeof(*experiments))

static const char *const orphan_kinds[] = { "lockless", "locked", "none" };

#define ORPHAN_KINDS (sizeof(orphan_kinds) / sizeof(*orphan_kinds))

struct overview {
	const struct overview_options *options;
	struct overview_disks disks;
	FILE *stream;
	struct progress *progress;
	struct problem *problem;
};

static uint64_t value_of(const struct overview *overview, const struct overview_setting *setting, bool is_shared)
{
	if (overview->options->is_quick)
		return setting->quick;
	return is_shared && setting->shared ? setting->shared : setting->full;
}

static void take_settings(const struct overview *overview, const struct experiment *experiment, bool is_shared,
                          const struct workload *workload, struct setting *settings)
{
	workload_preset(workload, settings);
	for (const struct overview_setting *setting = experiment->settings;
	     setting < experiment->settings + MOST_SETTINGS && setting->name; setting++)
		workload_setting(workload, settings, setting->name)->number = value_of(overview, setting, is_shared);
}

/* What threads do differs from run to run, with one second each by half; layouts in turns are the same every time. */
static unsigned int repeats_of(const struct overview *overview, const struct experiment *experiment)
{
	return experiment->threads[0] && !overview->options->is_quick ? MEASURED_REPEATS : 1;
}

/* So that a reader can repeat it. */
static void print_command(const struct overview *overview, const struct experiment *experiment, bool is_shared,
                          const struct simulate_options *options)
{
	fprintf(overview->stream, "    e2allocsim %s", experiment->workload);
	if (experiment->compare)
		fprintf(overview->stream, " --compare=%s", experiment->compare);
	else
		fputs(" --orphans=lockless", overview->stream);
	for (size_t column = 0; experiment->threads[0] && column < options->thread_count; column++)
		fprintf(overview->stream, "%s%u", column ? "," : " --threads=", options->threads[column]);
	for (const struct overview_setting *setting = experiment->settings;
	     setting < experiment->settings + MOST_SETTINGS && setting->name; setting++) {
		uint64_t value = value_of(overview, setting, is_shared);

		if (value)
			fprintf(overview->stream, " --%s=%llu", setting->name, (unsigned long long)value);
	}
	if (options->repeats > 1)
		fprintf(overview->stream, " --repeat=%u", options->repeats);
	fprintf(overview->stream, " disk%s\n\n", experiment->compare ? "" : "    # and locked, none");
}

/* Each kind of orphans as if it were a configuration. */
static errcode_t simulate_orphans(struct simulate_options *options, struct setting *settings,
                                  struct configuration *configurations, struct measurement **ret,
                                  struct problem *problem)
{
	SCOPE_FREE struct measurement *all = calloc(ORPHAN_KINDS * options->thread_count, sizeof(*all));
	struct setting *kind_setting = workload_setting(options->workload, settings, "orphans");

	if (!all)
		return ENOMEM;
	for (size_t kind = 0; kind < ORPHAN_KINDS; kind++) {
		SCOPE_FREE struct measurement *some = NULL;
		size_t count;

		kind_setting->number = kind;
		configurations[kind].options = configurations[0].options;
		snprintf(configurations[kind].name, sizeof(configurations[kind].name), "%s", orphan_kinds[kind]);
		options->configurations = &configurations[kind];
		errcode_t error = simulate(options, &some, &count, problem);

		if (error)
			return error;
		memcpy(&all[kind * options->thread_count], some, count * sizeof(*some));
	}
	options->configurations = configurations;
	options->configuration_count = ORPHAN_KINDS;
	*ret = TAKE(all);
	return 0;
}

static errcode_t print_experiment(const struct overview *overview, const struct experiment *experiment,
                                  const struct simulate_options *options, const struct measurement *measurements)
{
	const char *directory = overview->options->directory;

	fprintf(overview->stream, "\n## %s\n\n%s\n\n", experiment->title, experiment->intent);
	print_command(overview, experiment, false, options);
	report_tables(overview->stream, options, measurements, options->configuration_count * options->thread_count);
	for (size_t index = 0; index < MOST_CHARTS && experiment->charts[index].name; index++) {
		const struct overview_chart *chart = &experiment->charts[index];
		errcode_t error = overview_chart_write(directory, chart, options, measurements, overview->problem);

		if (error)
			return error;
		fprintf(overview->stream, "\n![%s](allocsim-%s.svg)\n", chart->title, chart->name);
	}
	return flush_output(overview->stream);
}

/* Whether disks are compared with other settings than those of the experiment itself. */
static bool has_shared_setting(const struct experiment *experiment)
{
	for (size_t index = 0; index < MOST_SETTINGS; index++)
		if (experiment->settings[index].shared)
			return true;
	return false;
}

/* The values of the experiment's charts, each with a column for each disk; `fresh` was measured on the first one. */
static errcode_t compare_disks(const struct overview *overview, const struct experiment *experiment,
                               struct simulate_options *options, struct setting *settings, struct measurement *fresh)
{
	unsigned int first = has_shared_setting(experiment) ? 0 : 1;
	struct measurement *on_disk[OVERVIEW_DISKS] = { first ? fresh : NULL };
	errcode_t error = 0;
	size_t count;

	take_settings(overview, experiment, true, options->workload, settings);
	for (unsigned int number = first; !error && number < OVERVIEW_DISKS; number++) {
		options->image = overview->disks.list[number].path;
		options->image_file = overview->disks.list[number].output.work_path;
		error = simulate(options, &on_disk[number], &count, overview->problem);
	}
	if (!error) {
		fputs("\n### The same on disks that are fresh, half full and aged\n\n", overview->stream);
		print_command(overview, experiment, true, options);
		for (size_t index = 0; index < MOST_CHARTS && experiment->charts[index].name; index++)
			overview_disks_table(overview->stream, experiment->charts[index].key, options, on_disk);
		error = flush_output(overview->stream);
	}
	for (unsigned int number = first; number < OVERVIEW_DISKS; number++)
		free(on_disk[number]);
	return error;
}

static errcode_t run_experiment(const struct overview *overview, const struct experiment *experiment)
{
	static const unsigned int turns[] = { 0 };
	struct setting settings[WORKLOAD_MOST_OPTIONS] = { 0 };
	const struct policy_options allocator = { .allocator.struct_bytes = sizeof(struct ext2mb_options) };
	SCOPE_FREE struct configuration *configurations = NULL;
	SCOPE_FREE struct measurement *measurements = NULL;
	struct simulate_options options = {
		.image = overview->disks.list[0].path,
		.image_file = overview->disks.list[0].output.work_path,
		.workload = workload_find(experiment->workload),
		.settings = settings,
		.threads = experiment->threads[0] ? experiment->threads : turns,
		.thread_count = experiment->threads[0] ? 0 : 1,
		.online_processors = overview->options->online_processors,
		.repeats = repeats_of(overview, experiment),
		.processors = SUPPOSED_PROCESSORS,
		.seed = overview->options->seed,
		.dry_run = true,
		.progress = overview->progress,
	};
	size_t count;

	while (options.thread_count < MOST_THREADS && experiment->threads[options.thread_count])
		options.thread_count++;
	take_settings(overview, experiment, false, options.workload, settings);
	errcode_t error =
		configuration_list(experiment->comparison, &allocator, &configurations, &options.configuration_count);
	if (error)
		return error;
	options.configurations = configurations;
	if (experiment->compare)
		error = simulate(&options, &measurements, &count, overview->problem);
	else
		error = simulate_orphans(&options, settings, configurations, &measurements, overview->problem);
	if (!error)
		error = print_experiment(overview, experiment, &options, measurements);
	return error || !experiment->is_layout ? error : compare_disks(overview, experiment, &options, settings, measurements);
}

/* Not all architectures say it. */
static void print_model(FILE *stream)
{
	SCOPE_FCLOSE FILE *information = fopen("/proc/cpuinfo", "re");
	SCOPE_FREE char *line = NULL;
	size_t capacity = 0;

	while (information && getline(&line, &capacity, information) > 0) {
		const char *colon = strchr(line, ':');

		if (strncmp(line, "model name", strlen("model name")) != 0 || !colon)
			continue;
		fprintf(stream, " (%.*s)", (int)strcspn(colon + 2, "\n"), colon + 2);
		return;
	}
}

/* On what machine, when, and how busy it is. */
static void print_machine(FILE *stream, unsigned int online_processors)
{
	time_t now = time(NULL);
	struct utsname system;
	struct tm date;
	double load[1];

	if (gmtime_r(&now, &date))
		fprintf(stream, "%04d-%02d-%02d, ", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
	fprintf(stream, "%u processor%s", online_processors, online_processors == 1 ? "" : "s");
	print_model(stream);
	if (uname(&system) == 0)
		fprintf(stream, ", %s %s %s", system.sysname, system.release, system.machine);
	if (getloadavg(load, 1) == 1)
		fprintf(stream, "; load at the beginning %.1f", load[0]);
	if (sched_getscheduler(0) == SCHED_FIFO || sched_getscheduler(0) == SCHED_RR)
		fputs("; run with real-time priority, so the load had little of the processors", stream);
	fputs(".\n", stream);
}

/* Sparse: 8 MiB to begin with, and none of the runs writes to it. */
static const char *size_of(const struct overview_options *options)
{
	return options->is_quick ? "24G" : "200G";
}

static void print_head(const struct overview *overview)
{
	fputs("# e2allocsim: all workloads\n\n", overview->stream);
	print_machine(overview->stream, overview->options->online_processors);
	fprintf(overview->stream,
	        "\nMade by `e2allocsim all --report=DIR%s`, seed %llu. Every command below is for an image of the first "
	        "line, where nothing else is said; the others make disks that are half full, and old:\n\n",
	        overview->options->is_quick ? " --quick" : "", (unsigned long long)overview->options->seed);
	overview_disks_print_commands(overview->stream, size_of(overview->options));
	fputs("\nWhere a value comes from stands beside it: **layout** was counted in the metadata of the image (where "
	      "streams take turns in one thread, in seeded order, the interleaving is simulated), **counted** are "
	      "events in the allocator, **measured** is by the clock of this machine, with other work on it if there "
	      "was any, **fitted** is what the universal scalability law makes of measured points that had a "
	      "processor for each thread, and **modelled** what a disk of 2014 would take for what lies where: models, "
	      "nothing measured.\n",
	      overview->stream);
}

static errcode_t write_page(void *context, FILE *stream)
{
	struct overview *overview = context;
	errcode_t error = progress_start(stderr, overview->options->progress, &overview->progress);

	overview->stream = stream;
	if (!error)
		error = overview_disks_make(&overview->disks, overview->options->directory, size_of(overview->options),
		                            overview->options->seed, overview->progress, overview->problem);
	print_head(overview);
	for (size_t index = 0; !error && index < EXPERIMENTS; index++)
		error = interrupt_pending() ? EINTR : run_experiment(overview, &experiments[index]);
	progress_end(overview->progress);
	return error ? error : flush_output(stream);
}

errcode_t overview_write(const struct overview_options *options, struct problem *problem)
{
	SCOPE_FREE char *page = NULL;
	struct overview overview = { .options = options, .problem = problem };

	if (asprintf(&page, "%s/allocsim.md", options->directory) < 0)
		return problem_set(problem, ENOMEM, options->directory, "cannot make a report");
	if (mkdir(options->directory, 0777) && errno != EEXIST)
		return problem_set(problem, errno, options->directory, "cannot make the directory for the report");
	errcode_t error = text_file_write(page, write_page, &overview, "cannot write the report", problem);

	overview_disks_close(&overview.disks);
	if (error)
		interrupt_explain(page, problem);
	return error;
}
