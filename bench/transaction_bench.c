/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that write contents of new files in a transaction: through the channel, with ext2mb_transaction_write_data(),
 * or by themselves into what they have claimed. Then all is aborted: only free blocks of the image have been changed.
 *
 *   transaction_bench [options] IMAGE
 *     --how=channel|write_data|claim
 *     --threads=2 --mib=512 --write-kib=256
 *     --direct           with O_DIRECT, from aligned memory
 *     --unaligned        from memory that O_DIRECT does not take
 *     --sums             each thread looks at all bytes first, as one does that reads them from somewhere
 *
 * Prints what was written a second until the last thread ends.
 */
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <ext2fs/ext2mb.h>

#define MOST_THREADS 64

struct settings {
	const char *how, *image;
	unsigned int threads;
	uint64_t bytes, write_bytes;
	bool is_direct, is_unaligned, has_sums;
};

struct task {
	const struct settings *settings;
	ext2_filsys fs;
	int descriptor;
	blk64_t *runs; /* owned, where each write goes */
	unsigned int count;
	uint32_t sum;
	pthread_t thread;
};

static void must(errcode_t error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "transaction_bench: %s: %s\n", what, error_message(error));
	exit(1);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void write_by_itself(const struct task *task, blk64_t block, blk64_t count, const uint8_t *data)
{
	size_t bytes = count * task->fs->blocksize;

	must(ext2mb_transaction_claim_data(task->fs, block, count), "claim_data");
	ssize_t written = pwrite(task->descriptor, data, bytes, (off_t)(block * task->fs->blocksize));

	must(ext2mb_transaction_release_data(task->fs, block, count,
	                                     written == (ssize_t)bytes ? 0 : EXT2_ET_SHORT_WRITE),
	     "release_data");
}

static void *write_all(void *context)
{
	struct task *task = context;
	const struct settings *settings = task->settings;
	blk64_t blocks = settings->write_bytes / task->fs->blocksize;
	uint8_t *memory = NULL, *data;

	if (posix_memalign((void **)&memory, 4096, settings->write_bytes + 16))
		must(EXT2_ET_NO_MEMORY, "memory");
	data = memory + (settings->is_unaligned ? 16 : 0);
	memset(data, 'x', settings->write_bytes);
	for (unsigned int index = 0; index < task->count; index++) {
		blk64_t block = task->runs[index];

		if (settings->has_sums)
			task->sum = ext2fs_crc32c_le(task->sum, data, settings->write_bytes);
		if (!strcmp(settings->how, "channel"))
			must(io_channel_write_blk64(task->fs->io, block, (int)blocks, data), "write_blk64");
		else if (!strcmp(settings->how, "claim"))
			write_by_itself(task, block, blocks, data);
		else
			must(ext2mb_transaction_write_data(task->fs, block, blocks, data), "write_data");
	}
	free(memory);
	return NULL;
}

/* Free runs of blocks, in use from now on. */
static void find_blocks(struct task *task, blk64_t *from)
{
	int blocks = (int)(task->settings->write_bytes / task->fs->blocksize);

	task->count = (unsigned int)(task->settings->bytes / task->settings->threads / task->settings->write_bytes);
	task->runs = calloc(task->count, sizeof(*task->runs));
	if (!task->runs)
		must(EXT2_ET_NO_MEMORY, "memory");
	for (unsigned int index = 0; index < task->count; index++) {
		must(ext2fs_get_free_blocks2(task->fs, *from, 0, blocks, NULL, &task->runs[index]), "get_free_blocks");
		*from = task->runs[index];
		ext2fs_block_alloc_stats_range(task->fs, *from, (blk_t)blocks, +1);
	}
}

static void run(const struct settings *settings, ext2_filsys fs)
{
	static struct task tasks[MOST_THREADS];
	blk64_t from = 0;
	int descriptor = open(settings->image, O_WRONLY | O_CLOEXEC | (settings->is_direct ? O_DIRECT : 0));

	must(ext2mb_transaction_begin(fs), "begin");
	for (unsigned int index = 0; index < settings->threads; index++) {
		tasks[index] = (struct task){ .settings = settings, .fs = fs, .descriptor = descriptor };
		find_blocks(&tasks[index], &from);
	}
	double begin = seconds();

	for (unsigned int index = 0; index < settings->threads; index++)
		if (pthread_create(&tasks[index].thread, NULL, write_all, &tasks[index]))
			must(EXT2_ET_NO_MEMORY, "pthread_create");
	for (unsigned int index = 0; index < settings->threads; index++) {
		pthread_join(tasks[index].thread, NULL);
		free(tasks[index].runs);
	}
	double end = seconds();

	must(ext2mb_transaction_abort(fs), "abort");
	printf("%s, %u threads, %llu KiB a write%s%s%s: %.0f MiB/s\n", settings->how, settings->threads,
	       (unsigned long long)settings->write_bytes / 1024, settings->is_direct ? ", O_DIRECT" : "",
	       settings->is_unaligned ? ", unaligned" : "", settings->has_sums ? ", sums" : "",
	       (double)settings->bytes / (end - begin) / (1 << 20));
	close(descriptor);
}

static struct settings read_settings(int argc, char **argv)
{
	static const struct option options[] = {
		{ "how", required_argument, NULL, 'h' }, { "threads", required_argument, NULL, 't' },
		{ "mib", required_argument, NULL, 'm' }, { "write-kib", required_argument, NULL, 'w' },
		{ "direct", no_argument, NULL, 'd' },    { "sums", no_argument, NULL, 's' },
		{ "unaligned", no_argument, NULL, 'u' }, { NULL, 0, NULL, 0 },
	};
	struct settings settings = { .how = "write_data", .threads = 2, .bytes = 512 << 20, .write_bytes = 256 << 10 };

	for (int letter; (letter = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		uint64_t number = optarg ? strtoull(optarg, NULL, 10) : 0;

		if (letter == 'h')
			settings.how = optarg;
		else if (letter == 't')
			settings.threads = (unsigned int)number;
		else if (letter == 'm')
			settings.bytes = number << 20;
		else if (letter == 'w')
			settings.write_bytes = number << 10;
		else if (letter == 'd')
			settings.is_direct = true;
		else if (letter == 'u')
			settings.is_unaligned = true;
		else if (letter == 's')
			settings.has_sums = true;
		else
			exit(2);
	}
	if (argc != optind + 1 || !settings.threads || settings.threads > MOST_THREADS || settings.write_bytes < 4096) {
		fprintf(stderr, "usage: transaction_bench [options] IMAGE\n");
		exit(2);
	}
	settings.image = argv[optind];
	return settings;
}

int main(int argc, char **argv)
{
	const struct settings settings = read_settings(argc, argv);
	int flags = EXT2_FLAG_RW | EXT2_FLAG_64BITS | (settings.is_direct ? EXT2_FLAG_DIRECT_IO : 0);
	ext2_filsys fs;

	initialize_ext2_error_table();
	must(ext2fs_open(settings.image, flags, 0, 0, ext2mb_transaction_io_manager(0), &fs), settings.image);
	must(ext2fs_read_bitmaps(fs), "read_bitmaps");
	run(&settings, fs);
	ext2fs_free(fs);
	return 0;
}
