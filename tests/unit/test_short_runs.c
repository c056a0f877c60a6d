// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Short free runs first, against a naive bitmap: which run is taken at each step, and when there is a reason to. Then
 * files that grow, by one thread and by many: nobody gets what another one has, and nothing is lost.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ext2fs/core/allocator.h"
#include "ext2fs/group/group.h"
#include "ext2fs/group/group_reserved.h"
#include "ext2fs/search/short_runs.h"
#include "ext2fs/search/stream_goals.h"
#include "mb_image.h"
#include "seeded_random.h"
#include "space.h"
#include "unit.h"

#define MOST_THREADS 16

/* --- Disks that are worn --------------------------------------------------------------------------------------- */

static const struct {
	const char *options;
	const char *size;
	uint32_t short_kib; /* 40 clusters */
} disks[] = {
	{ "-t ext4 -b 1024 -g 1024 -N 256 -O ^resize_inode,^has_journal", "20001K", 40 },
	{ "-t ext4 -b 4096 -g 2048 -N 256 -O ^resize_inode,^has_journal,^flex_bg", "100M", 160 },
	{ "-t ext4 -b 1024 -C 4096 -g 8192 -N 256 -O bigalloc,^resize_inode,^has_journal", "64M", 160 },
};

#define DISKS ((int)(sizeof(disks) / sizeof(*disks)))

static uint64_t next_length(struct random *random)
{
	return 1 + random_below(random, random_below(random, 16) ? 12 : 200);
}

/* All of an extent is freed but a cluster or some after each run. */
static void wear(struct small_image *image, struct random *random, const struct ext2mb_extent *extent)
{
	unsigned int bits = image->mb->geometry.cluster_bits;
	uint64_t count = extent->count >> bits;

	for (uint64_t from = 0, length; from < count; from += length + 1 + random_below(random, 2 * length + 1)) {
		length = next_length(random);
		if (from + length >= count)
			break;
		ck_assert_ok(ext2mb_free(image->worker, extent->start + (from << bits), length << bits));
	}
}

static void open_worn(struct small_image *image, int disk, uint32_t short_kib, struct random *random)
{
	const struct policy_options options = { .has_short_runs = true, .short_run_kib = short_kib };

	mb_image_make(disks[disk].options, disks[disk].size);
	small_image_open_policy(image, &options);
	ck_assert(!short_runs_are_first(image->mb));
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.count = geometry_to_blocks(&image->mb->geometry, image->mb->geometry.clusters_per_group),
		.flags = EXT2MB_ALLOC_PACK,
	};
	struct ext2mb_extent extent;

	while (!ext2mb_alloc(image->worker, &request, &extent))
		wear(image, random, &extent);
	ck_assert_ok(ext2mb_sync(image->mb));
	ck_assert_ok(ext2fs_flush(image->fs));
}

static void close_image(struct small_image *image)
{
	mb_check(image->mb);
	ext2mb_worker_close(image->worker);
	ck_assert_ok(ext2mb_close(image->mb));
	ck_assert_ok(ext2fs_close(image->fs));
}

/* --- The naive bitmap -------------------------------------------------------------------------------------------- */

struct model {
	const struct geometry *geometry;
	uint8_t *used; /* a byte for each cluster */
	uint32_t longest_short;
	uint64_t free_clusters;
};

struct model_group {
	uint32_t free_clusters, fragments;
	struct group_piece first, first_short, longest, first_but_longest; /* count 0: none */
	int largest_order;
};

static uint32_t run_at(const struct model *model, uint32_t group, uint32_t start)
{
	const uint8_t *used = model->used + (uint64_t)group * model->geometry->clusters_per_group;
	uint32_t end = start, clusters = geometry_group_clusters(model->geometry, group);

	while (end < clusters && !used[end])
		end++;
	return end - start;
}

/* Of the aligned blocks that the run has, up to a quarter of a full group. */
static int run_order(const struct model *model, const struct group_piece *run)
{
	int order = -1;

	for (unsigned int bit = 0; bit < model->geometry->block_bits + 2; bit++) {
		uint32_t first = (run->start + (1u << bit) - 1) >> bit << bit;

		if (first + (1u << bit) <= run->start + run->count)
			order = (int)bit;
	}
	return order;
}

static struct model_group examine(const struct model *model, uint32_t number)
{
	struct model_group group = { .largest_order = -1 };
	struct group_piece run = { .group = number };

