/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ages a filesystem: fills it, deletes files, and fills it again, by a profile. The better of two policies on an
 * empty disk may be the worse on an old one (Kadekodi, Nagarajan, Ganger: Geriatrix, USENIX ATC 2018).
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "simulate/ageing/profile.h"
#include "support/random.h"
#include "simulate/results/counted_values.h"
#include "simulate/streams/streams.h"
#include "support/run/interrupt.h"
#include "support/vector.h"

enum { PROFILE, FILL, CHURN };

static const struct workload_option age_options[] = {
	[PROFILE] = { "profile", "NAME", SETTING_TEXT, 0, 0, 0,
	              "how, or a file that says it (default: halves; see e2allocsim(8))" },
	[FILL] = { "fill", "PERCENT", SETTING_NUMBER, 85, 1, 99, "how full the filesystem gets" },
	[CHURN] = { "churn", "N", SETTING_NUMBER, 6, 1, 1000, "how many times that much is written in all" },
	{ 0 },
};

#define MOST_FILES UINT32_C(1000000000)
#define SPARE_FILES 64   /* spare room in each directory: this many files, and */
#define SPARE_SHARE 2    /* one part in this many, because directories fill at random */
#define LARGEST_SHARE 16 /* one file takes at most this part of a filesystem */

/* Besides the end, the distance from the profile is shown when the filled amount has been written this many times. */
#define CHECKPOINT(times)                                                                                              \
	{                                                                                                              \
		times, "size_distance_" #times, "Sizes off the profile, churn " #times, "age_distance_" #times,        \
			"Ages off the profile, churn " #times                                                          \
	}
static const struct {
	uint64_t times;
	const char *size_key, *size_label, *age_key, *age_label;
} checkpoints[] = {
	CHECKPOINT(1),  CHECKPOINT(2),  CHECKPOINT(4),   CHECKPOINT(8),   CHECKPOINT(16),
	CHECKPOINT(32), CHECKPOINT(64), CHECKPOINT(128), CHECKPOINT(256), CHECKPOINT(512),
};
#define CHECKPOINTS (sizeof(checkpoints) / sizeof(*checkpoints))

/* A file in the order of creation. */
struct birth {
	uint64_t number : 63; /* files created before it */
	uint64_t is_gone : 1; /* deleted; removed from the list after this round of deletions */
	uint32_t directory, index;
	uint32_t size; /* index in the profile */
};

/* The file that a stream is writing. */
struct stream {
	struct simulated_file *file; /* NULL: none */
	struct birth birth;
	uint32_t blocks, step_blocks;
	uint32_t flags;
};

struct ageing {
	struct simulation *simulation;
	struct profile profile;
	struct file_set **directories;
	uint32_t *room_from; /* by directory: where the search for room begins */
	uint32_t *first_of;  /* by the profile's depths: the first of its directories */
	uint32_t directory_count;
	struct stream *streams;
	struct birth *living; /* ascending */
	size_t living_count, living_capacity;
	uint64_t born; /* files so far */
	uint64_t written_blocks, to_write_blocks;
	uint64_t free_blocks;       /* blocks of no file, with preallocated ones */
	uint64_t least_free_blocks; /* with fewer free blocks the filesystem is full */
	uint64_t random;
	bool is_full;
	struct { /* the distance from the profile at each checkpoint */
		double sizes, ages;
	} distances[CHECKPOINTS];
	size_t checkpoints; /* so far */
};

/* --- Directories -------------------------------------------------------------------------------------------- */

/* The expected number of files at one time; each directory has its share. */
static double expected_files(const struct ageing *ageing)
{
	const struct image *image = ageing->simulation->image;
	uint32_t block_bytes = image->format.block_bytes;
	/* A tiny file takes a block. */
	double blocks = ceil(profile_mean_size(&ageing->profile) / block_bytes + 0.5);

	return (double)image->geometry.end_block * (double)ageing->simulation->settings[FILL].number / 100 / blocks;
}

/* The first directory of each depth is the parent of all directories of the next one. Depth 0 has one directory. */
static errcode_t make_depth(struct ageing *ageing, const struct weight *depth, double files, struct file_set **chain)
{
	struct image *image = ageing->simulation->image;
	struct file_set *parent = chain[depth->value ? (size_t)depth->value - 1 : 0];
	size_t room = (size_t)(files * (1 + 1.0 / SPARE_SHARE) / depth->count) + SPARE_FILES;
	errcode_t error = 0;

	for (uint32_t number = 0; !error && number < depth->count; number++) {
		char name[32];

		snprintf(name, sizeof(name), "d%u-%05u", (unsigned int)depth->value, number);
		error = file_set_create(image, parent, name, room, &ageing->directories[ageing->directory_count]);
		if (!error && !number && depth->value)
			chain[(size_t)depth->value] = ageing->directories[ageing->directory_count];
		ageing->directory_count++;
	}
	return error;
}

