/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and their windows on real filesystems: random operations against a model. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

#define FILES 12
#define FILE_CLUSTERS 4096
#define NOT_MAPPED UINT64_MAX

#define must_hold(condition)                                                                                           \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			ck_abort_msg("does not hold (TEST_SEED): %s", #condition);                                     \
	} while (0)

struct way {
	const char *options;
	const char *size;
	enum policy_name policy;
	enum ext2mb_normalization normalization;
	enum ext2mb_locality small;
	uint32_t stripe;
};

static const struct way ways[] = {
	{ "-t ext4 -b 4096 -g 2048", "61M", 0, EXT2MB_NORMALIZE_EXT2MB, EXT2MB_LOCALITY_DIRECTORY, 0 },
	{ "-t ext4 -b 4096 -g 2048", "61M", 0, EXT2MB_NORMALIZE_EXT2MB, EXT2MB_LOCALITY_THREAD, 24 },
	{ "-t ext4 -b 1024 -O ^flex_bg,^64bit", "30001K", 0, EXT2MB_NORMALIZE_EXT2MB, EXT2MB_LOCALITY_NONE, 0 },
	{ "-t ext4 -b 4096 -g 1024", "51M", 0, EXT2MB_NORMALIZE_TABLE, EXT2MB_LOCALITY_THREAD, 0 },
	{ "-t ext4 -b 1024", "30M", POLICY_SERIES, 0, 0, 16 },
	{ "-t ext4 -b 4096 -g 4096", "51M", POLICY_BASE, 0, 0, 0 },
	{ "-t ext4 -b 4096 -g 2048", "61M", 0, EXT2MB_NORMALIZE_POW2, EXT2MB_LOCALITY_DIRECTORY, 32 },
	{ "-t ext4 -b 4096", "61M", 0, EXT2MB_NORMALIZE_POW2, EXT2MB_LOCALITY_NONE, 0 },
	{ "-t ext4 -b 4096 -g 2048", "61M", 0, EXT2MB_NORMALIZE_NONE, EXT2MB_LOCALITY_NONE, 0 },
	{ "-t ext4 -b 4096 -g 2048", "61M", 0, EXT2MB_NORMALIZE_NONE, EXT2MB_LOCALITY_DIRECTORY, 0 },
	{ "-t ext4 -b 4096 -O bigalloc -C 16384 -g 32768", "202M", 0, 0, 0, 0 },
	{ "-t ext4 -b 1024 -O bigalloc -C 8192", "101M", 0, EXT2MB_NORMALIZE_TABLE, EXT2MB_LOCALITY_THREAD, 16 },
	{ "-t ext4 -b 65536 -g 4096", "1000M", 0, 0, 0, 0 },
	{ "-t ext2 -b 1024", "30001K", 0, 0, 0, 0 },
};

enum { FREE, FOREIGN, OWNED, PENDING };

struct model_file {
	struct ext2mb_file *file;         /* NULL: closed */
	uint64_t clusters[FILE_CLUSTERS]; /* where each logical one is */
	uint32_t end;
	bool is_final;
};

struct model {
	struct ext2mb *mb;
	struct ext2mb_worker *workers[2];
	ext2_filsys fs;
	struct random random;
	uint64_t first_block;
	unsigned int bits;
	uint8_t *clusters;
	uint64_t count;
	uint64_t free_clusters; /* reserved ones too */
	uint64_t refusals;
	struct model_file files[FILES];
	struct ext2mb_extent *raw; /* in clusters */
	size_t raw_count;
};

static struct ext2mb_worker *any_worker(struct model *model)
{
	return model->workers[random_below(&model->random, 2)];
}

static void open_model(struct model *model, const struct way *way)
{
	const struct policy_options options = {
		.policy = way->policy,
		.allocator = {
			.normalization = way->normalization,
			.locality = way->small,
			.stripe_blocks = way->stripe,
		},
	};

	mb_image_make(way->options, way->size);
	model->clusters = mb_image_read_clusters(&model->count);
	model->fs = mb_image_open();
	ck_assert_ok(policy_open(model->fs, &options, &model->mb));
	for (unsigned int index = 0; index < 2; index++)
		ck_assert_ok(ext2mb_worker_open(model->mb, &model->workers[index]));
	model->first_block = model->fs->super->s_first_data_block;
	model->bits = (unsigned int)model->fs->cluster_ratio_bits;
	model->raw = calloc(model->count, sizeof(*model->raw));
	for (uint64_t cluster = 0; cluster < model->count; cluster++)
		model->free_clusters += model->clusters[cluster] == FREE;
	for (unsigned int index = 0; index < FILES; index++)
		memset(model->files[index].clusters, 0xff, sizeof(model->files[index].clusters));
}

/* Free ones and reserved ones are all that is not in use. */
static void check_counts(struct model *model)
{
	must_hold(ext2mb_free_blocks(model->mb) + ext2mb_reserved_blocks(model->mb) == model->free_clusters
	                                                                                       << model->bits);
	mb_check(model->mb);
}

