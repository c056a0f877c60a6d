/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of few blocks on an aged filesystem that is nearly full, beside libext2fs's own searches.
 *
 *   aged_bench age [--runs=tiny|short|mixed] [--full=97] [--seed=1] IMAGE    fills an empty filesystem's block bitmaps
 *   aged_bench run [--rounds=5] [--files=64] [--take=50] [--policy=base|series|ext2mb] [--only=NAME] IMAGE
 *
 * "age" fills the groups to different degrees, and leaves free runs whose lengths are lognormal: tiny: a median of one
 * block, factor 2 for each standard deviation; short: 4 blocks, factor 2^1.5; mixed: 2 blocks (8 KiB), factor 2^3, so
 * that one run in 40 is longer than 128 blocks. Nothing but bitmaps and counts is written; equal seeds give equal
 * images.
 *
 * "run" does not change the image. Each round opens it anew and takes so many percent of what is free. Speeds are of
 * processor time, which a busy machine does not distort; reading the bitmaps is not counted. What takes more than some
 * seconds is cut short.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compare/policies.h"

#define FEW_BLOCKS 8
#define FIRST_INODE 12
#define MOST_ROUNDS 15
#define MOST_SECONDS 3
#define CALLS_PER_LOOK 64 /* at the clock */
#define STEPS 16          /* of a standard deviation and of a power of two: lengths are made of integers alone */

struct settings {
	const char *image;
	const char *only;
	struct policy_options options;
	unsigned int median; /* of the free runs, in steps above one block */
	unsigned int factor; /* steps for each standard deviation */
	unsigned int full;   /* percent */
	unsigned int take;   /* percent of what is free */
	unsigned int rounds;
	unsigned int files;
	uint64_t seed;
};

static void must(errcode_t error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "aged_bench: %s: %s\n", what, error_message(error));
	exit(1);
}

static ext2_filsys open_image(const struct settings *settings, int flags)
{
	ext2_filsys fs;

	must(ext2fs_open(settings->image, flags | EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs), settings->image);
	return fs;
}

/* --- Ageing ------------------------------------------------------------------------------------------------- */

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t value = *state += UINT64_C(0x9e3779b97f4a7c15);

	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

/* Returns a number of a standard normal distribution, approximated by the sum of twelve uniform numbers; in 2^-32. */
static int64_t next_normal(uint64_t *state)
{
	int64_t sum = 0;

	for (unsigned int index = 0; index < 12; index++)
		sum += (int64_t)(next_random(state) >> 32);
	return sum - (INT64_C(6) << 32);
}

/* 2 ^ ((median + factor * normal) / STEPS), between powers of two on straight lines; in 2^-16. */
static uint64_t next_lognormal(uint64_t *state, unsigned int median, unsigned int factor)
{
	int64_t exponent = (((int64_t)median << 32) + factor * next_normal(state)) / STEPS + (INT64_C(16) << 32);

	if (exponent < 0)
		return 0;
	uint64_t whole = (uint64_t)exponent >> 32, part = (uint64_t)exponent & UINT32_MAX;
	return whole > 46 ? UINT64_C(1) << 46 : (UINT64_C(1) << whole) + ((UINT64_C(1) << whole) * (part >> 16) >> 16);
}

struct piece {
	uint32_t free_blocks;
	uint64_t weight; /* of what is in use before it */
};

/* Marks [from, end) but the pieces, what is in use being spread before and after them by their weights. */
static void mark_between(ext2_filsys fs, blk64_t from, uint64_t used, const struct piece *pieces, unsigned int count)
{
	uint64_t weights = 0, weight = 0, done = 0;

	for (unsigned int index = 0; index <= count; index++)
		weights += pieces[index].weight;
	for (unsigned int index = 0; index <= count; index++) {
		weight += pieces[index].weight;
		/* One block at least between any two. */
		uint64_t until = index == count ?
		                         used :
		                         index + (uint64_t)((double)(used - count) * (double)weight / (double)weights);

		if (until > done)
			ext2fs_block_alloc_stats_range(fs, from, (blk_t)(until - done), 1);
		from += until - done + pieces[index].free_blocks;
		done = until;
	}
}

