/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/overview/overview.h"

#include <errno.h>
#include <libgen.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "analyze/forms/page.h"
#include "simulate/overview/overview_charts.h"
#include "simulate/overview/overview_disks.h"
#include "simulate/overview/overview_document.h"
#include "simulate/results/report.h"
#include "simulate/simulate.h"
#include "support/io/whole_io.h"
#include "support/run/interrupt.h"
#include "support/text/units.h"

#define SUPPOSED_PROCESSORS 64
#define MEASURED_REPEATS 3 /* runs; the median is shown */
#define MOST_THREADS 8
#define MOST_CHARTS 3
#define MOST_SETTINGS 4
#define WORDS_BYTES 128

struct overview_setting {
	const char *name; /* name of the workload's option; NULL after the last one */
	uint64_t full, quick;
	uint64_t shared; /* value for comparing disks, some of which have less room; 0: as above */
};

struct experiment {
	const char *title, *workload;
	const char *intent; /* a sentence or two in Markdown */
	enum comparison comparison;
	const char *compare;                /* as on the command line */
	unsigned int threads[MOST_THREADS]; /* up to the second 0; so {} is taking turns */
	struct overview_setting settings[MOST_SETTINGS];
	unsigned int disk; /* the disk, of overview_disks.h, of its own table */
	bool is_layout;    /* depends on the disk, so it runs on all disks of overview_disks.h */
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
		.disk = OVERVIEW_HALF_FULL, /* the disks of 2014 were in use */
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
		.comparison = COMPARE_ORPHANS,
		.compare = "orphans",
		.threads = { 1, 2, 8, 32, 128 },
		.settings = { { "file-size", 256 << 10, 4 << 10 } },
		.charts = { { "truncate", "truncate: truncations per second, all threads (measured)", "ops", false } },
	},
	{
		.title = "creat_clo: create and close",
		.workload = "creat_clo",
		.intent = "The same list, 100 000 times each, *measured*.",
		.comparison = COMPARE_ORPHANS,
		.compare = "orphans",
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
		/* The smallest number for which rm(1) sorts by inode number, as we do. */
		.settings = { { "files", 725000, 2000 }, { "directories", 10001, 50 } },
		.is_layout = true,
		.charts = { { "unlink", "unlink: block bitmaps that the files of a directory lie in (layout)",
	                      "bitmaps_per_directory", false },
	                    { "unlink-writes", "unlink: block bitmap writes while deleting (layout)", "bitmap_writes",
	                      false } },
	},
};

#define EXPERIMENTS (sizeof(experiments) / sizeof(*experiments))

extern const char overview_html[], overview_css[], chart_css[];

struct overview {
	const struct overview_options *options;
	const char *directory; /* of the images and the Markdown */
	struct overview_disks disks;
	struct document document;
	FILE *stream; /* the document's */
	struct progress *progress;
	struct problem *problem;
};

static uint64_t value_of(const struct overview *overview, const struct overview_setting *setting, bool is_shared)
{
	if (overview->options->is_quick)
		return setting->quick;
	return is_shared && setting->shared ? setting->shared : setting->full;
}

static void copy_settings(const struct overview *overview, const struct experiment *experiment, bool is_shared,
                          const struct workload *workload, struct setting *settings)
{
	workload_preset(workload, settings);
	for (const struct overview_setting *setting = experiment->settings;
	     setting < experiment->settings + MOST_SETTINGS && setting->name; setting++)
		workload_setting(workload, settings, setting->name)->number = value_of(overview, setting, is_shared);
}

/* Results of threads differ from run to run, by half with runs of a second; layouts without threads are always the
 * same. */
static unsigned int repeats_of(const struct overview *overview, const struct experiment *experiment)
{
	return experiment->threads[0] && !overview->options->is_quick ? MEASURED_REPEATS : 1;
}

/* Prints the command, so that a reader can repeat the run. */
static void print_command(const struct overview *overview, const struct experiment *experiment, bool is_shared,
                          const struct simulate_options *options)
{
	fprintf(overview->stream, "    e2allocsim %s", experiment->workload);
	fprintf(overview->stream, " --compare=%s", experiment->compare);
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
	fputs(" disk\n\n", overview->stream);
}

/* "fresh, 200.0 GiB of ext4 in blocks of 4096 bytes". */
static void name_disk(const struct overview *overview, const char *title, char words[WORDS_BYTES])
{
	const struct report_filesystem *filesystem = &overview->disks.list[0].filesystem;

	snprintf(words, WORDS_BYTES, "%s, %s of ext4 in blocks of %u bytes", title,
	         units_bytes(filesystem->blocks * filesystem->block_bytes).text, filesystem->block_bytes);
}

