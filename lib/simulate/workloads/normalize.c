/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seven steps by which "ext4: Rewrite the request normalization" was judged in June 2014: fallocate, a copy of
 * the Linux source, tar, untar, one dd, several at once, and a mix as fsstress makes it. The script itself is lost;
 * the steps below say what we assume. The files of all steps but the first stay for the following steps.
 */
#include <errno.h>
#include <string.h>

#include "simulate/image/dirty_files.h"
#include "support/random.h"
#include "simulate/image/size_list.h"
#include "simulate/results/counted_values.h"
#include "simulate/run/configuration.h"
#include "simulate/workloads/normalize_times.h"

enum { SIZES, FILES, STREAMS, DD_SIZE, OPERATIONS, WRITEBACK, WHICH };

static const struct workload_option normalize_options[] = {
	[SIZES] = { "sizes", "DIR", SETTING_TEXT, 0, 0, 0,
	            "trees are like this one (default: made up like Linux 6.1)" },
	[FILES] = { "files", "N", SETTING_NUMBER, 20000, 1, 10000000, "how many files a made-up tree has" },
	[STREAMS] = { "streams", "N", SETTING_NUMBER, 4, 1, 1024, "trees, archives and dd's side by side" },
	[DD_SIZE] = { "dd-size", "SIZE", SETTING_BYTES, 512 << 20, 1, 1ull << 44, "of the files that dd writes" },
	[OPERATIONS] = { "operations", "N", SETTING_NUMBER, 10000, 0, 1000000000, "of each stream of the mix" },
	[WRITEBACK] = { "writeback", "SIZE", SETTING_BYTES, 64 << 20, 0, 1ull << 44,
	                "dirty data of untar at which it is written back; 0: each record at once (nodelalloc)" },
	[WHICH] = { "steps", "STEP[,STEP]...", SETTING_TEXT, 0, 0, 0,
	            "only these of the seven: fallocate, copy, tar, untar, single-dd, several-dd, fsstress" },
	{ 0 },
};

#define FALLOCATE_PERCENT 84           /* of the free space, as in 2014 */
#define WRITEBACK_BYTES (8u << 20)     /* Linux's largest request for delayed writes (2048 pages) */
#define TAR_RECORD_BYTES 10240u        /* of one write of tar */
#define TAR_BLOCK_BYTES 512u           /* of a header; contents are rounded up to it */
#define MIX_FILES 128u                 /* per stream of the mix */
#define MIX_MOST_BLOCKS 1024u          /* added by one operation of the mix */
#define MIX_OPERATIONS_PER_COMMIT 256u /* freed blocks stay unusable this long */

struct tree_stream {
	struct file_set **directories; /* owned; one for each of the size list */
	struct simulated_file *open;   /* the file that is being written; NULL: none */
	struct written_file *written;  /* the same with delayed allocation; owned until it is closed */
	size_t directory, file;        /* file: its index in the list, not in the directory */
	uint64_t bytes;                /* written of the file */
};

struct mix_stream {
	uint64_t random;
	uint64_t operations;
};

struct normalize {
	struct simulation *simulation;
	struct size_list sizes;
	unsigned int streams;
	struct file_set *top;
	uint32_t step_bytes; /* of a tree's files: a request's size; 0: the whole file, which is closed then */
	bool is_delayed;     /* of a tree's files: blocks are allocated at writeback */
	struct dirty_files dirty;

	/* By stream, as far as the step needs them. */
	struct tree_stream *trees;
	struct mix_stream *mixes;
	struct file_set *files;
	uint64_t file_bytes; /* of each of the files */

	/* Results of steps that later ones read. */
	const struct file_set *copied, *archives;
};

/*
 * --- Trees: copied files are allocated whole after they are closed; unpacked ones in records, at writeback or one by
 * one ----------------------------------------------------------------------------
 */

/* The index in its directory of the stream's present file. */
static size_t current_index(const struct normalize *job, const struct tree_stream *tree)
{
	return tree->file - (tree->directory ? job->sizes.ends[tree->directory - 1] : 0);
}

static errcode_t begin_file(struct normalize *job, struct tree_stream *tree, struct ext2mb_worker *worker)
{
	struct file_set *set = tree->directories[tree->directory];
	size_t index = current_index(job, tree);
	uint64_t bytes = job->step_bytes ? 0 : job->sizes.bytes[tree->file];
	errcode_t error = file_set_alloc_inode(set, index, worker);

	if (error)
		return error;
	if (job->is_delayed) {
		tree->written = calloc(1, sizeof(*tree->written));
		if (!tree->written)
			return ENOMEM;
		*tree->written = (struct written_file){ .set = set, .file = &set->files[index] };
		return 0;
	}
	tree->open = &set->files[index];
	return simulated_file_open(set, tree->open, image_blocks_of(job->simulation->image, bytes), worker);
}