static errcode_t make_directories(struct ageing *ageing)
{
	const struct weights *depths = &ageing->profile.depths;
	struct file_set *chain[PROFILE_MOST_DEPTH + 2] = { NULL };
	double files = expected_files(ageing), weights = (double)depths->list[depths->count - 1].sum;
	uint32_t total = 0;
	errcode_t error = files > MOST_FILES ? EFBIG :
	                                       file_set_create(ageing->simulation->image, NULL,
	                                                       ageing->simulation->image->directory, 0, &chain[0]);

	for (size_t index = 0; index < depths->count; index++)
		total += depths->list[index].count;
	ageing->directories = calloc(total, sizeof(struct file_set *));
	ageing->room_from = calloc(total, sizeof(*ageing->room_from));
	ageing->first_of = calloc(depths->count, sizeof(*ageing->first_of));
	ageing->streams = calloc(ageing->profile.streams, sizeof(*ageing->streams));
	if (!error && (!ageing->directories || !ageing->room_from || !ageing->first_of || !ageing->streams))
		error = ENOMEM;
	for (size_t index = 0; !error && index < depths->count; index++) {
		const struct weight *depth = &depths->list[index];

		/* The profile may leave out depths: use the deepest one that exists. */
		for (size_t above = 1; above < (size_t)depth->value + 1; above++)
			if (!chain[above])
				chain[above] = chain[above - 1];
		ageing->first_of[index] = ageing->directory_count;
		error = make_depth(ageing, depth, files * (double)depth->weight / weights, chain);
	}
	return error;
}

/* Finds room in a directory chosen by the profile; false: all are full. */
static bool find_room(struct ageing *ageing, struct birth *place)
{
	size_t depth = profile_choose(&ageing->profile.depths, &ageing->random);
	uint32_t directory =
		ageing->first_of[depth] + random_below(&ageing->random, ageing->profile.depths.list[depth].count);

	for (uint32_t tried = 0; tried < ageing->directory_count; tried++) {
		const struct file_set *set = ageing->directories[directory];
		uint32_t index = ageing->room_from[directory];

		for (size_t looked = 0; looked < set->count; looked++, index++) {
			if (index == set->count)
				index = 0;
			if (!set->files[index].ino) {
				ageing->room_from[directory] = index + 1 == set->count ? 0 : index + 1;
				*place = (struct birth){ .number = ageing->born,
					                 .directory = directory,
					                 .index = index };
				return true;
			}
		}
		directory = directory + 1 == ageing->directory_count ? 0 : directory + 1;
	}
	return false;
}

static struct simulated_file *file_of(const struct ageing *ageing, const struct birth *birth)
{
	return &ageing->directories[birth->directory]->files[birth->index];
}

/* --- Filling ------------------------------------------------------------------------------------------------ */

/* Chooses a file's size; *bytes gets it in bytes. It is limited to a part of the filesystem, since profiles come from
 * larger ones, and to the amount that is left to fill. */
static uint32_t choose_blocks(struct ageing *ageing, uint64_t *bytes)
{
	const struct image *image = ageing->simulation->image;
	*bytes = profile_choose_size(&ageing->profile, &ageing->random);
	uint64_t blocks = *bytes / image->format.block_bytes + 1;
	uint64_t full = ageing->least_free_blocks;
	uint64_t room = ageing->free_blocks > full ? ageing->free_blocks - full : 1;
	uint64_t most = image->geometry.end_block / LARGEST_SHARE + 1;

	most = most < UINT32_MAX / 2 ? most : UINT32_MAX / 2;
	most = most < room ? most : room;
	if (blocks <= most)
		return (uint32_t)blocks;
	*bytes = most * image->format.block_bytes;
	return (uint32_t)most;
}

/* Chooses whether a file gets its blocks by fallocate(2), and in how many parts. */
static bool choose_reserved(struct ageing *ageing, uint32_t *parts)
{
	const struct profile *profile = &ageing->profile;

	if (!ageing->simulation->image->format.extents)
		return false;
	if (random_below(&ageing->random, 100) < profile->fallocate_percent) {
		*parts = 1;
		return true;
	}
	return profile->fallocate_parts_percent &&
	       random_below(&ageing->random, 100) < profile->fallocate_parts_percent;
}

