/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bruce Guenter's case of 2008: an archive of small files in random order is extracted, then the directories are
 * deleted one after the other. Deleting was several times slower on ext4 than on ext3, because ext4 wrote the same
 * bitmaps again and again: its locality groups by processor had spread the files of a directory over many groups.
 *
 * The deletion counts writes of metadata: each commit writes all blocks that changed since the last one to the
 * journal. Their own places are written later, and so not more often. Changes of the directories themselves are left
 * out.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "ondisk/directory.h"
#include "simulate/image/dirty_blocks.h"
#include "support/random.h"
#include "simulate/results/counted_values.h"
#include "support/run/interrupt.h"
#include "support/scope_lock.h"

enum { FILES, DIRECTORIES, STREAMS, LATE, BATCH, PLACES, ORDER, KEEP };

/* The order in which directories are deleted. */
enum deletion_order {
	BY_INODE,   /* as rm(1) does for more than 10 000 entries */
	BY_READDIR, /* as readdir(3) returns them: by the hashes of their names */
	BY_NAME,
};

static const struct workload_option unlink_options[] = {
	[FILES] = { "files", "N", SETTING_NUMBER, 100000, 1, 10000000, "how many small files" },
	[DIRECTORIES] = { "directories", "N", SETTING_NUMBER, 1000, 1, 1000000, "that they are spread over evenly" },
	[STREAMS] = { "streams", "N", SETTING_NUMBER, 4, 1, 1024, "how many extract at the same time" },
	[LATE] = { "late", NULL, SETTING_FLAG, 0, 0, 1, "make directories when their first files come" },
	[BATCH] = { "batch", "N", SETTING_NUMBER, 5000, 1, 1000000000, "deletions between two commits" },
	[PLACES] = { "places", "N", SETTING_NUMBER, 6, 1, 1000000, "commits between two writebacks to the places" },
	[ORDER] = { "order", "inode|readdir|name", SETTING_CHOICE, BY_INODE, 0, 0, "of the directories' deletion" },
	[KEEP] = { "keep", NULL, SETTING_FLAG, 0, 0, 1, "do not delete the files after all" },
	{ 0 },
};

#define SINGLE_BLOCK_PERCENT 85
#define MOST_BLOCKS 8 /* of the other files */
#define NAME_BYTES 16 /* of a directory entry with a name of up to 8 letters */

/* Blocks of the journal: a transaction's descriptor blocks, with a tag of 8 bytes for each block, and its commit
 * block. */
#define JOURNAL_HEADER_BYTES 28u
#define JOURNAL_TAG_BYTES 8u

/* Blocks of metadata: by group, by block of all inode tables, and by block of descriptors. */
enum metadata_kind { BLOCK_BITMAPS, INODE_BITMAPS, INODE_TABLES, DESCRIPTORS, METADATA_KINDS };

struct unlink_job {
	struct simulation *simulation;
	struct dirty_blocks dirty[METADATA_KINDS];  /* written to the journal, by commit */
	struct dirty_blocks placed[METADATA_KINDS]; /* written in place, which happens less often */
	uint64_t commits;
	struct file_set **directories; /* by name until they are sorted for the deletion */
	uint32_t directory_count;
	uint32_t *order; /* order of extraction of all files */
	struct {
		uint32_t next, end;
	} * parts; /* by stream: the rest of its part of the order */
	uint32_t files;
	pthread_mutex_t making; /* for making a directory with its first file */
};

/* A file's size does not depend on the time or the thread of its extraction. */
static uint32_t blocks_of(const struct unlink_job *job, uint32_t number)
{
	uint64_t random = job->simulation->options->seed ^ (uint64_t)number << 32;

	if (random_below(&random, 100) < SINGLE_BLOCK_PERCENT)
		return 1;
	return 2 + random_below(&random, MOST_BLOCKS - 1);
}

/* Makes the directory if no other thread has. */
static errcode_t make_late(struct unlink_job *job, struct file_set *set, struct ext2mb_worker *worker)
{
	SCOPE_LOCK(&job->making);
	return set->directory.ino ? 0 : file_set_alloc_directory(set, worker);
}