	for (int pass = 0; pass < 2; pass++) {
		for (run.start = 0; run.start < geometry_group_clusters(model->geometry, number); run.start += run.count + 1) {
			run.count = run_at(model, number, run.start);
			if (!run.count)
				continue;
			if (pass) {
				if (run.start != group.longest.start && !group.first_but_longest.count)
					group.first_but_longest = run;
				continue;
			}
			group.free_clusters += run.count;
			group.fragments++;
			if (!group.first.count)
				group.first = run;
			if (!group.first_short.count && run.count <= model->longest_short)
				group.first_short = run;
			if (run.count > group.longest.count)
				group.longest = run;
			if (run_order(model, &run) > group.largest_order)
				group.largest_order = run_order(model, &run);
		}
	}
	return group;
}

static bool has_short(const struct model *model, const struct model_group *group)
{
	return group->first_short.count && group->free_clusters <= group->fragments * model->longest_short;
}

/* The first short run of all; count 0: there is none. */
static struct group_piece first_short(const struct model *model)
{
	for (uint32_t number = 0; number < model->geometry->groups; number++) {
		struct model_group group = examine(model, number);

		if (has_short(model, &group))
			return group.first_short;
	}
	return (struct group_piece){ 0 };
}

static bool has_many(const struct model *model)
{
	bool many = false;

	for (uint32_t number = 0; number < model->geometry->groups && !many; number++)
		many = examine(model, number).fragments > 1;
	return many;
}

/* Of the groups whose longest run is the shortest by its order, the first from one on: its first run. */
static struct group_piece shortest(const struct model *model, uint32_t from)
{
	uint32_t groups = model->geometry->groups;
	struct group_piece best = { 0 };
	int lowest = INT32_MAX;

	for (uint32_t step = 0; step < groups; step++) {
		struct model_group group = examine(model, (from + step) % groups);

		if (group.free_clusters && group.largest_order < lowest) {
			lowest = group.largest_order;
			best = group.first;
		}
	}
	return best;
}

static bool is_worn(const struct model *model)
{
	for (uint32_t number = 0; number < model->geometry->groups; number++) {
		struct model_group group = examine(model, number);

		if (group.fragments && group.free_clusters / group.fragments >= model->geometry->clusters_per_group / 2)
			return false;
	}
	return true;
}

static void open_model(struct model *model, const struct small_image *image, int disk)
{
	uint64_t count;
	unsigned int cluster_bytes_bits = image->mb->geometry.block_bits + image->mb->geometry.cluster_bits;

	*model = (struct model){
		.geometry = &image->mb->geometry,
		.used = mb_image_read_clusters(&count),
		.longest_short = (disks[disk].short_kib << 10) >> cluster_bytes_bits,
	};
	for (uint64_t cluster = 0; cluster < count; cluster++)
		model->free_clusters += !model->used[cluster];
}

static void mark(struct model *model, uint64_t position, uint32_t count, uint8_t used)
{
	for (uint32_t cluster = 0; cluster < count; cluster++) {
		if (model->used[position + cluster] == used)
			ck_abort_msg("cluster %llu changes twice", (unsigned long long)position + cluster);
		model->used[position + cluster] = used;
	}
	model->free_clusters += used ? -(uint64_t)count : count;
}

/* --- Tests ------------------------------------------------------------------------------------------------------- */

/* As by a file that has been served all of it. */
static void serve(struct small_image *image, struct model *model, uint64_t position, uint32_t taken)
{
	mark(model, position, taken, 1);
	group_reserved_clear(image->mb, position, taken);
	stats_add(&image->worker->stats, COUNT_CLUSTERS_SERVED, taken);
}

static bool is_same(const struct group_piece *one, const struct group_piece *other)
{
	return other->count && one->group == other->group && one->start == other->start;
}

/*
 * Whether the run is one that may be next: until there were none left, the first short one. Then a search may be spared
 * a look for those that there are again; what else it may take is known of each group, and among single runs of all.
 */
static bool may_be_next(const struct model *model, const struct group_piece *run, uint32_t from, bool had_none)
{
	struct group_piece first = first_short(model), last;
	struct model_group group = examine(model, run->group);

	if (is_same(run, &first))
		return true;
	if (!had_none)
		return false;
	if (has_many(model))
		return group.fragments > 1 && is_same(run, has_short(model, &group) && run->start == group.first_short.start ?
		                                                   &group.first_short :
		                                                   &group.first_but_longest);
	last = shortest(model, from);
	return is_same(run, &last);
}