static errcode_t write_record(struct normalize *job, struct tree_stream *tree, struct ext2mb_worker *worker,
                              uint64_t bytes, bool is_last)
{
	if (job->is_delayed)
		return dirty_files_write(&job->dirty, is_last ? TAKE(tree->written) : tree->written, bytes, is_last);
	uint32_t blocks = (uint32_t)image_blocks_of(job->simulation->image, tree->bytes);
	errcode_t error = simulated_file_write_back(NULL, tree->open, worker, blocks);

	if (!error && is_last)
		simulated_file_close(TAKE(tree->open), worker);
	return error;
}

/* Writes a record of the stream's present file, or all of it. */
static errcode_t tree_step(void *context, struct ext2mb_worker *worker, unsigned int stream, bool *is_over)
{
	struct normalize *job = context;
	struct tree_stream *tree = &job->trees[stream];
	uint64_t left = job->sizes.bytes[tree->file] - tree->bytes;
	uint64_t bytes = job->step_bytes && left > job->step_bytes ? job->step_bytes : left;
	errcode_t error = tree->open || tree->written ? 0 : begin_file(job, tree, worker);

	tree->bytes += bytes;
	if (!error)
		error = write_record(job, tree, worker, bytes, bytes == left);
	if (error || bytes < left)
		return error;
	tree->bytes = 0;
	if (++tree->file == job->sizes.ends[tree->directory])
		tree->directory++;
	*is_over = tree->directory == job->sizes.directories;
	return 0;
}

static errcode_t make_tree(struct normalize *job, struct file_set *parent, unsigned int stream)
{
	struct tree_stream *tree = &job->trees[stream];
	struct file_set *top;
	char name[32];

	tree->directories = calloc(job->sizes.directories, sizeof(struct file_set *));
	if (!tree->directories)
		return ENOMEM;
	snprintf(name, sizeof(name), "tree%u", stream);
	errcode_t error = file_set_create(job->simulation->image, parent, name, 0, &top);

	for (size_t number = 0, first = 0; !error && number < job->sizes.directories; number++) {
		snprintf(name, sizeof(name), "d%07zu", number);
		error = file_set_create(job->simulation->image, top, name, job->sizes.ends[number] - first,
		                        &tree->directories[number]);
		first = job->sizes.ends[number];
	}
	return error;
}

static errcode_t write_trees(struct normalize *job, struct file_set *set, struct streams_cost *cost)
{
	struct ext2mb_worker *worker = job->simulation->image->worker;
	errcode_t error = 0;

	job->trees = calloc(job->streams, sizeof(*job->trees));
	if (!job->trees)
		return ENOMEM;
	for (unsigned int stream = 0; !error && stream < job->streams; stream++)
		error = make_tree(job, set, stream);
	if (!error)
		error = streams_run(job->simulation, job->streams, tree_step, job, 0, "cannot write a tree", cost);
	for (unsigned int stream = 0; stream < job->streams; stream++) {
		if (job->trees[stream].open)
			simulated_file_close(job->trees[stream].open, worker);
		dirty_files_abandon(&job->dirty, job->trees[stream].written);
		free(job->trees[stream].directories);
	}
	free(TAKE(job->trees));
	return error;
}

static errcode_t copy_step(struct normalize *job, struct file_set *set, struct streams_cost *cost)
{
	job->step_bytes = 0;
	return write_trees(job, set, cost);
}

static errcode_t untar_step(struct normalize *job, struct file_set *set, struct streams_cost *cost)
{
	uint64_t most_bytes = job->simulation->settings[WRITEBACK].number;

	job->step_bytes = TAR_RECORD_BYTES;
	if (!most_bytes)
		return write_trees(job, set, cost);
	errcode_t error = dirty_files_open(&job->dirty, job->simulation->image, most_bytes);

	job->is_delayed = true;
	if (!error)
		error = write_trees(job, set, cost);
	if (!error)
		error = dirty_files_write_back(&job->dirty);
	dirty_files_close(&job->dirty);
	return error;
}

/* --- Large files: archives and dd's, allocated by writeback while they grow -------------------- */