static errcode_t extract_step(void *context, struct ext2mb_worker *worker, unsigned int stream, bool *is_over)
{
	struct unlink_job *job = context;
	const struct image *image = job->simulation->image;

	*is_over = job->parts[stream].next == job->parts[stream].end;
	if (*is_over)
		return 0;
	uint32_t number = job->order[job->parts[stream].next++];
	struct file_set *set = job->directories[number % job->directory_count];
	size_t index = number / job->directory_count;
	struct simulated_file *file = &set->files[index];
	uint32_t blocks = blocks_of(job, number);
	errcode_t error = job->simulation->settings[LATE].number ? make_late(job, set, worker) : 0;

	if (!error)
		error = file_set_alloc_inode(set, index, worker);
	if (error)
		return error;
	/* Without locality groups each file goes as near to its inode's group as possible, as in ext3. */
	if (job->simulation->configuration->options.allocator.locality == EXT2MB_LOCALITY_NONE)
		return simulated_file_append_near(file, worker, image_inode_group_start(image, file->ino), blocks);
	return simulated_file_finish(set, file, worker, blocks, 0);
}

static void shuffle(struct unlink_job *job, uint64_t seed)
{
	for (uint32_t file = 0; file < job->files; file++)
		job->order[file] = file;
	for (uint32_t left = job->files; left > 1; left--) {
		uint32_t other = random_below(&seed, left);
		uint32_t last = job->order[left - 1];

		job->order[left - 1] = job->order[other];
		job->order[other] = last;
	}
}

static errcode_t make_directories(struct unlink_job *job)
{
	struct image *image = job->simulation->image;
	struct file_set *top;
	errcode_t error = file_set_create(image, NULL, image->directory, 0, &top);
	for (uint32_t number = 0; !error && number < job->directory_count; number++) {
		size_t count = job->files / job->directory_count + (number < job->files % job->directory_count);
		char name[16];

		snprintf(name, sizeof(name), "d%07u", number);
		error = file_set_prepare(image, top, name, count, &job->directories[number]);
		if (!error && !job->simulation->settings[LATE].number)
			error = file_set_alloc_directory(job->directories[number], image->worker);
	}
	return error;
}

static errcode_t prepare(struct unlink_job *job, unsigned int streams)
{
	job->directories = calloc(job->directory_count, sizeof(struct file_set *));
	job->order = calloc(job->files, sizeof(*job->order));
	job->parts = calloc(streams, sizeof(*job->parts));
	if (!job->directories || !job->order || !job->parts)
		return ENOMEM;
	for (unsigned int stream = 0; stream < streams; stream++) {
		job->parts[stream].next = (uint32_t)((uint64_t)job->files * stream / streams);
		job->parts[stream].end = (uint32_t)((uint64_t)job->files * (stream + 1) / streams);
	}
	shuffle(job, job->simulation->options->seed);
	return make_directories(job);
}

/* The mean number of block bitmaps with blocks of a directory's files. */
static errcode_t bitmaps_per_directory(const struct unlink_job *job, double *ret)
{
	const struct image *image = job->simulation->image;
	struct dirty_blocks seen;
	errcode_t error = dirty_blocks_open(&seen, image->geometry.groups);

	if (error)
		return problem_set(job->simulation->problem, error, image->path, "cannot count bitmaps");
	for (uint32_t number = 0; number < job->directory_count; number++) {
		const struct file_set *set = job->directories[number];

		for (size_t index = 0; index < set->count; index++)
			for (size_t extent = 0; extent < set->files[index].map.count; extent++)
				dirty_blocks_mark(
					&seen, image_block_group(image, set->files[index].map.extents[extent].physical),
					number + 1);
	}
	*ret = (double)seen.writes / job->directory_count;
	dirty_blocks_close(&seen);
	return 0;
}

/* --- The order of deletion ---------------------------------------------------------------------------------- */

struct ranked {
	uint64_t rank;
	struct file_set *directory;
};

static int by_rank(const void *left, const void *right)
{
	const struct ranked *one = left, *other = right;

	return (one->rank > other->rank) - (one->rank < other->rank);
}