/* Leaves about so many of the group's free blocks free. What mke2fs left free is one run at the group's end. */
static void age_group(ext2_filsys fs, const struct settings *settings, dgrp_t group, uint64_t *state, uint64_t to_leave)
{
	blk64_t from = ext2fs_group_first_block2(fs, group), last = ext2fs_group_last_block2(fs, group);
	struct piece *pieces = calloc(EXT2_BLOCKS_PER_GROUP(fs->super) + 1, sizeof(*pieces));
	unsigned int count = 0;
	uint64_t left = 0;

	if (!pieces || ext2fs_find_first_zero_block_bitmap2(fs->block_map, from, last, &from)) {
		free(pieces);
		return;
	}
	uint64_t room = last + 1 - from;
	for (; left < to_leave && left + count + 2 < room; count++) {
		uint64_t length = (next_lognormal(state, settings->median, settings->factor) + 0x8000) >> 16;
		uint64_t most = to_leave - left < room - left - count - 2 ? to_leave - left : room - left - count - 2;

		length = length ? length : 1;
		pieces[count].free_blocks = (uint32_t)(length < most ? length : most);
		pieces[count].weight = next_lognormal(state, 0, 2 * STEPS);
		left += pieces[count].free_blocks;
		if (!most)
			break;
	}
	pieces[count].free_blocks = 0;
	pieces[count].weight = next_lognormal(state, 0, 2 * STEPS);
	mark_between(fs, from, room - left, pieces, count);
	free(pieces);
}

static int age(const struct settings *settings)
{
	ext2_filsys fs = open_image(settings, EXT2_FLAG_RW);
	uint64_t state = settings->seed;

	must(ext2fs_read_bitmaps(fs), "bitmaps");
	for (dgrp_t group = 0; group < fs->group_desc_count; group++) {
		uint64_t was_free = ext2fs_bg_free_blocks_count(fs, group);
		/* A median of 0.79 and a deviation of a factor of 2 make an average of 1. */
		uint64_t share = next_lognormal(&state, 0, STEPS) * 79 / 100 * (100 - settings->full) / 100;
		uint64_t to_leave = was_free * share >> 16;

		age_group(fs, settings, group, &state, to_leave < was_free ? to_leave : was_free);
	}
	printf("%.2f %% of %llu blocks are in use\n",
	       100.0 - 100.0 * (double)ext2fs_free_blocks_count(fs->super) / (double)ext2fs_blocks_count(fs->super),
	       (unsigned long long)ext2fs_blocks_count(fs->super));
	must(ext2fs_close(fs), "close");
	return 0;
}

/* --- What is measured --------------------------------------------------------------------------------------- */

struct result {
	uint64_t requests; /* that were satisfied as a whole */
	uint64_t calls;
	uint64_t blocks;
	uint64_t extents; /* pieces of a file that lie one after the other are one */
	double seconds;   /* of processor time */
};

static double processor_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* end: where the one before it ended. */
static void count_piece(struct result *result, uint64_t start, uint64_t count, blk64_t *end)
{
	result->calls++;
	result->blocks += count;
	result->extents += start != *end;
	*end = start + count;
}

/* Whether it is to go on until so many blocks are taken. */
static bool goes_on(const struct result *result, uint64_t blocks, double begun)
{
	return result->blocks < blocks && (result->calls % CALLS_PER_LOOK || processor_time() - begun < MOST_SECONDS);
}

static errcode_t ignore(void *context, const char *text, size_t bytes)
{
	(void)context;
	(void)text;
	(void)bytes;
	return 0;
}

struct open_file {
	struct ext2mb_file *file;
	uint64_t logical;
	blk64_t end;
};

static void append(struct ext2mb_worker *worker, struct open_file *open, struct result *result)
{
	uint64_t until = open->logical + FEW_BLOCKS;

	while (open->logical < until) {
		struct ext2mb_file_request request = {
			.struct_bytes = sizeof(request),
			.logical = open->logical,
			.count = until - open->logical,
		};
		struct ext2mb_extent extent;

		must(ext2mb_file_alloc(worker, open->file, &request, &extent), "append");
		count_piece(result, extent.start, extent.count, &open->end);
		open->logical += extent.count;
	}
	result->requests++;
}

static void run_files(struct ext2mb *mb, const struct settings *settings, uint64_t blocks, struct result *result)
{
	struct open_file *files = calloc(settings->files, sizeof(*files));
	struct ext2mb_worker *worker;

	must(ext2mb_worker_open(mb, &worker), "worker");
	for (unsigned int index = 0; files && index < settings->files; index++) {
		struct ext2mb_file_info info = {
			.struct_bytes = sizeof(info),
			.ino = FIRST_INODE + index,
			.parent = EXT2_ROOT_INO,
		};

		must(ext2mb_file_open(worker, &info, &files[index].file), "file");
	}
	double begun = processor_time();
	for (unsigned int turn = 0; goes_on(result, blocks, begun); turn = (turn + 1) % settings->files)
		append(worker, &files[turn], result);
	result->seconds = processor_time() - begun;
	for (unsigned int index = 0; index < settings->files; index++)
		ext2mb_file_close(worker, files[index].file);
	ext2mb_worker_close(worker);
	free(files);
}

