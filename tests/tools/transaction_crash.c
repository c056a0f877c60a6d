/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * transaction_crash [-p POINTS] [-s SEED] [-n TRANSACTIONS] [-l LARGE_BLOCKS] [-k EVERY] [-w TWIN] IMAGE
 *
 * Changes IMAGE in transactions, contents of some files by threads, and crashes at POINTS random moments: only a prefix
 * of what was written is on the disk, of what came after the last flush all, a part, torn sectors, or a part in another
 * order. e2fsck replays the journal: the filesystem must be clean and show the state before or after each transaction.
 * Each EVERYth disk is replayed by the kernel and by debugfs, too, with the same result (0: none). After each commit
 * the filesystem must be what libext2fs writes without transactions. TWIN is a fault that has to be found:
 * without-flush, flush-commits, stale-checksum, in-use, late-data. Exit status 1: something was wrong.
 */
#include <err.h>
#include <getopt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2mb.h>

#include "crash_judge.h"
#include "crash_points.h"
#include "transaction/channel.h"
#include "transaction/commit.h"
#include "recorded_disk.h"
#include "support/cleanup.h"
#include "transaction_work.h"

#define CHANGES 6 /* of a transaction */

struct options {
	unsigned long points, every, transactions, large_blocks;
	uint64_t seed;
	const char *twin, *image;
};

struct run {
	const struct options *options;
	struct crash_judge judge;
	struct crash_disk disk;
	struct crash_state *states; /* after so many commits */
	unsigned long failures;
};

static io_manager transaction_manager_of(const char *twin);

static void check(errcode_t error, const char *what)
{
	if (error)
		errx(2, "%s: %s", what, error_message(error));
}

static bool is_twin(const struct options *options, const char *name)
{
	return options->twin && !strcmp(options->twin, name);
}

static ext2_filsys open_filesystem(const char *path, io_manager manager)
{
	ext2_filsys fs;

	check(ext2fs_open(path, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, manager, &fs), "open");
	check(ext2fs_read_bitmaps(fs), "read_bitmaps");
	return fs;
}

static struct crash_state state_of_file(struct run *run, const char *path)
{
	uint64_t bytes;
	SCOPE_FREE uint8_t *disk = recorded_disk_read(path, &bytes);

	return crash_judge_state(&run->judge, disk);
}

/* Changes that are taken back: the next transaction is as if they had never been. */
static void abort_one(struct work *work)
{
	struct work copy = *work;

	check(ext2mb_transaction_begin(copy.fs), "begin");
	work_step(&copy, CHANGES);
	check(ext2mb_transaction_abort(copy.fs), "abort");
	if (!ext2fs_flush(copy.fs))
		errx(2, "what was aborted can be written");
	ext2fs_free(copy.fs);
}

static void close_and_open(struct work *work, const char *path, io_manager manager, bool is_aborted)
{
	if (is_aborted)
		abort_one(work);
	else
		check(ext2fs_close(work->fs), "close");
	work->fs = open_filesystem(path, manager);
}

/* Contents that a faulty program writes only after its commit. */
struct late_write {
	uint64_t start, count;
	void *data;
};
static struct late_write late_writes[1000];
static atomic_uint late_count;

static errcode_t write_late(ext2_filsys fs, uint64_t start, uint64_t count, const void *data)
{
	struct late_write *write = &late_writes[atomic_fetch_add(&late_count, 1)];

	*write = (struct late_write){ start, count, malloc(count * fs->blocksize) };
	if (!write->data)
		errx(2, "out of memory");
	memcpy(write->data, data, count * fs->blocksize);
	return 0;
}

static void catch_up(ext2_filsys fs)
{
	const struct channel_state *state = channel_state_of(fs->io);

	for (unsigned int index = 0; index < late_count; index++) {
		struct late_write *write = &late_writes[index];

		check(io_channel_write_blk64(state->backing, write->start, (int)write->count, write->data), "write");
		free(write->data);
	}
	late_count = 0;
}