/* Describes the run in one sentence: a heading names only the purpose. */
static void print_run(const struct overview *overview, const struct simulate_options *options, const char *disk)
{
	FILE *stream = overview->stream;

	fprintf(stream, "**Run:** workload %s. Disk: %s. Compared:", options->workload->name, disk);
	for (size_t row = 0; row < options->configuration_count; row++)
		fprintf(stream, "%s *%s*", row ? ";" : "", options->configurations[row].name);
	if (!options->threads[0])
		fprintf(stream, ". Streams take turns in one thread, seed %llu", (unsigned long long)options->seed);
	for (size_t column = 0; options->threads[0] && column < options->thread_count; column++)
		fprintf(stream, "%s %u", column ? "," : ". Threads:", options->threads[column]);
	if (options->repeats > 1)
		fprintf(stream, ". Medians of %u runs", options->repeats);
	fputs(".\n\n", stream);
}

static errcode_t put_charts(struct overview *overview, const struct experiment *experiment,
                            const struct chart_subject *subject)
{
	errcode_t error = 0;

	for (size_t index = 0; !error && index < MOST_CHARTS && experiment->charts[index].name; index++)
		error = overview_chart_put(&experiment->charts[index], subject, overview->directory,
		                           &overview->document, overview->problem);
	return error;
}

static errcode_t print_experiment(struct overview *overview, const struct experiment *experiment,
                                  const struct simulate_options *options, const struct measurement *measurements)
{
	char disk[WORDS_BYTES];
	const struct chart_subject subject = { .options = options, .measurements = measurements, .words = disk };

	name_disk(overview, overview_disk_title(experiment->disk), disk);
	fprintf(overview->stream, "\n## %s%s\n\n%s\n\n", experiment->title,
	        overview->options->is_quick ? " (--quick: far less of it)" : "", experiment->intent);
	print_run(overview, options, disk);
	print_command(overview, experiment, false, options);
	errcode_t error = put_charts(overview, experiment, &subject);

	fputc('\n', overview->stream);
	report_tables(overview->stream, options, measurements, options->configuration_count * options->thread_count);
	return error;
}

/* Whether disks are compared with settings that differ from the experiment's. */
static bool has_shared_setting(const struct experiment *experiment)
{
	for (size_t index = 0; index < MOST_SETTINGS; index++)
		if (experiment->settings[index].shared)
			return true;
	return false;
}

static errcode_t print_disks(struct overview *overview, const struct experiment *experiment,
                             const struct simulate_options *options, struct measurement *const *on_disk)
{
	char disks[WORDS_BYTES];
	const struct chart_subject subject = { .options = options, .on_disk = on_disk, .words = disks };

	name_disk(overview, "fresh, half full and aged", disks);
	fprintf(overview->stream, "\n### %s on disks that are fresh, half full and aged\n\n", options->workload->name);
	print_run(overview, options, disks);
	print_command(overview, experiment, true, options);
	errcode_t error = put_charts(overview, experiment, &subject);

	fputc('\n', overview->stream);
	for (size_t index = 0; index < MOST_CHARTS && experiment->charts[index].name; index++)
		overview_disks_table(overview->stream, experiment->charts[index].key, options, on_disk);
	return error;
}

/* Prints the values of the experiment's charts, with a column for each disk; `fresh` was measured on the first one. */
static errcode_t compare_disks(struct overview *overview, const struct experiment *experiment,
                               struct simulate_options *options, struct setting *settings, struct measurement *fresh)
{
	unsigned int first = has_shared_setting(experiment) || experiment->disk ? 0 : 1;
	struct measurement *on_disk[OVERVIEW_DISKS] = { first ? fresh : NULL };
	errcode_t error = 0;
	size_t count;

	copy_settings(overview, experiment, true, options->workload, settings);
	for (unsigned int number = first; !error && number < OVERVIEW_DISKS; number++) {
		options->image = overview->disks.list[number].path;
		options->image_file = overview->disks.list[number].output.work_path;
		error = simulate(options, &on_disk[number], &count, overview->problem);
	}
	if (!error)
		error = print_disks(overview, experiment, options, on_disk);
	for (unsigned int number = first; number < OVERVIEW_DISKS; number++)
		free(on_disk[number]);
	return error;
}