static errcode_t large_step(void *context, struct ext2mb_worker *worker, unsigned int stream, bool *is_over)
{
	struct normalize *job = context;
	struct simulated_file *file = &job->files->files[stream];
	uint32_t blocks = (uint32_t)image_blocks_of(job->simulation->image, job->file_bytes);
	uint32_t step = (uint32_t)image_blocks_of(job->simulation->image, WRITEBACK_BYTES);
	uint32_t end = blocks - file->blocks < step ? blocks : file->blocks + step;
	errcode_t error = simulated_file_append(NULL, file, worker, end, 0);

	*is_over = end == blocks;
	if (!error && *is_over)
		simulated_file_close(file, worker);
	return error;
}

static errcode_t write_large(struct normalize *job, struct file_set *parent, unsigned int count, uint64_t bytes,
                             struct streams_cost *cost)
{
	struct image *image = job->simulation->image;
	errcode_t error = file_set_create(image, parent, "files", count, &job->files);

	if (error)
		return error;
	job->file_bytes = bytes;
	error = image_blocks_of(image, bytes) < UINT32_MAX ? file_set_alloc_inodes(job->files, image->worker) : EFBIG;
	for (unsigned int index = 0; !error && index < count; index++)
		error = simulated_file_open(job->files, &job->files->files[index], 0, image->worker);
	if (!error)
		error = streams_run(job->simulation, count, large_step, job, 0, "cannot write a large file", cost);
	for (unsigned int index = 0; index < count; index++)
		simulated_file_close(&job->files->files[index], image->worker);
	return error;
}

static errcode_t tar_step(struct normalize *job, struct file_set *set, struct streams_cost *cost)
{
	uint64_t bytes = 2 * (uint64_t)TAR_BLOCK_BYTES;

	for (size_t file = 0; file < job->sizes.count; file++)
		bytes += TAR_BLOCK_BYTES +
		         (job->sizes.bytes[file] + TAR_BLOCK_BYTES - 1) / TAR_BLOCK_BYTES * TAR_BLOCK_BYTES;
	return write_large(job, set, job->streams, bytes, cost);
}

static errcode_t dd_step(struct normalize *job, struct file_set *set, struct streams_cost *cost)
{
	return write_large(job, set, 1, job->simulation->settings[DD_SIZE].number, cost);
}

static errcode_t dds_step(struct normalize *job, struct file_set *set, struct streams_cost *cost)
{
	return write_large(job, set, job->streams, job->simulation->settings[DD_SIZE].number, cost);
}

/* --- fallocate: one call for most of the free space ----------------------------------------------------------------
 */

static errcode_t fallocate_step(struct normalize *job, struct file_set *parent, struct streams_cost *cost)
{
	struct image *image = job->simulation->image;
	uint64_t blocks = ext2mb_free_blocks(image->mb) * FALLOCATE_PERCENT / 100;
	const bool has_unwritten = image->format.extents;
	struct file_set *set;
	errcode_t error = file_set_create(image, parent, "files", 1, &set);

	*cost = (struct streams_cost){ 0 };
	if (blocks >= UINT32_MAX)
		blocks = UINT32_MAX - 1;
	if (!error)
		error = file_set_alloc_inodes(set, image->worker);
	if (!error)
		error = simulated_file_open(set, &set->files[0], 0, image->worker);
	if (error)
		return error;
	set->files[0].map.is_unwritten = has_unwritten;
	error = simulated_file_append(NULL, &set->files[0], image->worker, (uint32_t)blocks,
	                              has_unwritten ? EXT2MB_FILE_UNWRITTEN : 0);
	simulated_file_close(&set->files[0], image->worker);
	return error;
}

/* --- The mix: files grow, shrink and are deleted; each operation opens and closes its file
 * ---------------------------- */

static errcode_t mix_append(struct normalize *job, struct ext2mb_worker *worker, uint32_t index, uint32_t more)
{
	struct simulated_file *file = &job->files->files[index];
	errcode_t error = 0;

	if (!file->ino) {
		error = file_set_alloc_inode(job->files, index, worker);
		/* Every fourth file is made by fallocate(2). */
		file->map.is_unwritten = index % 4 == 0 && job->simulation->image->format.extents;
	}
	if (error)
		return error;
	return simulated_file_finish(job->files, file, worker, file->blocks + more,
	                             file->map.is_unwritten ? EXT2MB_FILE_UNWRITTEN : 0);
}