/* Without an htree, the names are in the order of creation. */
static errcode_t readdir_rank(const struct image *image, const char *name, uint64_t *rank)
{
	const struct directory_name directory_name = { .name = name, .length_bytes = (uint8_t)strlen(name) };
	uint32_t hash, minor;

	if (!image->format.dir_index)
		return 0;
	errcode_t error = directory_hash(&image->format, &directory_name, false, &hash, &minor);

	*rank = (uint64_t)hash << 32 | minor;
	return error;
}

static errcode_t sort_directories(struct unlink_job *job)
{
	SCOPE_FREE struct ranked *ranked = calloc(job->directory_count, sizeof(*ranked));
	uint64_t order = job->simulation->settings[ORDER].number;
	errcode_t error = ranked ? 0 : ENOMEM;

	for (uint32_t number = 0; !error && number < job->directory_count; number++) {
		struct file_set *directory = job->directories[number];

		ranked[number] = (struct ranked){ number, directory };
		if (order == BY_INODE)
			ranked[number].rank = directory->directory.ino;
		else if (order == BY_READDIR)
			error = readdir_rank(job->simulation->image, directory->name, &ranked[number].rank);
	}
	if (error)
		return error;
	qsort(ranked, job->directory_count, sizeof(*ranked), by_rank);
	for (uint32_t number = 0; number < job->directory_count; number++)
		job->directories[number] = ranked[number].directory;
	return 0;
}

/* --- The deletion ------------------------------------------------------------------------------------------- */

static errcode_t open_counts(struct unlink_job *job)
{
	const struct image *image = job->simulation->image;
	errcode_t error = 0;

	for (unsigned int kind = 0; !error && kind < METADATA_KINDS; kind++) {
		size_t count = kind == INODE_TABLES ? (size_t)image->table_blocks_per_group * image->geometry.groups :
		                                      image->geometry.groups;

		error = dirty_blocks_open(&job->dirty[kind], count);
		if (!error)
			error = dirty_blocks_open(&job->placed[kind], count);
	}
	return error;
}

static void mark(struct unlink_job *job, enum metadata_kind kind, size_t block, uint32_t deletion)
{
	const struct setting *settings = job->simulation->settings;
	const struct writeback writeback = { .changes = settings[BATCH].number, .commits = settings[PLACES].number };

	job->commits = deletion / writeback.changes + 1;
	dirty_blocks_mark(&job->dirty[kind], block, (uint32_t)job->commits);
	dirty_blocks_change(&job->placed[kind], &writeback, block, deletion);
}

/* A bitmap of the group changes, and with it the group's descriptor. */
static void mark_bitmap(struct unlink_job *job, enum metadata_kind kind, uint32_t group, uint32_t deletion)
{
	mark(job, kind, group, deletion);
	mark(job, DESCRIPTORS, group / job->simulation->image->descriptors_per_block, deletion);
}

/* Marks the blocks that the deletion of a file changes, without the directory's. */
static void mark_file(struct unlink_job *job, const struct simulated_file *file, uint32_t deletion)
{
	const struct image *image = job->simulation->image;
	uint32_t group = (file->ino - 1) / image->geometry.inodes_per_group;
	size_t in_group = (file->ino - 1) % image->geometry.inodes_per_group;

	mark_bitmap(job, INODE_BITMAPS, group, deletion);
	mark(job, INODE_TABLES,
	     (size_t)group * image->table_blocks_per_group +
	             in_group * image->format.inode_bytes / image->format.block_bytes,
	     deletion);
	/* An extent of a small file never reaches into the next group. */
	for (size_t index = 0; index < file->map.count; index++)
		mark_bitmap(job, BLOCK_BITMAPS, image_block_group(image, file->map.extents[index].physical), deletion);
}

static errcode_t delete_files(struct unlink_job *job, struct file_set *directory, uint64_t *deleted)
{
	uint64_t batch_files = job->simulation->settings[BATCH].number;
	struct image *image = job->simulation->image;

	for (size_t index = 0; index < directory->count; index++, ++*deleted) {
		errcode_t error = interrupt_pending() ? EINTR : 0;

		mark_file(job, &directory->files[index], (uint32_t)*deleted);
		if (!error)
			error = simulated_file_delete(&directory->files[index], image->worker);
		if (!error && (*deleted + 1) % batch_files == 0)
			error = ext2mb_commit(image->mb);
		if (error)
			return error;
	}
	return 0;
}

