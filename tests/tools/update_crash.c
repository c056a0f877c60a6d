/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * update_crash [-p POINTS] [-k KILLS] [-s SEED] [-c EVERY] [-l BLOCKS] [-j JOBS] [-a] [-w TWIN] IMAGE SOURCE
 *
 * Updates IMAGE to what SOURCE holds, as e2update --mirror does, and crashes at POINTS random moments: only a prefix of
 * what was written is on the disk, of what came after the last flush all, a part, torn sectors, or a part in another
 * order. IMAGE may have a journal that is to be replayed. After e2fsck's replay the filesystem must be clean, and each
 * file, with its contents and metadata, that of before or that of after the update; with -a (--atomic) all of them are
 * one of these. On each EVERYth disk the same update is made again, and must complete it. A transaction logs about
 * BLOCKS. Then e2update itself is killed at KILLS random moments, and what it leaves in the page cache has to be as
 * good. JOBS processes share the work, and the points are the same for any number of them. TWIN is a fault that has to
 * be found: without-flush. Exit status 1: something was wrong.
 */
#include <err.h>
#include <getopt.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash_judge.h"
#include "crash_points.h"
#include "file_digests.h"
#include "recorded_disk.h"
#include "support/cleanup.h"
#include "support/seconds.h"
#include "transaction/channel.h"
#include "ext2fs/ext2mb.h"
#include "update/update.h"

extern char **environ;

struct options {
	unsigned long points, kills, every, log_blocks, jobs;
	uint64_t seed;
	const char *twin, *image, *source;
	bool is_atomic;
};

/* All jobs add to it, in memory that they share. */
struct tally {
	unsigned long failures, killed;
};

struct run {
	const struct options *options;
	struct tally *tally;
	unsigned long job;
	struct crash_judge judge;
	struct crash_disk disk;
	struct file_digests old, new;
	char *path; /* of the judge's file */
};
static const struct channel_manager *manager_of_channels;

static errcode_t open_channel(const char *name, int flags, io_channel *channel)
{
	return channel_open(name, flags, manager_of_channels, channel);
}

static io_manager recording_manager(void)
{
	static struct struct_io_manager functions;
	static const struct channel_manager manager = { .functions = &functions, .backing = &recorded_disk_manager };

	manager_of_channels = &manager;
	functions = channel_functions(open_channel);
	return &functions;
}

static errcode_t run_update(const struct options *options, const char *image, io_manager manager)
{
	const struct update_options update_options = {
		.image = image,
		.sources = &options->source,
		.source_count = 1,
		.layering.keeping = WHITEOUTS_AS_MARKS,
		.mirrors = true,
		.is_atomic = options->is_atomic,
		.threads = 2,
		.memory_bytes = 1 << 20,
		.limits = { .path_bytes = SOURCE_LIMITS_PATH_BYTES, .names = SOURCE_LIMITS_NAMES },
		.most_logged_blocks = options->log_blocks,
		.manager = manager,
		.disk = manager ? recorded_disk_manager : NULL,
	};
	struct update_report report = { 0 };
	struct problem problem = { 0 };
	errcode_t error = update(&update_options, NULL, NULL, NULL, &report, &problem);

	if (error) {
		SCOPE_FREE char *text = problem_text(&problem);

		warnx("%s", text);
	} else if (manager) {
		printf("%llu transactions, %llu blocks logged\n", (unsigned long long)report.commits,
		       (unsigned long long)report.logged_blocks);
	}
	update_report_clear(&report);
	problem_clear(&problem);
	return error;
}

/* NULL, or what is wrong with the files of the judge's file. */
static const char *judge_files(const struct run *run, enum digest_states states)
{
	struct file_digests found;

	file_digests_read(run->path, &found);
	const char *problem = file_digests_judge(&found, &run->old, &run->new, states);

	file_digests_free(&found);
	return problem;
}

typedef bool (*update_function)(const struct run *run);