/* All that is free is taken as the naive bitmap has it, whole runs or, of short ones, parts of them. */
START_TEST(test_order)
{
	struct random random = random_start(disks[_i].options);
	struct small_image image;
	struct model model;
	unsigned int runs[2] = { 0 };
	bool had_none = false;

	open_worn(&image, _i, disks[_i].short_kib, &random);
	open_model(&model, &image, _i);
	while (model.free_clusters) {
		struct short_run_request request = { .stream = random_next(&random), .least = 1, .most = UINT32_MAX };
		uint32_t from = image.mb->policy.goals->load(image.mb, request.stream).group, taken;
		uint64_t position;

		had_none |= !first_short(&model).count;
		if (!had_none)
			request.most = 1 + (uint32_t)random_below(&random, 2 * model.longest_short);
		ck_assert(short_runs_are_first(image.mb) == is_worn(&model));
		ck_assert_ok(short_runs_take(image.worker, &request, &position, &taken));
		struct group_piece run = geometry_piece(model.geometry, position, taken);
		if (!may_be_next(&model, &run, from, had_none))
			ck_abort_msg("run %u: %u in group %u should not be taken yet", runs[had_none], run.start,
			             run.group);
		run.count = run_at(&model, run.group, run.start);
		ck_assert_uint_eq(taken, run.count < request.most ? run.count : request.most);
		serve(&image, &model, position, taken);
		runs[had_none]++;
	}
	printf("# %u short runs, then %u others\n", runs[0], runs[1]);
	ck_assert_uint_ge(runs[0], 100);
	ck_assert_uint_ge(runs[1], 5);
	free(model.used);
	close_image(&image);
}
END_TEST

/* With lengths that are at least to be had, a run is long enough or there is none. */
START_TEST(test_least)
{
	struct random random = random_start("least");
	struct small_image image;
	struct model model;

	open_worn(&image, _i, disks[_i].short_kib, &random);
	open_model(&model, &image, _i);
	for (unsigned int failures = 0; failures < 500;) {
		struct short_run_request request = { .least = 1 + (uint32_t)random_below(&random, 32) };
		uint64_t position;
		uint32_t taken;

		request.most = request.least + (uint32_t)random_below(&random, 32);
		errcode_t error = short_runs_take(image.worker, &request, &position, &taken);
		if (error) {
			ck_assert_error(error, EXT2MB_ET_NO_SPACE);
			failures++;
			continue;
		}
		ck_assert_uint_ge(taken, request.least);
		ck_assert_uint_le(taken, request.most);
		serve(&image, &model, position, taken);
	}
	ck_assert_uint_eq(ext2mb_free_blocks(image.mb), geometry_to_blocks(model.geometry, model.free_clusters));
	/* After all those that wanted more, those that take anything find all that is left. */
	while (model.free_clusters) {
		uint64_t position;
		uint32_t taken;

		ck_assert_ok(short_runs_take(image.worker, &(struct short_run_request){ .least = 1, .most = 1024 },
		                             &position, &taken));
		serve(&image, &model, position, taken);
	}
	free(model.used);
	close_image(&image);
}
END_TEST

/* --- Files ------------------------------------------------------------------------------------------------------- */

struct growing {
	struct ext2mb_file *file;
	uint64_t logical, end;
	unsigned int extents;
};

static void open_file(struct small_image *image, ext2_ino_t ino, struct growing *growing)
{
	const struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = ino, .parent = EXT2_ROOT_INO };

	*growing = (struct growing){ 0 };
	ck_assert_ok(ext2mb_file_open(image->worker, &info, &growing->file));
}

static errcode_t append(struct ext2mb_worker *worker, struct growing *growing, uint64_t blocks,
                        struct ext2mb_extent *extent)
{
	const struct ext2mb_file_request request = {
		.struct_bytes = sizeof(request),
		.logical = growing->logical,
		.count = blocks,
		.left_physical = growing->end,
		.flags = EXT2MB_FILE_UNWRITTEN,
	};
	errcode_t error = ext2mb_file_alloc(worker, growing->file, &request, extent);

	if (error)
		return error;
	growing->extents += extent->start != growing->end;
	growing->end = extent->start + extent->count;
	growing->logical += extent->count;
	return 0;
}