static errcode_t begin_file(struct ageing *ageing, struct ext2mb_worker *worker, struct stream *stream)
{
	const struct profile *profile = &ageing->profile;
	uint64_t bytes;
	uint32_t blocks = choose_blocks(ageing, &bytes);
	uint32_t parts = (uint32_t)profile->steps.list[profile_choose(&profile->steps, &ageing->random)].value;
	bool reserves = choose_reserved(ageing, &parts);

	if (!find_room(ageing, &stream->birth))
		return EXT2MB_ET_NO_INODES;
	stream->birth.size = (uint32_t)profile_size_index(profile, bytes);
	struct file_set *set = ageing->directories[stream->birth.directory];
	errcode_t error = file_set_alloc_inode(set, stream->birth.index, worker);

	if (error)
		return error;
	stream->file = &set->files[stream->birth.index];
	stream->file->map.is_unwritten = reserves;
	stream->flags = reserves ? EXT2MB_FILE_UNWRITTEN : 0;
	stream->blocks = blocks;
	stream->step_blocks = (stream->blocks + parts - 1) / parts;
	/* A file that is written at once is allocated when its end is known, because Linux delays allocation. */
	error = simulated_file_open(set, stream->file, stream->step_blocks == stream->blocks ? stream->blocks : 0,
	                            worker);
	if (!error)
		error = vector_add(&ageing->living, &ageing->living_count, &ageing->living_capacity, &stream->birth,
		                   sizeof(stream->birth));
	ageing->born += !error;
	return error;
}

static void end_file(struct stream *stream, struct ext2mb_worker *worker)
{
	if (stream->file)
		simulated_file_close(TAKE(stream->file), worker);
}

/* Writes one part of one file. Lack of space or of room for files ends the filling; the written data stays. */
static errcode_t fill_step(void *context, struct ext2mb_worker *worker, unsigned int number, bool *is_over)
{
	struct ageing *ageing = context;
	struct stream *stream = &ageing->streams[number];
	errcode_t error = 0;

	if (!stream->file) {
		*is_over = ageing->is_full || ageing->free_blocks < ageing->least_free_blocks;
		if (*is_over)
			return 0;
		error = begin_file(ageing, worker, stream);
	}
	if (!error) {
		struct simulated_file *file = stream->file;
		const struct image *image = ageing->simulation->image;
		uint32_t before = file->blocks, left = stream->blocks - before;
		uint64_t charged = image_charged_blocks(image, file);

		if (stream->step_blocks == stream->blocks && !stream->flags)
			error = simulated_file_write_back(NULL, file, worker, stream->blocks);
		else
			error = simulated_file_append(
				NULL, file, worker, before + (left < stream->step_blocks ? left : stream->step_blocks),
				stream->flags);
		ageing->written_blocks += file->blocks - before;
		ageing->free_blocks -= image_charged_blocks(image, file) - charged;
		if (error || file->blocks == stream->blocks)
			end_file(stream, worker);
	}
	if (error != EXT2MB_ET_NO_SPACE && error != EXT2MB_ET_NO_INODES)
		return error;
	ageing->is_full = *is_over = true;
	return 0;
}

static errcode_t fill(struct ageing *ageing)
{
	struct simulation *simulation = ageing->simulation;
	struct streams_cost cost;
	uint64_t before = ageing->written_blocks;

	ageing->is_full = false;
	errcode_t error = streams_run(simulation, ageing->profile.streams, fill_step, ageing, 0, "cannot fill", &cost);

	for (uint32_t number = 0; number < ageing->profile.streams; number++)
		end_file(&ageing->streams[number], simulation->image->worker);
	progress_add(simulation->options->progress,
	             (ageing->written_blocks - before) * simulation->image->format.block_bytes, 0);
	return error;
}

/* --- Deleting ----------------------------------------------------------------------------------------------- */

/* Returns how many living files were created before a given number of files. */
static size_t born_before(const struct ageing *ageing, uint64_t number)
{
	size_t from = 0, end = ageing->living_count;

	while (from < end) {
		size_t middle = from + (end - from) / 2;

		if (ageing->living[middle].number < number)
			from = middle + 1;
		else
			end = middle;
	}
	return from;
}

