/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that are written in turns through libext2fs, a few KiB a call, with and without ext2mb_attach(). The image is
 * changed.
 *
 *   attach_bench [options] IMAGE
 *     --attach           else libext2fs allocates by itself
 *     --files=64 --file-mib=16 --write-kib=4
 *
 * Prints the extents of the files, processor time, and what the allocator had to search for.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include <ext2fs/ext2mb.h>

#define MOST_FILES 4096

struct settings {
	unsigned int files;
	uint64_t file_bytes;
	uint64_t write_bytes;
	int attaches;
};

struct extents {
	uint64_t least;
	uint64_t most;
	uint64_t all;
};

static void must(errcode_t error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "attach_bench: %s: %s\n", what, error_message(error));
	exit(1);
}

static ext2_ino_t create_file(ext2_filsys fs, unsigned int number)
{
	struct ext2_inode inode = { .i_mode = S_IFREG | 0644, .i_links_count = 1, .i_flags = EXT4_EXTENTS_FL };
	ext2_extent_handle_t handle;
	ext2_ino_t ino;
	char name[32];

	must(ext2fs_new_inode(fs, EXT2_ROOT_INO, S_IFREG, NULL, &ino), "ext2fs_new_inode");
	ext2fs_inode_alloc_stats2(fs, ino, 1, 0);
	must(ext2fs_write_new_inode(fs, ino, &inode), "ext2fs_write_new_inode");
	must(ext2fs_extent_open2(fs, ino, &inode, &handle), "ext2fs_extent_open2");
	ext2fs_extent_free(handle);
	must(ext2fs_write_inode(fs, ino, &inode), "ext2fs_write_inode");
	snprintf(name, sizeof(name), "attach-bench-%u", number);
	errcode_t error = ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE);
	if (error == EXT2_ET_DIR_NO_SPACE) {
		must(ext2fs_expand_dir(fs, EXT2_ROOT_INO), "ext2fs_expand_dir");
		error = ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE);
	}
	must(error, "ext2fs_link");
	return ino;
}

static void write_in_turns(const struct settings *settings, ext2_file_t *files)
{
	char *buffer = malloc(settings->write_bytes);

	memset(buffer, 'x', settings->write_bytes);
	for (uint64_t written = 0; written < settings->file_bytes; written += settings->write_bytes)
		for (unsigned int index = 0; index < settings->files; index++) {
			unsigned int done;

			must(ext2fs_file_write(files[index], buffer, (unsigned int)settings->write_bytes, &done),
			     "ext2fs_file_write");
		}
	free(buffer);
}

/* Pieces on disk: extents that follow one another there and in the file are one. */
static uint64_t count_extents(ext2_filsys fs, ext2_ino_t ino)
{
	struct ext2fs_extent extent;
	ext2_extent_handle_t handle;
	uint64_t count = 0, logical = 0, physical = 0;

	must(ext2fs_extent_open(fs, ino, &handle), "ext2fs_extent_open");
	for (int step = EXT2_EXTENT_ROOT; !ext2fs_extent_get(handle, step, &extent); step = EXT2_EXTENT_NEXT) {
		if (!(extent.e_flags & EXT2_EXTENT_FLAGS_LEAF) || extent.e_flags & EXT2_EXTENT_FLAGS_SECOND_VISIT)
			continue;
		count += !count || extent.e_lblk != logical || extent.e_pblk != physical;
		logical = extent.e_lblk + extent.e_len;
		physical = extent.e_pblk + extent.e_len;
	}
	ext2fs_extent_free(handle);
	return count;
}

static struct extents count_all(ext2_filsys fs, const ext2_ino_t *inodes, unsigned int count)
{
	struct extents extents = { .least = UINT64_MAX };

	for (unsigned int index = 0; index < count; index++) {
		uint64_t pieces = count_extents(fs, inodes[index]);

		extents.all += pieces;
		extents.least = pieces < extents.least ? pieces : extents.least;
		extents.most = pieces > extents.most ? pieces : extents.most;
	}
	return extents;
}

static double processor_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void print_stats(ext2_filsys fs)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };

	must(ext2mb_read_stats(ext2mb_attached(fs), &stats), "ext2mb_read_stats");
	printf("served from preallocations: %llu of %llu requests; free runs looked at: %llu, groups: %llu\n",
	       (unsigned long long)stats.preallocation_hits, (unsigned long long)stats.requests,
	       (unsigned long long)stats.extents_scanned, (unsigned long long)stats.groups_scanned);
}

static void run(const struct settings *settings, const char *path)
{
	static ext2_file_t files[MOST_FILES];
	static ext2_ino_t inodes[MOST_FILES];
	ext2_filsys fs;

	must(ext2fs_open(path, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs), path);
	must(ext2fs_read_bitmaps(fs), "ext2fs_read_bitmaps");
	for (unsigned int index = 0; index < settings->files; index++)
		inodes[index] = create_file(fs, index);
	if (settings->attaches)
		must(ext2mb_attach(fs, NULL), "ext2mb_attach");
	for (unsigned int index = 0; index < settings->files; index++)
		must(ext2fs_file_open(fs, inodes[index], EXT2_FILE_WRITE, &files[index]), "ext2fs_file_open");
	double begun = seconds(), processor_begun = processor_seconds();
	write_in_turns(settings, files);
	for (unsigned int index = 0; index < settings->files; index++)
		must(ext2fs_file_close(files[index]), "ext2fs_file_close");
	double processor = processor_seconds() - processor_begun, elapsed = seconds() - begun;
	struct extents extents = count_all(fs, inodes, settings->files);
	printf("%s: extents a file: %llu to %llu, on average %.1f; %.2f s processor, %.2f s\n",
	       settings->attaches ? "attached" : "stock", (unsigned long long)extents.least,
	       (unsigned long long)extents.most, (double)extents.all / settings->files, processor, elapsed);
	if (settings->attaches) {
		print_stats(fs);
		must(ext2mb_detach(fs), "ext2mb_detach");
	}
	must(ext2fs_close(fs), "ext2fs_close");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "attach", no_argument, NULL, 'a' },
		{ "files", required_argument, NULL, 'f' },
		{ "file-mib", required_argument, NULL, 'm' },
		{ "write-kib", required_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 },
	};
	struct settings settings = { .files = 64, .file_bytes = 16 << 20, .write_bytes = 4 << 10 };
	int option;

	initialize_ext2_error_table();
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (option) {
		case 'a':
			settings.attaches = 1;
			break;
		case 'f':
			settings.files = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case 'm':
			settings.file_bytes = strtoull(optarg, NULL, 10) << 20;
			break;
		case 'w':
			settings.write_bytes = strtoull(optarg, NULL, 10) << 10;
			break;
		default:
			return 2;
		}
	if (optind != argc - 1 || !settings.files || settings.files > MOST_FILES || !settings.write_bytes) {
		fprintf(stderr, "usage: attach_bench [--attach] [--files=N] [--file-mib=N] [--write-kib=N] IMAGE\n");
		return 2;
	}
	run(&settings, argv[optind]);
	return 0;
}