static uint64_t own(struct model *model, const struct ext2mb_extent *extent, uint64_t most)
{
	uint64_t start = (extent->start - model->first_block) >> model->bits, count = extent->count >> model->bits;

	must_hold(count >= 1 && count <= most && start + count <= model->count);
	must_hold(!(extent->count & ((1u << model->bits) - 1)));
	for (uint64_t cluster = start; cluster < start + count; cluster++) {
		must_hold(model->clusters[cluster] == FREE);
		model->clusters[cluster] = OWNED;
	}
	model->free_clusters -= count;
	return start;
}

static void disown(struct model *model, uint64_t start, uint64_t count)
{
	for (uint64_t cluster = start; cluster < start + count; cluster++) {
		must_hold(model->clusters[cluster] == OWNED);
		model->clusters[cluster] = PENDING;
	}
	ck_assert_ok(ext2mb_free(any_worker(model), model->first_block + (start << model->bits), count << model->bits));
}

static void open_file(struct model *model, struct model_file *file)
{
	struct ext2mb_file_info info = {
		.struct_bytes = sizeof(info),
		.ino = 11 + (ext2_ino_t)(file - model->files),
		.parent = (ext2_ino_t)random_below(&model->random, 4),
		.blocks = (uint64_t)file->end << model->bits,
	};

	file->is_final = !file->end && random_below(&model->random, 3) == 0;
	if (file->is_final) {
		info.flags = EXT2MB_FILE_FINAL;
		info.blocks = (1 + random_below(&model->random, 40)) << model->bits;
	}
	ck_assert_ok(ext2mb_file_open(any_worker(model), &info, &file->file));
}

/* What the file's map says of the hole that holds the logical cluster, to tell the allocator. */
static void describe_hole(const struct model *model, const struct model_file *file, uint32_t logical,
                          struct ext2mb_file_request *request)
{
	uint32_t start = logical, end = logical;

	while (start && file->clusters[start - 1] == NOT_MAPPED)
		start--;
	while (end < FILE_CLUSTERS && file->clusters[end] == NOT_MAPPED)
		end++;
	request->hole_start = (uint64_t)start << model->bits;
	request->hole_end = (uint64_t)end << model->bits;
	if (start)
		request->left_physical = model->first_block + ((file->clusters[start - 1] + 1) << model->bits);
	if (end < FILE_CLUSTERS)
		request->right_physical = model->first_block + (file->clusters[end] << model->bits);
}

static uint32_t hole_length(const struct model_file *file, uint32_t logical, uint32_t most)
{
	uint32_t length = 0;

	while (length < most && logical + length < FILE_CLUSTERS && file->clusters[logical + length] == NOT_MAPPED)
		length++;
	return length;
}

static void allocate(struct model *model, struct model_file *file)
{
	struct random *random = &model->random;
	bool appends = random_below(random, 4) != 0;
	uint32_t logical = appends ? file->end : (uint32_t)random_below(random, FILE_CLUSTERS);
	uint32_t count = hole_length(file, logical, 1 + (uint32_t)random_below(random, 1u << random_below(random, 9)));
	struct ext2mb_file_request request = {
		.struct_bytes = sizeof(request),
		.logical = (uint64_t)logical << model->bits,
		.count = (uint64_t)count << model->bits,
		.flags = random_below(random, 3) ? 0 : EXT2MB_FILE_UNWRITTEN,
	};
	struct ext2mb_extent extent;

	if (!count)
		return;
	if (!appends || random_below(random, 2))
		describe_hole(model, file, logical, &request);
	errcode_t error = ext2mb_file_alloc(any_worker(model), file->file, &request, &extent);
	if (error == EXT2MB_ET_NO_SPACE) {
		must_hold(!model->free_clusters);
		model->refusals++;
		return;
	}
	ck_assert_ok(error);
	uint64_t start = own(model, &extent, count);
	for (uint32_t cluster = 0; cluster < extent.count >> model->bits; cluster++)
		file->clusters[logical + cluster] = start + cluster;
	if (file->end < logical + (extent.count >> model->bits))
		file->end = logical + (uint32_t)(extent.count >> model->bits);
}

/* Frees what lies behind the new end, run by run. */
static void truncate_file(struct model *model, struct model_file *file, uint32_t end)
{
	if (file->file)
		ext2mb_file_truncate(any_worker(model), file->file, (uint64_t)end << model->bits);
	for (uint32_t logical = end; logical < file->end;) {
		uint32_t count = 1;

		if (file->clusters[logical] == NOT_MAPPED) {
			logical++;
			continue;
		}
		while (logical + count < file->end &&
		       file->clusters[logical + count] == file->clusters[logical] + count)
			count++;
		disown(model, file->clusters[logical], count);
		memset(&file->clusters[logical], 0xff, count * sizeof(*file->clusters));
		logical += count;
	}
	if (file->end > end)
		file->end = end;
}