static errcode_t mix_step(void *context, struct ext2mb_worker *worker, unsigned int stream, bool *is_over)
{
	struct normalize *job = context;
	struct mix_stream *mix = &job->mixes[stream];
	uint32_t index = stream * MIX_FILES + random_below(&mix->random, MIX_FILES);
	struct simulated_file *file = &job->files->files[index];
	uint32_t what = random_below(&mix->random, 8);
	errcode_t error = 0;

	if (mix->operations++ == job->simulation->settings[OPERATIONS].number) {
		*is_over = true;
		return 0;
	}
	if (what < 5 || !file->ino)
		error = mix_append(job, worker, index,
		                   1 + random_below(&mix->random, 1 + random_below(&mix->random, MIX_MOST_BLOCKS)));
	else if (what < 7)
		error = simulated_file_shrink(file, worker, random_below(&mix->random, file->blocks + 1));
	else
		error = simulated_file_delete(file, worker);
	if (!error && mix->operations % MIX_OPERATIONS_PER_COMMIT == 0)
		error = ext2mb_commit(job->simulation->image->mb);
	return error;
}

static errcode_t fsstress_step(struct normalize *job, struct file_set *parent, struct streams_cost *cost)
{
	SCOPE_FREE struct mix_stream *mixes = calloc(job->streams, sizeof(*mixes));
	errcode_t error = mixes ? file_set_create(job->simulation->image, parent, "files",
	                                          (size_t)job->streams * MIX_FILES, &job->files) :
	                          ENOMEM;

	for (unsigned int stream = 0; !error && stream < job->streams; stream++)
		mixes[stream].random = job->simulation->options->seed + stream;
	job->mixes = mixes;
	if (!error)
		error = streams_run(job->simulation, job->streams, mix_step, job, 1, "cannot run the mix", cost);
	job->mixes = NULL;
	return error;
}

/* --- Time of a modelled disk
 * ----------------------------------------------------------------------------------------- */

static errcode_t time_fallocate(struct disk_time *disk, const struct normalize *job, const struct file_set *set)
{
	return normalize_time_bitmaps(disk, job->simulation->image, set->first);
}

/* The source is on another disk. */
static errcode_t time_copy(struct disk_time *disk, const struct normalize *job UNUSED, const struct file_set *set)
{
	return normalize_time_trees(disk, set, NULL, false);
}

static errcode_t time_tar(struct disk_time *disk, const struct normalize *job, const struct file_set *set UNUSED)
{
	/* Without a tree to read, the time is that of one dd. */
	return job->copied ? normalize_time_trees(disk, job->copied, job->archives, true) :
	                     normalize_time_files(disk, job->archives);
}

static errcode_t time_untar(struct disk_time *disk, const struct normalize *job, const struct file_set *set)
{
	return normalize_time_trees(disk, set, job->archives, false);
}

static errcode_t time_files(struct disk_time *disk, const struct normalize *job UNUSED, const struct file_set *set)
{
	return normalize_time_files(disk, set->first);
}

/* --- All of them ----------------------------------------------------------------------------------------------------
 */

static const struct step {
	const char *name;
	errcode_t (*run)(struct normalize *job, struct file_set *set, struct streams_cost *cost);
	errcode_t (*time)(struct disk_time *disk, const struct normalize *job, const struct file_set *set);
} steps[] = {
	{ "fallocate", fallocate_step, time_fallocate },
	{ "copy", copy_step, time_copy },
	{ "tar", tar_step, time_tar },
	{ "untar", untar_step, time_untar },
	{ "single dd", dd_step, time_files },
	{ "several dd", dds_step, time_files },
	{ "fsstress", fsstress_step, time_files },
};

#define STEPS (sizeof(steps) / sizeof(*steps))

static errcode_t remove_files(struct file_set *set, struct ext2mb_worker *worker)
{
	errcode_t error = 0;

	for (size_t index = 0; !error && index < set->count; index++)
		if (set->files[index].ino)
			error = simulated_file_delete(&set->files[index], worker);
	for (struct file_set *child = set->first; !error && child; child = child->next)
		error = remove_files(child, worker);
	return error;
}

static errcode_t add_values(struct normalize *job, const char *section, const struct file_set *set)
{
	struct simulation *simulation = job->simulation;
	errcode_t error = layout_values_add(simulation, section, set);

	if (error)
		return error;
	double partial = (double)partial_stripes(set, configuration_stripe(&simulation->configuration->options));

	result_add(simulation->result, section, RESULT_LAYOUT,
	           (const struct named_value[]){
			   { "partial_stripes", "Stripes covered in part", partial, 0 },
			   { 0 },
		   });
	return 0;
}