/* Without a goal, as many at once. */
static void run_plain(struct ext2mb *mb, uint64_t count, uint64_t blocks, struct result *result)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = count };
	struct ext2mb_worker *worker;
	struct ext2mb_extent extent;
	blk64_t end = 0;

	must(ext2mb_worker_open(mb, &worker), "worker");
	double begun = processor_time();
	while (goes_on(result, blocks, begun)) {
		must(ext2mb_alloc(worker, &request, &extent), "allocate");
		count_piece(result, extent.start, extent.count, &end);
		result->requests += extent.count == count;
	}
	result->seconds = processor_time() - begun;
	ext2mb_worker_close(worker);
}

static void run_few(struct ext2mb *mb, const struct settings *settings, uint64_t blocks, struct result *result)
{
	(void)settings;
	run_plain(mb, FEW_BLOCKS, blocks, result);
}

static void run_single(struct ext2mb *mb, const struct settings *settings, uint64_t blocks, struct result *result)
{
	(void)settings;
	run_plain(mb, 1, blocks, result);
}

/* libext2fs's: the first run after the last one; with EXT2_NEWRANGE_MIN_LENGTH the first that is long enough. */
static void run_new_range(ext2_filsys fs, int flags, uint64_t blocks, struct result *result)
{
	blk64_t start, count, end = 0;
	double begun = processor_time();

	while (goes_on(result, blocks, begun)) {
		if (ext2fs_new_range(fs, flags, end, FEW_BLOCKS, NULL, &start, &count))
			break;
		ext2fs_block_alloc_stats_range(fs, start, (blk_t)count, 1);
		count_piece(result, start, count, &end);
		result->requests += count == FEW_BLOCKS;
	}
	result->seconds = processor_time() - begun;
}

static void run_stock_any(ext2_filsys fs, uint64_t blocks, struct result *result)
{
	run_new_range(fs, 0, blocks, result);
}

static void run_stock_whole(ext2_filsys fs, uint64_t blocks, struct result *result)
{
	run_new_range(fs, EXT2_NEWRANGE_MIN_LENGTH, blocks, result);
}

static void run_stock_free_blocks(ext2_filsys fs, uint64_t blocks, struct result *result)
{
	blk64_t start, end = 0;
	double begun = processor_time();

	while (goes_on(result, blocks, begun) && !ext2fs_get_free_blocks2(fs, end, 0, FEW_BLOCKS, NULL, &start)) {
		ext2fs_block_alloc_stats_range(fs, start, FEW_BLOCKS, 1);
		count_piece(result, start, FEW_BLOCKS, &end);
		result->requests++;
	}
	result->seconds = processor_time() - begun;
}

/* Its caller's goal is the block after the last one. */
static void run_stock_single(ext2_filsys fs, uint64_t blocks, struct result *result)
{
	blk64_t start, end = 0;
	double begun = processor_time();

	while (goes_on(result, blocks, begun) && !ext2fs_new_block3(fs, end, NULL, &start, NULL)) {
		ext2fs_block_alloc_stats2(fs, start, 1);
		count_piece(result, start, 1, &end);
		result->requests++;
	}
	result->seconds = processor_time() - begun;
}

static const struct way {
	const char *name;
	void (*ours)(struct ext2mb *mb, const struct settings *settings, uint64_t blocks, struct result *result);
	void (*stock)(ext2_filsys fs, uint64_t blocks, struct result *result);
	const char *what;
} ways[] = {
	{ "files", run_files, NULL, "ext2mb_file_alloc(): files append 8 blocks in turns" },
	{ "few", run_few, NULL, "ext2mb_alloc(): up to 8 blocks" },
	{ "range", NULL, run_stock_any, "ext2fs_new_range(): up to 8 blocks" },
	{ "whole", NULL, run_stock_whole, "ext2fs_new_range(MIN_LENGTH): 8 blocks" },
	{ "blocks", NULL, run_stock_free_blocks, "ext2fs_get_free_blocks2(): 8 blocks" },
	{ "single", run_single, NULL, "ext2mb_alloc(): 1 block" },
	{ "block", NULL, run_stock_single, "ext2fs_new_block3(): 1 block" },
};

#define WAYS (sizeof(ways) / sizeof(*ways))

static struct result measure(const struct settings *settings, const struct way *way)
{
	ext2_filsys fs = open_image(settings, 0);
	uint64_t blocks = ext2fs_free_blocks_count(fs->super) * settings->take / 100;
	struct result result = { 0 };