/* Finds the ends of the profile's ages among the living files, from the youngest to the oldest. */
static void cut_at_ages(const struct ageing *ageing, size_t *ends)
{
	const struct weights *ages = &ageing->profile.ages;

	ends[0] = ageing->living_count;
	for (size_t age = 0; age < ages->count; age++) {
		double part = ages->list[age].value / ages->list[ages->count - 1].value;

		ends[age + 1] = born_before(ageing, ageing->born - (uint64_t)(part * (double)ageing->born));
	}
	ends[ages->count ? ages->count : 1] = 0;
}

/* Chooses the age with the largest surplus; without ages there is only one. */
static size_t choose_age(const struct ageing *ageing, const size_t *counts)
{
	const struct weights *ages = &ageing->profile.ages;
	size_t chosen = 0;
	double most = -INFINITY;

	for (size_t age = 0; age < ages->count; age++) {
		double should = (double)ages->list[age].weight / (double)ages->list[ages->count - 1].sum;
		double surplus = (double)counts[age] / (double)ageing->living_count - should;

		if (counts[age] && surplus > most) {
			most = surplus;
			chosen = age;
		}
	}
	return chosen;
}

static errcode_t delete_one(struct ageing *ageing, size_t from, size_t end)
{
	size_t index = from + (size_t)(random_next(&ageing->random) % (end - from));

	while (ageing->living[index].is_gone)
		index = index + 1 == end ? from : index + 1;
	struct simulated_file *file = file_of(ageing, &ageing->living[index]);
	ageing->living[index].is_gone = true;
	ageing->free_blocks += image_charged_blocks(ageing->simulation->image, file);
	return simulated_file_delete(file, ageing->simulation->image->worker);
}

static void forget_gone(struct ageing *ageing)
{
	size_t kept = 0;

	for (size_t index = 0; index < ageing->living_count; index++)
		if (!ageing->living[index].is_gone)
			ageing->living[kept++] = ageing->living[index];
	ageing->living_count = kept;
}

static errcode_t delete_some(struct ageing *ageing)
{
	size_t ends[PROFILE_MOST_WEIGHTS + 1], counts[PROFILE_MOST_WEIGHTS];
	size_t ages = ageing->profile.ages.count ? ageing->profile.ages.count : 1;
	size_t left = ageing->living_count * ageing->profile.delete_percent / 100 + 1;
	errcode_t error = 0;

	cut_at_ages(ageing, ends);
	for (size_t age = 0; age < ages; age++)
		counts[age] = ends[age] - ends[age + 1];
	while (!error && left--) {
		size_t age = choose_age(ageing, counts);

		counts[age]--;
		error = interrupt_pending() ? EINTR : delete_one(ageing, ends[age + 1], ends[age]);
	}
	forget_gone(ageing);
	return error ? error : ext2mb_commit(ageing->simulation->image->mb);
}

/* --- Distance from the profile --------------------------------------------------------------------------------- */

static double size_distance(const struct ageing *ageing)
{
	uint64_t counts[PROFILE_MOST_WEIGHTS] = { 0 };

	for (size_t index = 0; index < ageing->living_count; index++)
		counts[ageing->living[index].size]++;
	return profile_distance(&ageing->profile.sizes, counts);
}

static double age_distance(const struct ageing *ageing)
{
	size_t ends[PROFILE_MOST_WEIGHTS + 1];
	uint64_t counts[PROFILE_MOST_WEIGHTS] = { 0 };

	cut_at_ages(ageing, ends);
	for (size_t age = 0; age < ageing->profile.ages.count; age++)
		counts[age] = ends[age] - ends[age + 1];
	return profile_distance(&ageing->profile.ages, counts);
}

/* Called after each filling; notes the distances at each checkpoint once. */
static void note_distances(struct ageing *ageing)
{
	uint64_t full = ageing->to_write_blocks / ageing->simulation->settings[CHURN].number;

	for (; ageing->checkpoints < CHECKPOINTS &&
	       ageing->written_blocks >= checkpoints[ageing->checkpoints].times * full;
	     ageing->checkpoints++) {
		ageing->distances[ageing->checkpoints].sizes = size_distance(ageing);
		ageing->distances[ageing->checkpoints].ages = age_distance(ageing);
	}
}

static void add_distances(const struct ageing *ageing)
{
	struct result *result = ageing->simulation->result;
	bool has_ages = ageing->profile.ages.count;

	for (size_t index = 0; index <= ageing->checkpoints; index++) {
		bool is_end = index == ageing->checkpoints;
		struct named_value size = { "size_distance", "Sizes off the profile (KS)", size_distance(ageing), 3 };
		struct named_value age = { "age_distance", "Ages off the profile (KS)", age_distance(ageing), 3 };

		if (!is_end) {
			size = (struct named_value){ checkpoints[index].size_key, checkpoints[index].size_label,
				                     ageing->distances[index].sizes, 3 };
			age = (struct named_value){ checkpoints[index].age_key, checkpoints[index].age_label,
				                    ageing->distances[index].ages, 3 };
		}
		result_add(result, NULL, RESULT_COUNTED, (const struct named_value[]){ size, { 0 } });
		if (has_ages)
			result_add(result, NULL, RESULT_COUNTED, (const struct named_value[]){ age, { 0 } });
	}
}