static uint64_t sum_writes(const struct dirty_blocks *kinds)
{
	uint64_t writes = 0;

	for (unsigned int kind = 0; kind < METADATA_KINDS; kind++)
		writes += kinds[kind].writes;
	return writes;
}

/* Adds the writes of a filesystem with a journal: each commit there, and later each block in place. */
static void add_journal(struct unlink_job *job, uint64_t logged)
{
	const struct dirty_blocks *bitmaps = &job->placed[BLOCK_BITMAPS];

	for (unsigned int kind = 0; kind < METADATA_KINDS; kind++)
		dirty_blocks_write_rest(&job->placed[kind]);
	uint32_t block_bytes = job->simulation->image->format.block_bytes;
	uint64_t tags = (block_bytes - JOURNAL_HEADER_BYTES) / JOURNAL_TAG_BYTES;
	double journal = (double)(logged + logged / tags + 2 * job->commits) * block_bytes / (1 << 20);
	double places = (double)sum_writes(job->placed) * block_bytes / (1 << 20);

	result_add(job->simulation->result, NULL, RESULT_MODELLED,
	           (const struct named_value[]){
			   { "commits", "Commits", (double)job->commits, 0 },
			   { "journal_mib", "MiB into a journal", journal, 1 },
			   { "places_mib", "MiB to their places", places, 1 },
			   { "written_mib", "MiB written, of both", journal + places, 1 },
			   { "bitmap_places", "Writes of a block bitmap to its place",
	                     (double)bitmaps->writes / (double)bitmaps->distinct, 1 },
			   { "bitmap_most_places", "Most of one", dirty_blocks_most(bitmaps), 0 },
			   { 0 },
		   });
}

/*
 * Adds reads of blocks before their change, once each because caches keep them: bitmaps, inode tables, and the
 * directories' own blocks.
 */
static void add_reads(const struct unlink_job *job)
{
	uint32_t block_bytes = job->simulation->image->format.block_bytes;
	uint64_t bitmaps = job->dirty[BLOCK_BITMAPS].distinct + job->dirty[INODE_BITMAPS].distinct;
	uint64_t tables = job->dirty[INODE_TABLES].distinct, directories = 0;

	for (uint32_t number = 0; number < job->directory_count; number++)
		directories += (job->directories[number]->count * NAME_BYTES + block_bytes - 1) / block_bytes;
	uint64_t all = bitmaps + tables + directories;

	result_add(job->simulation->result, NULL, RESULT_MODELLED,
	           (const struct named_value[]){
			   { "bitmap_reads", "Bitmap reads", (double)bitmaps, 0 },
			   { "inode_table_reads", "Inode table reads", (double)tables, 0 },
			   { "directory_reads", "Directory block reads", (double)directories, 0 },
			   { "read_mib", "MiB read", (double)all * block_bytes / (1 << 20), 1 },
			   { 0 },
		   });
}

static void add_writes(struct unlink_job *job)
{
	const struct dirty_blocks *bitmaps = &job->dirty[BLOCK_BITMAPS], *inode_bitmaps = &job->dirty[INODE_BITMAPS];
	uint64_t writes = sum_writes(job->dirty);

	double mib = (double)writes * job->simulation->image->format.block_bytes / (1 << 20);

	result_add(job->simulation->result, NULL, RESULT_LAYOUT,
	           (const struct named_value[]){
			   { "bitmaps_dirtied", "Block bitmaps dirtied", (double)bitmaps->distinct, 0 },
			   { "bitmap_writes", "Block bitmap writes", (double)bitmaps->writes, 0 },
			   { "bitmap_rewrites", "Of those, of the same block again",
	                     (double)(bitmaps->writes - bitmaps->distinct), 0 },
			   { "bitmap_most_writes", "Most writes of one block bitmap", dirty_blocks_most(bitmaps), 0 },
			   { "inode_bitmap_writes", "Inode bitmap writes", (double)inode_bitmaps->writes, 0 },
			   { "inode_bitmap_most_writes", "Most writes of one inode bitmap",
	                     dirty_blocks_most(inode_bitmaps), 0 },
			   { "inode_table_writes", "Inode table writes", (double)job->dirty[INODE_TABLES].writes, 0 },
			   { "descriptor_writes", "Descriptor writes", (double)job->dirty[DESCRIPTORS].writes, 0 },
			   { "metadata_mib", "MiB of metadata written", mib, 1 },
			   { 0 },
		   });
	add_reads(job);
	add_journal(job, writes);
}