static void commit(struct model *model)
{
	ck_assert_ok(ext2mb_commit(model->mb));
	for (uint64_t cluster = 0; cluster < model->count; cluster++) {
		if (model->clusters[cluster] != PENDING)
			continue;
		model->clusters[cluster] = FREE;
		model->free_clusters++;
	}
}

/* Windows must not be in the way of those who allocate without files. */
static void allocate_raw(struct model *model)
{
	static const uint32_t flags[] = { 0, EXT2MB_ALLOC_STREAM, EXT2MB_ALLOC_PACK };
	uint64_t count = 1 + random_below(&model->random, 64);
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.count = count << model->bits,
		.flags = flags[random_below(&model->random, 3)],
	};
	struct ext2mb_extent extent;
	errcode_t error = ext2mb_alloc(any_worker(model), &request, &extent);

	if (error == EXT2MB_ET_NO_SPACE) {
		must_hold(!model->free_clusters);
		model->refusals++;
		return;
	}
	ck_assert_ok(error);
	model->raw[model->raw_count++] =
		(struct ext2mb_extent){ own(model, &extent, count), extent.count >> model->bits };
}

static void free_raw(struct model *model)
{
	if (!model->raw_count)
		return;
	size_t index = random_below(&model->random, model->raw_count);
	struct ext2mb_extent extent = model->raw[index];

	model->raw[index] = model->raw[--model->raw_count];
	disown(model, extent.start, extent.count);
}

/* fills: more is taken than freed, until nothing is left. */
static void step(struct model *model, bool fills)
{
	struct model_file *file = &model->files[random_below(&model->random, FILES)];
	uint64_t dice = random_below(&model->random, 100);

	if (!file->file) {
		open_file(model, file);
	} else if (dice < 85) {
		allocate(model, file);
	} else if (dice < 89) {
		allocate_raw(model);
	} else if (dice < (fills ? 90 : 95)) {
		free_raw(model);
	} else if (dice < (fills ? 91 : 98)) {
		truncate_file(model, file, (uint32_t)random_below(&model->random, file->end + 1));
	} else {
		ext2mb_file_close(any_worker(model), file->file);
		file->file = NULL;
	}
	if (random_below(&model->random, 200) == 0)
		commit(model);
}

static void compare_with_disk(const struct model *model)
{
	uint64_t count;
	uint8_t *used = mb_image_read_clusters(&count);

	for (uint64_t cluster = 0; cluster < count; cluster++)
		if (used[cluster] != (model->clusters[cluster] != FREE))
			ck_abort_msg("cluster %llu differs on disk", (unsigned long long)cluster);
	free(used);
}

/* Nothing is reserved any more, and others see exactly what was handed out. */
static void sync_and_compare(struct model *model)
{
	commit(model);
	ck_assert_ok(ext2mb_sync(model->mb));
	ck_assert_uint_eq(ext2mb_reserved_blocks(model->mb), 0);
	check_counts(model);
	ck_assert_ok(ext2fs_flush(model->fs));
	compare_with_disk(model);
}

static void close_model(struct model *model)
{
	for (unsigned int index = 0; index < FILES; index++) {
		ext2mb_file_close(any_worker(model), model->files[index].file);
		model->files[index].file = NULL;
		truncate_file(model, &model->files[index], 0);
	}
	while (model->raw_count)
		free_raw(model);
	ext2mb_worker_close(model->workers[0]);
	commit(model);
	ck_assert_ok(ext2mb_sync(model->mb));
	check_counts(model);
	ext2mb_worker_close(model->workers[1]);
	ext2mb_close(model->mb);
	ck_assert_ok(ext2fs_close(model->fs));
	compare_with_disk(model);
	mb_image_check();
	free(model->clusters);
	free(model->raw);
}

START_TEST(test_model)
{
	const struct way *way = &ways[_i];
	static struct model model;
	uint64_t operations = mb_operations(12000);

	memset(&model, 0, sizeof(model));
	model.random = random_start(way->options);
	open_model(&model, way);
	for (uint64_t number = 1; number <= operations; number++) {
		step(&model, number / 1000 % 2);
		if (number % 500 == 0)
			check_counts(&model);
		if (number % 2500 == 0)
			sync_and_compare(&model);
	}
	sync_and_compare(&model);
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	ck_assert_ok(ext2mb_read_stats(model.mb, &stats));
	printf("# %llu requests, %llu from windows, %llu refused, everything given back %llu times\n",
	       (unsigned long long)stats.requests, (unsigned long long)stats.preallocation_hits,
	       (unsigned long long)model.refusals, (unsigned long long)stats.preallocation_discards);
	close_model(&model);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ext2mb_files");
	TCase *tests = tcase_create("files");

	tcase_set_timeout(tests, 300);
	tcase_add_unchecked_fixture(tests, mb_image_setup, mb_image_teardown);
	tcase_add_loop_test(tests, test_model, 0, sizeof(ways) / sizeof(*ways));
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