/* again: the same update is made once more; NULL: it is not. */
static const char *judge_disk(struct run *run, update_function again)
{
	enum digest_states states = run->options->is_atomic ? STATE_ALL_OLD_OR_ALL_NEW : STATE_OLD_OR_NEW;
	bool is_torn = crash_judge_is_torn(run->disk.bytes);
	const char *problem = is_torn ? crash_judge_mend(&run->judge, run->disk.bytes) :
	                                crash_judge_replay(&run->judge, run->disk.bytes);

	/* e2fsck mends with a backup of the superblock, in which the update's orphans are not. */
	if (!problem && !is_torn)
		problem = judge_files(run, states);
	if (problem || !again)
		return problem;
	/* The update itself replays the journal, mends the superblock and releases orphans. */
	memcpy(run->judge.file, run->disk.bytes, run->judge.bytes);
	if (!again(run))
		return "the same update cannot be made again";
	memcpy(run->disk.bytes, run->judge.file, run->judge.bytes);
	problem = crash_judge_replay(&run->judge, run->disk.bytes);
	return problem ? problem : judge_files(run, STATE_NEW);
}

/* Counts a point or a kill that went wrong; the first one of all jobs is shown. */
static void note(struct run *run, const char *what, unsigned long number, const char *where, const char *problem)
{
	if (!__atomic_fetch_add(&run->tally->failures, 1, __ATOMIC_RELAXED)) {
		printf("%s %lu, %s: %s\n", what, number, where, problem);
		fflush(stdout);
	}
}

/* --- Crashes ------------------------------------------------------------------------------------------------------ */

/* So that each point can be had alone, and by any job. */
static struct random random_of(const struct options *options, unsigned long number)
{
	struct random random = { options->seed + 1 };

	random.state = random_next(&random) ^ number;
	random.state = random_next(&random);
	return random;
}

static bool update_file(const struct run *run)
{
	return !run_update(run->options, run->path, NULL);
}

static void crash(struct run *run)
{
	const struct options *options = run->options;

	for (unsigned long point = run->job; point < options->points; point += options->jobs) {
		struct random random = random_of(options, point);
		struct crash_point where = crash_disk_make(&run->disk, &random);
		bool is_completed = options->every && point % options->every == 0;
		const char *problem = judge_disk(run, is_completed ? update_file : NULL);
		char text[128];

		if (problem) {
			snprintf(text, sizeof(text), "%zu of %zu events, %s", where.end, recorded_disk.count,
			         where.loss);
			note(run, "point", point, text, problem);
		}
		/* A twin has been found. */
		if (options->twin && run->tally->failures)
			return;
	}
}

/* --- Kills -------------------------------------------------------------------------------------------------------- */

/* The real program, which reads the file's name as a path of its own. */
static pid_t start_program(const struct run *run)
{
	const struct options *options = run->options;
	char *arguments[] = { "e2update",
		              "-q",
		              "--mirror",
		              "-d",
		              (char *)options->source,
		              run->path,
		              options->is_atomic ? "--atomic" : NULL,
		              NULL };
	pid_t process;

	if (posix_spawnp(&process, arguments[0], NULL, NULL, arguments, environ))
		err(2, "%s", arguments[0]);
	return process;
}

static int end_of(pid_t process)
{
	int status;

	if (waitpid(process, &status, 0) < 0)
		err(2, "waitpid");
	return status;
}

