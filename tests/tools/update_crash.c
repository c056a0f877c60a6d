/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * update_crash [-p POINTS] [-s SEED] [-c EVERY] [-l BLOCKS] [-a] [-w TWIN] IMAGE SOURCE
 *
 * Updates IMAGE to what SOURCE holds, as e2update --mirror does, and crashes at POINTS random moments: only a prefix of
 * what was written is on the disk, of what came after the last flush all, a part, torn sectors, or a part in another
 * order. After e2fsck's replay the filesystem must be clean, and each file, with its contents and metadata, that of
 * before or that of after the update; with -a (--atomic) all of them are one of these. On each EVERYth disk the same
 * update is made again, and must complete it. A transaction logs about BLOCKS. TWIN is a fault that has to be found:
 * without-flush. Exit status 1: something was wrong.
 */
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "crash_judge.h"
#include "crash_points.h"
#include "file_digests.h"
#include "recorded_disk.h"
#include "support/cleanup.h"
#include "transaction/channel.h"
#include "ext2fs/ext2mb.h"
#include "update/update.h"

struct options {
	unsigned long points, every, log_blocks;
	uint64_t seed;
	const char *twin, *image, *source;
	bool is_atomic;
};

struct run {
	const struct options *options;
	struct crash_judge judge;
	struct crash_disk disk;
	struct file_digests old, new;
	char *path; /* of the judge's file */
	unsigned long failures;
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
	};
	struct update_report report = { 0 };
	struct problem problem = { 0 };
	errcode_t error = update(&update_options, NULL, NULL, &report, &problem);

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

/* NULL, or what is wrong. */
static const char *judge_disk(struct run *run, bool again)
{
	const char *problem = crash_judge_replay(&run->judge, run->disk.bytes);
	struct file_digests found;

	if (problem)
		return problem;
	file_digests_read(run->path, &found);
	problem = file_digests_judge(&found, &run->old, &run->new, run->options->is_atomic);
	file_digests_free(&found);
	if (problem || !again)
		return problem;
	/* With its orphans, if it has some: the update releases them, too. */
	memcpy(run->judge.file, run->judge.replayed, run->judge.bytes);
	if (run_update(run->options, run->path, NULL))
		return "the same update cannot be made again";
	memcpy(run->disk.bytes, run->judge.file, run->judge.bytes);
	problem = crash_judge_replay(&run->judge, run->disk.bytes);
	if (problem)
		return problem;
	file_digests_read(run->path, &found);
	problem = file_digests_judge(&found, &run->new, &run->new, true);
	file_digests_free(&found);
	return problem;
}

static void crash(struct run *run)
{
	const struct options *options = run->options;
	struct random random = { options->seed + 1 };

	for (unsigned long point = 0; point < options->points; point++) {
		struct crash_point where = crash_disk_make(&run->disk, &random);
		const char *problem = judge_disk(run, options->every && point % options->every == 0);

		if (!problem)
			continue;
		if (!run->failures++)
			printf("point %lu, %zu of %zu events, %s: %s\n", point, where.end, recorded_disk.count,
			       where.loss, problem);
		/* A twin has been found. */
		if (options->twin)
			return;
	}
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
	struct options options = { .points = 100, .seed = 1, .every = 10 };

	for (int letter; (letter = getopt(argc, argv, "p:s:c:l:aw:")) != -1;)
		switch (letter) {
		case 'p':
			options.points = number(optarg);
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

	run.options = &options;

	initialize_ext2_error_table();
	initialize_e2mb_error_table();
	run.disk.base = recorded_disk_read(options.image, &run.disk.size);
	run.disk.bytes = malloc(run.disk.size);
	if (!run.disk.bytes || asprintf(&run.path, "%s.crashed", options.image) < 0)
		errx(2, "out of memory");
	crash_judge_init(&run.judge, run.path, run.disk.base, run.disk.size);
	file_digests_read(options.image, &run.old);
	if (options.twin && !strcmp(options.twin, "without-flush"))
		recorded_disk.fault = DISK_WITHOUT_FLUSH;
	if (run_update(&options, options.image, recording_manager()))
		return 2;
	file_digests_read(options.image, &run.new);
	crash(&run);
	printf("%lu points, %lu wrong\n", options.points, run.failures);
	return run.failures ? 1 : 0;
}