/* --- The workload ------------------------------------------------------------------------------------------- */

static errcode_t grow_old(struct ageing *ageing)
{
	struct simulation *simulation = ageing->simulation;
	struct image *image = simulation->image;
	errcode_t error = make_directories(ageing);

	if (error)
		return problem_set(simulation->problem, error, image->path, "cannot make directories");
	/* Directories get their blocks in the end. */
	ageing->least_free_blocks += geometry_to_blocks(&image->geometry, ageing->directory_count);
	if (ageing->free_blocks <= ageing->least_free_blocks)
		return problem_set_reason(simulation->problem, EXT2MB_ET_NO_SPACE, image->path, "cannot age",
		                          "the profile's directories take all that --fill leaves to be filled");
	while (!error && ageing->written_blocks < ageing->to_write_blocks) {
		uint64_t before = ageing->written_blocks;

		if (ageing->living_count)
			error = delete_some(ageing);
		if (error)
			return problem_set(simulation->problem, error, image->path, "cannot delete");
		error = fill(ageing);
		if (!error && ageing->written_blocks == before && !ageing->living_count)
			return problem_set(simulation->problem, EXT2MB_ET_NO_SPACE, image->path, "cannot fill");
		note_distances(ageing);
	}
	return error;
}

/* The median age of the remaining files: files written since, in percent of all written files. */
static double median_age_percent(const struct ageing *ageing)
{
	if (!ageing->living_count)
		return 0;
	return 100.0 * (double)(ageing->born - ageing->living[ageing->living_count / 2].number) / (double)ageing->born;
}

static void add_values(const struct ageing *ageing)
{
	result_add(ageing->simulation->result, NULL, RESULT_COUNTED,
	           (const struct named_value[]){
			   { "files_written", "Files written", (double)ageing->born, 0 },
			   { "files_left", "Files that are left", (double)ageing->living_count, 0 },
			   { "median_age_percent", "Their median age (%)", median_age_percent(ageing), 1 },
			   { "blocks_written", "Blocks written", (double)ageing->written_blocks, 0 },
			   { 0 },
		   });
}

static errcode_t age_run(struct simulation *simulation)
{
	const struct setting *settings = simulation->settings;
	const struct image *image = simulation->image;
	const char *name = settings[PROFILE].text ? settings[PROFILE].text : "halves";
	const uint64_t free_blocks = ext2mb_free_blocks(image->mb);
	const uint64_t all_full = image->geometry.end_block / 100 * settings[FILL].number;
	/* An empty filesystem has metadata in a few percent of its blocks. */
	bool is_full_already = image->geometry.end_block - free_blocks >= all_full;
	uint64_t full = is_full_already ? free_blocks * settings[FILL].number / 100 : all_full;
	struct ageing ageing = {
		.simulation = simulation,
		.to_write_blocks = full * settings[CHURN].number,
		.free_blocks = free_blocks,
		.least_free_blocks = (is_full_already ? free_blocks : image->geometry.end_block) - full,
		.random = simulation->options->seed,
	};

	if (simulation->threads)
		return problem_set_reason(simulation->problem, EINVAL, image->path, "cannot age",
		                          "it is done by one thread: leave out --threads");
	errcode_t error = profile_read(name, &ageing.profile, simulation->problem);
	if (!error) {
		progress_stage(simulation->options->progress, "age", ageing.to_write_blocks * image->format.block_bytes,
		               0);
		error = grow_old(&ageing);
	}
	if (!error) {
		add_values(&ageing);
		add_distances(&ageing);
	}
	free(ageing.directories);
	free(ageing.room_from);
	free(ageing.first_of);
	free(ageing.streams);
	free(ageing.living);
	return error;
}

static errcode_t age_measure(struct simulation *simulation)
{
	return layout_values_add(simulation, NULL, simulation->image->files);
}

const struct workload age_workload = {
	.name = "age",
	.summary = "a filesystem grows old: filled, in part deleted and filled again, as a profile says",
	.options = age_options,
	.run = age_run,
	.measure = age_measure,
};