static errcode_t run_experiment(struct overview *overview, const struct experiment *experiment)
{
	static const unsigned int turns[] = { 0 };
	struct setting settings[WORKLOAD_MOST_OPTIONS] = { 0 };
	const struct policy_options allocator = { .allocator.struct_bytes = sizeof(struct ext2mb_options) };
	SCOPE_FREE struct configuration *configurations = NULL;
	SCOPE_FREE struct measurement *measurements = NULL;
	struct simulate_options options = {
		.image = overview->disks.list[experiment->disk].path,
		.image_file = overview->disks.list[experiment->disk].output.work_path,
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
	copy_settings(overview, experiment, false, options.workload, settings);
	errcode_t error =
		configuration_list(experiment->comparison, &allocator, &configurations, &options.configuration_count);
	if (error)
		return error;
	options.configurations = configurations;
	error = simulate(&options, &measurements, &count, overview->problem);
	/* A reader has no use for the disk's place on this machine. */
	options.image = overview_disk_title(experiment->disk);
	if (!error)
		error = print_experiment(overview, experiment, &options, measurements);
	return error || !experiment->is_layout ? error :
	                                         compare_disks(overview, experiment, &options, settings, measurements);
}

/* Not all architectures have the model name. */
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

/* Prints the machine, the date, and the load. */
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

/* The size of the images, which are sparse: 8 MiB at first, and no run writes to them. */
static const char *size_of(const struct overview_options *options)
{
	return options->is_quick ? "24G" : "200G";
}

/* Writes links to the sections; only the page has them. */
static errcode_t put_contents(struct overview *overview)
{
	FILE *page = overview->document.page;
	errcode_t error = document_flush(&overview->document);

	if (error || !page)
		return error;
	fputs("<nav>\n", page);
	for (size_t index = 0; index < EXPERIMENTS; index++)
		fprintf(page, "<a href=\"#%s\">%s</a>\n", experiments[index].workload, experiments[index].workload);
	fputs("</nav>\n", page);
	return 0;
}

static errcode_t print_head(struct overview *overview)
{
	fputs("# e2allocsim: all workloads\n\n", overview->stream);
	print_machine(overview->stream, overview->options->online_processors);
	errcode_t error = put_contents(overview);

	fprintf(overview->stream,
	        "\nMade by `e2allocsim all%s`, seed %llu. Every command below is for a disk that is made anew by the "
	        "first of "
	        "these, where nothing else is said:\n\n",
	        overview->options->is_quick ? " --quick" : "", (unsigned long long)overview->options->seed);
	overview_disks_print(&overview->disks, overview->stream, size_of(overview->options));
	fputs("\nWhere a value comes from stands beside it: **layout** was counted in the metadata of the image (where "
	      "streams take turns in one thread, in seeded order, the interleaving is simulated), **counted** are "
	      "events in the allocator, **measured** is by the clock of this machine, with other work on it if there "
	      "was any, **fitted** is what the universal scalability law makes of measured points that had a "
	      "processor for each thread, and **modelled** what a disk of 2014 would take for what lies where: models, "
	      "nothing measured.\n\n",
	      overview->stream);
	overview_chart_legend(&overview->document);
	return error;
}

static errcode_t write_experiments(struct overview *overview)
{
	errcode_t error = progress_start(stderr, overview->options->progress, &overview->progress);

	if (!error)
		error = overview_disks_make(&overview->disks, overview->directory, size_of(overview->options),
		                            overview->options->seed, overview->progress, overview->problem);
	if (!error)
		error = print_head(overview);
	for (size_t index = 0; !error && index < EXPERIMENTS; index++)
		error = interrupt_pending() ? EINTR : run_experiment(overview, &experiments[index]);
	progress_end(overview->progress);
	return error;
}

/* Runs everything once and writes all wanted documents. */
static errcode_t write_all(struct overview *overview, FILE *markdown, FILE *page)
{
	errcode_t error = document_open(markdown, page, &overview->document);

	if (error)
		return error;
	overview->stream = overview->document.text;
	error = write_experiments(overview);
	errcode_t close_error = document_close(&overview->document);

	return error ? error : close_error;
}

struct page {
	struct overview *overview;
	FILE *markdown, *stream;
};

static errcode_t write_part(void *context, const char *name)
{
	struct page *page = context;

	if (strcmp(name, "document") == 0)
		return write_all(page->overview, page->markdown, page->stream);
	fputs(strcmp(name, "charts") == 0 ? chart_css : overview_css, page->stream);
	return 0;
}

static errcode_t write_page(void *context, FILE *stream)
{
	struct page *page = context;

	page->stream = stream;
	return page_fill(overview_html, write_part, page, stream);
}

/* Writes the Markdown with the page, if both are wanted. */
static errcode_t write_markdown(void *context, FILE *stream)
{
	struct overview *overview = context;
	struct page page = { .overview = overview, .markdown = stream };

	if (!overview->options->html)
		return write_all(overview, stream, NULL);
	return text_file_write(overview->options->html, write_page, &page, "cannot write the page", overview->problem);
}

static errcode_t write_report(struct overview *overview)
{
	SCOPE_FREE char *path = NULL;

	if (!overview->options->directory)
		return write_markdown(overview, NULL);
	if (asprintf(&path, "%s/allocsim.md", overview->directory) < 0)
		return ENOMEM;
	if (mkdir(overview->directory, 0777) && errno != EEXIST)
		return problem_set(overview->problem, errno, overview->directory,
		                   "cannot make the directory for the report");
	return text_file_write(path, write_markdown, overview, "cannot write the report", overview->problem);
}

errcode_t overview_write(const struct overview_options *options, struct problem *problem)
{
	const char *path = options->directory ? options->directory : options->html;
	SCOPE_FREE char *copy = strdup(path);
	struct overview overview = { .options = options, .problem = problem };

	overview.directory = copy && !options->directory ? dirname(copy) : copy;
	errcode_t error = overview.directory ? write_report(&overview) : ENOMEM;

	overview_disks_close(&overview.disks);
	if (error) {
		problem_set(problem, error, path, "cannot make a report");
		interrupt_explain(path, problem);
	}
	return error;
}