static errcode_t delete_all(struct unlink_job *job)
{
	struct simulation *simulation = job->simulation;
	uint64_t deleted = 0;
	errcode_t error = open_counts(job);

	if (!error)
		error = sort_directories(job);
	for (uint32_t number = 0; !error && number < job->directory_count; number++)
		error = delete_files(job, job->directories[number], &deleted);
	if (error)
		return problem_set(simulation->problem, error, simulation->image->path, "cannot delete");
	add_writes(job);
	return 0;
}

/* --- The job ------------------------------------------------------------------------------------------------ */

/* Makes the directories that got no file. */
static errcode_t make_rest(struct unlink_job *job)
{
	struct simulation *simulation = job->simulation;
	errcode_t error = 0;

	for (uint32_t number = 0; !error && number < job->directory_count; number++)
		error = make_late(job, job->directories[number], simulation->image->worker);
	return error ? problem_set(simulation->problem, error, simulation->image->path, "cannot make directories") : 0;
}

static errcode_t run_job(struct unlink_job *job, unsigned int streams)
{
	struct simulation *simulation = job->simulation;
	struct streams_cost cost;
	double bitmaps = 0;
	errcode_t error = prepare(job, streams);

	if (error)
		return problem_set(simulation->problem, error, simulation->image->path, "cannot make directories");
	progress_stage(simulation->options->progress, "extract", 0, job->files);
	error = streams_run(simulation, streams, extract_step, job, STREAMS_STEP_IS_FILE, "cannot extract", &cost);
	if (!error)
		error = make_rest(job);
	if (!error)
		error = bitmaps_per_directory(job, &bitmaps);
	if (error)
		return error;
	result_add(simulation->result, NULL, RESULT_MEASURED,
	           (const struct named_value[]){
			   { "extract_seconds", "Seconds to extract", cost.seconds, 2 },
			   { 0 },
		   });
	result_add(simulation->result, NULL, RESULT_LAYOUT,
	           (const struct named_value[]){
			   { "bitmaps_per_directory", "Block bitmaps of a directory's files", bitmaps, 1 },
			   { 0 },
		   });
	if (simulation->settings[KEEP].number)
		return 0;
	return delete_all(job);
}

static errcode_t unlink_run(struct simulation *simulation)
{
	const struct setting *settings = simulation->settings;
	struct unlink_job job = {
		.simulation = simulation,
		.files = (uint32_t)settings[FILES].number,
		.directory_count = (uint32_t)settings[DIRECTORIES].number,
	};

	pthread_mutex_init(&job.making, NULL);
	errcode_t error = run_job(&job, (unsigned int)settings[STREAMS].number);

	pthread_mutex_destroy(&job.making);
	for (unsigned int kind = 0; kind < METADATA_KINDS; kind++) {
		dirty_blocks_close(&job.dirty[kind]);
		dirty_blocks_close(&job.placed[kind]);
	}
	free(job.directories);
	free(job.order);
	free(job.parts);
	return error;
}

static errcode_t unlink_measure(struct simulation *simulation)
{
	return simulation->settings[KEEP].number ? layout_values_add(simulation, NULL, simulation->image->files) : 0;
}

const struct workload unlink_workload = {
	.name = "unlink",
	.summary = "small files in random order, then deleted directory by directory (the case of 2008)",
	.options = unlink_options,
	.smaller = "--files",
	.run = unlink_run,
	.measure = unlink_measure,
};