	if (way->stock) {
		must(ext2fs_read_bitmaps(fs), "bitmaps");
		way->stock(fs, blocks, &result);
	} else {
		char why[200] = "";
		struct ext2mb *mb;

		must(policy_open(fs, &settings->options, &mb), "open");
		must(ext2mb_write_mb_groups(mb, ignore, NULL), "groups");
		way->ours(mb, settings, blocks, &result);
		must(ext2mb_check(mb, why, sizeof(why)), why);
		ext2mb_close(mb);
	}
	ext2fs_free(fs);
	return result;
}

static int by_seconds(const void *left, const void *right)
{
	const struct result *one = left;
	const struct result *other = right;

	return (one->seconds > other->seconds) - (one->seconds < other->seconds);
}

static int run(const struct settings *settings)
{
	struct result results[WAYS][MOST_ROUNDS];

	for (unsigned int round = 0; round < settings->rounds; round++)
		for (unsigned int index = 0; index < WAYS; index++)
			if (!settings->only || !strcmp(settings->only, ways[index].name))
				results[index][round] = measure(settings, &ways[index]);
	printf("%-50s %11s %8s %8s %8s %8s\n", "", "thousand/s", "ns", "calls", "blocks/", "blocks/");
	printf("%-50s %11s %8s %8s %8s %8s\n", "", "(whole)", "a call", "a block", "call", "extent");
	for (unsigned int index = 0; index < WAYS; index++) {
		if (settings->only && strcmp(settings->only, ways[index].name))
			continue;
		qsort(results[index], settings->rounds, sizeof(**results), by_seconds);
		const struct result *median = &results[index][settings->rounds / 2];

		printf("%-50s %11.1f %8.1f %8.3f %8.2f %8.2f\n", ways[index].what,
		       1e-3 * (double)median->requests / median->seconds, 1e9 * median->seconds / (double)median->calls,
		       (double)median->calls / (double)median->blocks, (double)median->blocks / (double)median->calls,
		       (double)median->blocks / (double)median->extents);
	}
	return 0;
}

static unsigned int number(const char *text, unsigned int least, unsigned int most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || value < least || value > most) {
		fprintf(stderr, "aged_bench: %s: from %u to %u\n", text, least, most);
		exit(2);
	}
	return (unsigned int)value;
}

static void set_runs(struct settings *settings, const char *name)
{
	static const struct {
		const char *name;
		unsigned int median;
		unsigned int factor;
	} runs[] = {
		{ "tiny", 0, STEPS },
		{ "short", 2 * STEPS, 3 * STEPS / 2 },
		{ "mixed", STEPS, 3 * STEPS },
	};

	for (unsigned int index = 0; index < sizeof(runs) / sizeof(*runs); index++) {
		if (strcmp(runs[index].name, name))
			continue;
		settings->median = runs[index].median;
		settings->factor = runs[index].factor;
		return;
	}
	fprintf(stderr, "aged_bench: %s: unknown\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "runs", 1, 0, 'r' },   { "full", 1, 0, 'f' },  { "seed", 1, 0, 's' },
		{ "rounds", 1, 0, 'n' }, { "files", 1, 0, 'F' }, { "take", 1, 0, 't' },
		{ "policy", 1, 0, 'p' }, { "only", 1, 0, 'o' },  { 0 },
	};
	struct settings settings = {
		.full = 97,
		.take = 50,
		.rounds = 5,
		.files = 64,
		.seed = 1,
	};

	initialize_ext2_error_table();
	set_runs(&settings, "mixed");
	for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
		switch (option) {
		case 'r':
			set_runs(&settings, optarg);
			break;
		case 'f':
			settings.full = number(optarg, 1, 99);
			break;
		case 's':
			settings.seed = strtoull(optarg, NULL, 10);
			break;
		case 'n':
			settings.rounds = number(optarg, 1, MOST_ROUNDS);
			break;
		case 'F':
			settings.files = number(optarg, 1, 100000);
			break;
		case 't':
			settings.take = number(optarg, 1, 99);
			break;
		case 'p':
			must(policy_find(optarg, &settings.options.policy), optarg);
			break;
		case 'o':
			settings.only = optarg;
			break;
		default:
			return 2;
		}
	}
	if (optind + 2 != argc || (strcmp(argv[optind], "age") && strcmp(argv[optind], "run")))
		return 2;
	settings.image = argv[optind + 1];
	return strcmp(argv[optind], "age") ? run(&settings) : age(&settings);
}