/* All transactions; without a journal they are only flushed. */
static void do_work(struct run *run, const char *path, io_manager manager, struct crash_state *states)
{
	bool is_journalled = manager != unix_io_manager;
	struct work work;

	work_write_data write_data = !is_journalled                     ? NULL :
	                             is_twin(run->options, "late-data") ? write_late :
	                                                                  ext2mb_transaction_write_data;

	work_init(&work, run->options->seed, (unsigned int)run->options->large_blocks, write_data);
	work.fs = open_filesystem(path, manager);
	states[0] = state_of_file(run, path);
	for (unsigned long index = 1; index <= run->options->transactions; index++) {
		if (is_journalled)
			check(ext2mb_transaction_begin(work.fs), "begin");
		work_step(&work, CHANGES);
		check(is_journalled ? ext2mb_transaction_commit(work.fs) : ext2fs_flush(work.fs), "commit");
		if (is_journalled)
			catch_up(work.fs);
		if (is_journalled)
			recorded_disk_committed();
		states[index] = state_of_file(run, path);
		/* Not in the twins: closing would hide what is lost. */
		if (index % 3 == 0)
			close_and_open(&work, path, manager, is_journalled && index % 2 == 0);
	}
	check(ext2fs_close(work.fs), "close");
}

static void compare_with_stock(struct run *run)
{
	SCOPE_FREE struct crash_state *stock = calloc(run->options->transactions + 1, sizeof(*stock));
	SCOPE_FREE char *path = NULL;

	if (!stock || asprintf(&path, "%s.stock", run->options->image) < 0)
		errx(2, "out of memory");
	SCOPE_FCLOSE FILE *file = fopen(path, "w");

	if (!file || fwrite(run->disk.base, 1, run->disk.size, file) != run->disk.size || fflush(file))
		err(2, "%s", path);
	do_work(run, path, unix_io_manager, stock);
	for (unsigned long index = 0; index <= run->options->transactions; index++) {
		if (memcmp(stock[index].hashes, run->states[index].hashes,
		           run->judge.blocks * sizeof(*stock->hashes))) {
			printf("transaction %lu is not what libext2fs alone would have written\n", index);
			run->failures++;
		}
		free(stock[index].hashes);
	}
}

/* NULL, or what is wrong. */
static const char *judge_disk(struct run *run, unsigned long commits, bool by_all)
{
	const char *problem = crash_judge_replay(&run->judge, run->disk.bytes);
	bool is_before = crash_judge_shows(&run->judge, &run->states[commits]);
	bool is_after =
		commits < run->options->transactions && crash_judge_shows(&run->judge, &run->states[commits + 1]);

	if (!problem && !is_before && !is_after)
		problem = "it is between two states";
	if (!problem && by_all)
		problem = crash_judge_kernel(&run->judge, run->disk.bytes);
	if (!problem && by_all)
		problem = crash_judge_debugfs(&run->judge, run->disk.bytes);
	return problem;
}

static void crash(struct run *run)
{
	const struct options *options = run->options;
	struct random random = { options->seed + 1 };

	for (unsigned long point = 0; point < options->points; point++) {
		struct crash_point where = crash_disk_make(&run->disk, &random);
		const char *problem = judge_disk(run, where.commits, options->every && point % options->every == 0);

		if (!problem)
			continue;
		if (!run->failures++)
			printf("point %lu, %zu of %zu events, %lu commits, %s: %s\n", point, where.end,
			       recorded_disk.count, where.commits, where.loss, problem);
		/* A twin has been found. */
		if (options->twin)
			return;
	}
}

static const struct channel_manager *manager_of_channels;

static errcode_t open_channel(const char *name, int flags, io_channel *channel)
{
	return channel_open(name, flags, manager_of_channels, channel);
}