/* Extents of a file that grows by a cluster at a time to so many. */
static unsigned int extents_of(uint32_t short_kib, uint64_t clusters, uint64_t step)
{
	struct random random = random_start("file");
	struct small_image image;
	struct growing growing;
	struct ext2mb_extent extent;

	open_worn(&image, 1, short_kib, &random);
	open_file(&image, 12, &growing);
	while (growing.logical < clusters)
		ck_assert_ok(append(image.worker, &growing, step, &extent));
	ext2mb_file_close(image.worker, growing.file);
	close_image(&image);
	return growing.extents;
}

/* A file that grows by little is in short runs; by much, or with none to be first, in long ones. */
START_TEST(test_file)
{
	unsigned int little = extents_of(disks[1].short_kib, 600, 1);
	unsigned int much = extents_of(disks[1].short_kib, 600, 100);
	unsigned int never = extents_of(0, 600, 1);

	printf("# %u extents, %u in large steps, %u without\n", little, much, never);
	ck_assert_uint_ge(little, 600 / 10);
	ck_assert_uint_le(much, 600 / 40);
	ck_assert_uint_le(never, 600 / 30);
}
END_TEST

struct writer {
	pthread_t thread;
	struct small_image *image;
	struct ext2mb_worker *worker;
	struct space *space;
	struct random random;
	ext2_ino_t ino;
};

/* Files that grow, are closed, and are deleted, now and then. */
static void *write_files(void *context)
{
	static const uint64_t steps[] = { 1, 1, 1, 2, 8 };
	struct writer *writer = context;
	struct small_image own = { .worker = writer->worker };
	unsigned int bits = writer->space->cluster_bits;

	for (unsigned int round = 0; round < 60; round++) {
		struct ext2mb_extent extents[128];
		uint64_t step = steps[random_below(&writer->random, 5)] << bits;
		size_t count = 0, most = 1 + random_below(&writer->random, 128);
		struct growing growing;

		open_file(&own, writer->ino, &growing);
		for (; count < most; count++) {
			errcode_t error = append(writer->worker, &growing, step, &extents[count]);

			if (error) {
				ck_assert_error(error, EXT2MB_ET_NO_SPACE);
				break;
			}
			space_change(writer->space, &extents[count], 0, 1);
		}
		ext2mb_file_close(writer->worker, growing.file);
		if (random_below(&writer->random, 4) == 0)
			continue;
		for (size_t index = 0; index < count; index++) {
			space_change(writer->space, &extents[index], 1, 0);
			ck_assert_ok(ext2mb_free(writer->worker, extents[index].start, extents[index].count));
		}
		ck_assert_ok(ext2mb_commit(writer->image->mb));
	}
	return NULL;
}

START_TEST(test_threads)
{
	static struct writer writers[MOST_THREADS];
	static const unsigned int threads[] = { 2, MOST_THREADS };
	struct random random = random_start(disks[_i / 2].options);
	struct small_image image;
	struct space space;

	open_worn(&image, _i / 2, disks[_i / 2].short_kib, &random);
	space_open(&space, image.fs);
	for (unsigned int number = 0; number < threads[_i % 2]; number++) {
		writers[number] = (struct writer){ .image = &image, .space = &space, .ino = 12 + number };
		writers[number].random.state = random_next(&random);
		ck_assert_ok(ext2mb_worker_open(image.mb, &writers[number].worker));
	}
	for (unsigned int number = 0; number < threads[_i % 2]; number++)
		ck_assert_int_eq(pthread_create(&writers[number].thread, NULL, write_files, &writers[number]), 0);
	for (unsigned int number = 0; number < threads[_i % 2]; number++) {
		pthread_join(writers[number].thread, NULL);
		ext2mb_worker_close(writers[number].worker);
	}
	mb_check(image.mb);
	ck_assert_ok(ext2mb_sync(image.mb));
	ck_assert_uint_eq(ext2mb_reserved_blocks(image.mb), 0);
	ck_assert_ok(ext2fs_flush(image.fs));
	space_compare_with_disk(&space);
	space_close(&space);
	close_image(&image);
}
END_TEST

static Suite *short_runs_suite(void)
{
	Suite *suite = suite_create("short_runs");
	TCase *tests = mb_image_case(suite);

	tcase_add_loop_test(tests, test_order, 0, DISKS);
	tcase_add_loop_test(tests, test_least, 0, DISKS);
	tcase_add_test(tests, test_file);
	tcase_add_loop_test(tests, test_threads, 0, 2 * DISKS);
	return suite;
}

int main(void)
{
	return run_suite(short_runs_suite());
}