static bool update_by_program(const struct run *run)
{
	int status = end_of(start_program(run));

	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void kill_program(struct run *run, unsigned long number, double seconds)
{
	struct random random = random_of(run->options, run->options->points + number);
	unsigned long wait = random_below(&random, (uint64_t)(seconds * 900000) + 1);
	char text[64];

	memcpy(run->judge.file, run->disk.base, run->disk.size);
	pid_t process = start_program(run);

	usleep((useconds_t)wait);
	kill(process, SIGKILL);
	if (WIFSIGNALED(end_of(process)))
		__atomic_fetch_add(&run->tally->killed, 1, __ATOMIC_RELAXED);
	memcpy(run->disk.bytes, run->judge.file, run->disk.size);
	const char *problem = judge_disk(run, update_by_program);

	if (problem) {
		snprintf(text, sizeof(text), "after %lu us", wait);
		note(run, "kill", number, text, problem);
	}
}

static void kill_programs(struct run *run)
{
	double seconds = 0;

	for (unsigned long number = run->job; number < run->options->kills; number += run->options->jobs) {
		double begin = seconds_of(CLOCK_MONOTONIC);

		/* How long it takes may change with what else the machine does. */
		memcpy(run->judge.file, run->disk.base, run->disk.size);
		if (!update_by_program(run))
			errx(2, "e2update fails");
		seconds = seconds_of(CLOCK_MONOTONIC) - begin;
		kill_program(run, number, seconds);
	}
}

/* --- Jobs --------------------------------------------------------------------------------------------------------- */

static void do_job(struct run *run)
{
	run->disk.bytes = malloc(run->disk.size);
	if (!run->disk.bytes || asprintf(&run->path, "%s.crashed.%lu", run->options->image, run->job) < 0)
		errx(2, "out of memory");
	crash_judge_init(&run->judge, run->path, run->disk.base, run->disk.size);
	crash(run);
	kill_programs(run);
	unlink(run->path);
}

static void start_jobs(struct run *run)
{
	unsigned long jobs = run->options->jobs;
	bool is_well = true;

	if (jobs == 1) {
		do_job(run);
		return;
	}
	fflush(stdout);
	for (run->job = 0; run->job < jobs; run->job++) {
		pid_t process = fork();

		if (process < 0)
			err(2, "fork");
		if (!process) {
			do_job(run);
			fflush(stdout);
			_exit(0);
		}
	}
	for (int status; wait(&status) > 0;)
		is_well = is_well && WIFEXITED(status) && !WEXITSTATUS(status);
	if (!is_well)
		errx(2, "a job has failed");
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || end == text)
		errx(2, "%s: not a number", text);
	return value;
}

static struct options read_options(int argc, char **argv)
{
	struct options options = { .points = 100, .seed = 1, .every = 10, .jobs = 1 };

	for (int letter; (letter = getopt(argc, argv, "p:k:s:c:l:j:aw:")) != -1;)
		switch (letter) {
		case 'p':
			options.points = number(optarg);
			break;
		case 'k':
			options.kills = number(optarg);
			break;
		case 'j':
			options.jobs = number(optarg);
			break;
		case 's':
			options.seed = number(optarg);
			break;
		case 'c':
			options.every = number(optarg);
			break;
		case 'l':
			options.log_blocks = number(optarg);
			break;
		case 'a':
			options.is_atomic = true;
			break;
		case 'w':
			options.twin = optarg;
			break;
		default:
			exit(2);
		}
	if (!options.jobs)
		errx(2, "-j: 0 jobs");
	if (optind + 2 != argc)
		errx(2, "IMAGE and SOURCE are missing");
	options.image = argv[optind];
	options.source = argv[optind + 1];
	return options;
}

int main(int argc, char **argv)
{
	const struct options options = read_options(argc, argv);
	/* Static, so that what it has until the end is no leak to a sanitizer. */
	static struct run run;
	struct stat status;

	run.options = &options;
	run.tally = mmap(NULL, sizeof(*run.tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run.tally == MAP_FAILED)
		err(2, "mmap");
	initialize_ext2_error_table();
	initialize_e2mb_error_table();
	run.disk.tears_super = true;
	run.disk.base = recorded_disk_read(options.image, &run.disk.size);
	file_digests_read(options.image, &run.old);
	if (options.twin && !strcmp(options.twin, "without-flush"))
		recorded_disk.fault = DISK_WITHOUT_FLUSH;
	if (run_update(&options, options.image, recording_manager()))
		return 2;
	/* One that grows is a copy that takes its place: there would be nothing to cut off. */
	if (stat(options.image, &status) || (uint64_t)status.st_size != run.disk.size)
		errx(2, "%s has grown: make it with more free space", options.image);
	file_digests_read(options.image, &run.new);
	start_jobs(&run);
	printf("%lu points, %lu kills, %lu in time\n%lu wrong\n", options.points, options.kills, run.tally->killed,
	       run.tally->failures);
	return run.tally->failures ? 1 : 0;
}