/* A faulty twin. */
static errcode_t flush_that_commits(io_channel channel)
{
	struct channel_state *state = channel_state_of(channel);

	pthread_rwlock_wrlock(&state->lock);
	errcode_t error = state->phase == TRANSACTION_OPEN ? commit_held(state) : 0;
	pthread_rwlock_unlock(&state->lock);
	return error;
}

static errcode_t (*sound_write)(io_channel channel, unsigned long long block, int count, const void *data);

/* Another one: inode tables are written at once. */
static errcode_t write_of_what_is_in_use(io_channel channel, unsigned long long block, int count, const void *data)
{
	struct channel_state *state = channel_state_of(channel);
	const struct layout *layout = &state->layout;

	if (state->phase == TRANSACTION_OPEN && channel->block_size == (int)layout->block_bytes && count == 1 &&
	    block >= layout->group[0].inode_table && block < layout->group[0].inode_table + layout->inode_table_blocks)
		check(io_channel_write_blk64(state->backing, block, count, data), "write");
	return sound_write(channel, block, count, data);
}

static io_manager transaction_manager_of(const char *twin)
{
	static struct struct_io_manager functions;
	static const struct channel_manager manager = { .functions = &functions, .backing = &recorded_disk_manager };

	manager_of_channels = &manager;
	functions = channel_functions(open_channel);
	if (twin && !strcmp(twin, "flush-commits"))
		functions.flush = flush_that_commits;
	if (twin && !strcmp(twin, "in-use")) {
		sound_write = functions.write_blk64;
		functions.write_blk64 = write_of_what_is_in_use;
	}
	return &functions;
}

static void record_work(struct run *run)
{
	const struct options *options = run->options;
	ext2_filsys fs = open_filesystem(options->image, unix_io_manager);
	blk64_t journal;

	check(ext2fs_bmap2(fs, EXT2_JOURNAL_INO, NULL, NULL, 0, 0, NULL, &journal), "bmap");
	recorded_disk.journal_super_offset = journal * fs->blocksize;
	ext2fs_free(fs);
	if (is_twin(options, "without-flush"))
		recorded_disk.fault = DISK_WITHOUT_FLUSH;
	if (is_twin(options, "stale-checksum"))
		recorded_disk.fault = DISK_STALE_CHECKSUM;
	do_work(run, options->image, transaction_manager_of(options->twin), run->states);
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
	struct options options = { .points = 100, .transactions = 6, .seed = 1 };

	for (int letter; (letter = getopt(argc, argv, "p:s:n:l:k:w:")) != -1;)
		switch (letter) {
		case 'p':
			options.points = number(optarg);
			break;
		case 's':
			options.seed = number(optarg);
			break;
		case 'n':
			options.transactions = number(optarg);
			break;
		case 'l':
			options.large_blocks = number(optarg);
			break;
		case 'k':
			options.every = number(optarg);
			break;
		case 'w':
			options.twin = optarg;
			break;
		default:
			exit(2);
		}
	if (argc != optind + 1)
		errx(2, "one image");
	options.image = argv[optind];
	return options;
}

int main(int argc, char **argv)
{
	const struct options options = read_options(argc, argv);
	/* Not of this function, so that LeakSanitizer sees at the end what it has. */
	static struct run run;
	static char *path;

	run.options = &options;
	initialize_ext2_error_table();
	initialize_e2mb_error_table();
	run.disk.base = recorded_disk_read(options.image, &run.disk.size);
	run.disk.bytes = malloc(run.disk.size);
	run.states = calloc(options.transactions + 1, sizeof(*run.states));
	if (!run.disk.bytes || !run.states || asprintf(&path, "%s.crash", options.image) < 0)
		errx(2, "out of memory");
	crash_judge_init(&run.judge, path, run.disk.base, run.disk.size);
	record_work(&run);
	compare_with_stock(&run);
	crash(&run);
	printf("%lu points of %lu transactions: %lu wrong\n", options.points, options.transactions, run.failures);
	return run.failures != 0;
}