/* Models the disk's time for the step's files: see results/disk_time.h. */
static errcode_t time_step(struct normalize *job, const struct step *step, const struct file_set *set, double *seconds)
{
	struct disk_time disk = { .block_bytes = job->simulation->image->format.block_bytes };

	if (step->run == copy_step)
		job->copied = set;
	else if (step->run == tar_step)
		job->archives = set->first;
	errcode_t error = step->time(&disk, job, set);

	*seconds = disk.seconds;
	disk_time_close(&disk);
	return error;
}

static errcode_t run_step(struct normalize *job, const struct step *step, double *seconds)
{
	struct image *image = job->simulation->image;
	struct streams_cost cost;
	struct file_set *set;
	errcode_t error = file_set_create(image, job->top, step->name, 0, &set);

	progress_stage(job->simulation->options->progress, step->name, 0, 0);
	if (!error)
		error = step->run(job, set, &cost);
	if (!error)
		error = add_values(job, step->name, set);
	if (!error)
		error = time_step(job, step, set, seconds);
	if (!error && step->run == fallocate_step)
		error = remove_files(set, image->worker);
	return error ? error : ext2mb_commit(image->mb);
}

/* "single-dd" */
static bool is_step(const char *name, const char *word, size_t length)
{
	for (; length && *name && (*name == *word || (*name == ' ' && *word == '-')); name++, word++)
		length--;
	return !length && !*name;
}

/* Sets a bit for each step of the list; NULL: all steps. */
static errcode_t choose_steps(const char *list, unsigned int *chosen, struct problem *problem)
{
	*chosen = list ? 0 : (1u << STEPS) - 1;
	while (list) {
		size_t length = strcspn(list, ","), step = 0;

		while (step < STEPS && !is_step(steps[step].name, list, length))
			step++;
		if (step == STEPS)
			return problem_set_reason(problem, EINVAL, NULL, "cannot run the seven steps",
			                          "--steps: %.*s is none of fallocate, copy, tar, untar, single-dd, "
			                          "several-dd and fsstress",
			                          (int)length, list);
		*chosen |= 1u << step;
		list = list[length] ? list + length + 1 : NULL;
	}
	return 0;
}

/* Adds the time of each step, which comes first, as in the table of 2014. */
static void add_seconds(struct simulation *simulation, unsigned int chosen, const double *seconds)
{
	unsigned int count = 0;

	for (size_t step = 0; step < STEPS; step++) {
		if (!(chosen & 1u << step))
			continue;
		result_add(simulation->result, "seconds of a modelled disk", RESULT_MODELLED,
		           (const struct named_value[]){ { steps[step].name, steps[step].name, seconds[step], 3 },
		                                         { 0 } });
		count++;
	}
	result_move_first(simulation->result, count);
}

static errcode_t normalize_check(const struct setting *settings, struct problem *problem)
{
	unsigned int chosen;

	return choose_steps(settings[WHICH].text, &chosen, problem);
}

static errcode_t normalize_run(struct simulation *simulation)
{
	const struct setting *settings = simulation->settings;
	struct image *image = simulation->image;
	struct normalize job = {
		.simulation = simulation,
		.streams = (unsigned int)settings[STREAMS].number,
	};
	double seconds[STEPS];
	unsigned int chosen;
	errcode_t error = choose_steps(settings[WHICH].text, &chosen, simulation->problem);

	if (error)
		return error;
	error = settings[SIZES].text ? size_list_read(&job.sizes, settings[SIZES].text, simulation->problem) :
	                               size_list_make(&job.sizes, settings[FILES].number, simulation->options->seed);

	if (!error)
		error = file_set_create(image, NULL, image->directory, 0, &job.top);
	for (size_t step = 0; !error && step < STEPS; step++)
		if (chosen & 1u << step)
			error = run_step(&job, &steps[step], &seconds[step]);
	if (!error)
		add_seconds(simulation, chosen, seconds);
	size_list_close(&job.sizes);
	return error ? problem_set(simulation->problem, error, image->path, "cannot run the seven steps") : 0;
}

static errcode_t normalize_measure(struct simulation *simulation)
{
	return layout_values_add(simulation, "in the end", simulation->image->files);
}

const struct workload normalize_workload = {
	.name = "normalize",
	.summary = "the seven steps of 2014: fallocate, copy, tar, untar, one dd, several dd, fsstress",
	.options = normalize_options,
	.smaller = "--files, --dd-size or --streams",
	.check = normalize_check,
	.run = normalize_run,
	.measure = normalize_measure,
};
