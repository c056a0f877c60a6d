/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mb_stats, mb_groups and mb_structs_summary: the kernel's words for the same image, byte for byte, where it may be
 * asked; and the forms themselves.
 */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

struct text {
	char *bytes;
	size_t count;
};

static errcode_t append(void *context, const char *bytes, size_t count)
{
	struct text *text = context;

	text->bytes = realloc(text->bytes, text->count + count + 1);
	memcpy(text->bytes + text->count, bytes, count);
	text->count += count;
	text->bytes[text->count] = 0;
	return 0;
}

/* Allocates and frees until the free space is in many pieces and some groups are full, then writes it all. */
static void make_fragments(ext2_filsys fs)
{
	struct random random = random_start("fragments");
	struct ext2mb_worker *worker;
	struct ext2mb *mb;

	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_ok(ext2mb_worker_open(mb, &worker));
	for (int count = 0; count < 1500; count++) {
		struct ext2mb_request request = {
			.struct_bytes = sizeof(request),
			.goal = random_below(&random, ext2fs_blocks_count(fs->super) / 2),
			.count = 1 + random_below(&random, UINT64_C(1) << random_below(&random, 7)),
		};
		struct ext2mb_extent extent;

		if (ext2mb_alloc(worker, &request, &extent))
			break;
		if (random_below(&random, 2))
			ck_assert_ok(ext2mb_free(worker, extent.start, extent.count));
	}
	ck_assert_ok(ext2mb_sync(mb));
	ext2mb_worker_close(worker);
	ext2mb_close(mb);
}

static struct text kernel_text(const char *device, const char *name)
{
	char path[128];
	char bytes[4096];
	struct text text = { 0 };
	size_t count;

	snprintf(path, sizeof(path), "/proc/fs/ext4/%s/%s", device, name);
	FILE *file = fopen(path, "r");
	if (!file)
		return text;
	while ((count = fread(bytes, 1, sizeof(bytes), file)))
		append(&text, bytes, count);
	fclose(file);
	return text;
}

/* What the kernel says of the image, mounted read-only in a namespace of our own; false if it cannot be asked. */
static bool ask_kernel(const char *options, struct text *groups, struct text *summary)
{
	char command[512];
	char folder[128];
	char device[64] = "";

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return false;
	snprintf(folder, sizeof(folder), "%s.mounted", mb_image_path());
	mkdir(folder, 0700);
	snprintf(command, sizeof(command),
	         "mount -t ext4 -o loop,ro,%s '%s' '%s' 2>/dev/null && findmnt -no SOURCE '%s'", options,
	         mb_image_path(), folder, folder);
	FILE *pipe = popen(command, "r");
	bool is_mounted = fscanf(pipe, "/dev/%63s", device) == 1;
	pclose(pipe);
	if (is_mounted) {
		*groups = kernel_text(device, "mb_groups");
		*summary = kernel_text(device, "mb_structs_summary");
		ck_assert_int_eq(umount(folder), 0);
	}
	rmdir(folder);
	return groups->count && summary->count;
}

static const struct {
	const char *mke2fs_options;
	const char *size;
	const char *mount_options;
	enum ext2mb_scan optimize_scan;
} cases[] = {
	{ "-t ext4 -b 4096 -g 2048", "101M", "mb_optimize_scan=1", EXT2MB_SCAN_INDEXED },
	{ "-t ext4 -b 1024 -O ^flex_bg", "40001K", "mb_optimize_scan=1", EXT2MB_SCAN_INDEXED },
	{ "-t ext4 -b 4096 -O bigalloc -C 16384", "600M", "mb_optimize_scan=1", EXT2MB_SCAN_INDEXED },
	{ "-t ext4 -b 2048 -g 4096", "60M", "mb_optimize_scan=0", EXT2MB_SCAN_LINEAR },
};

START_TEST(test_kernel)
{
	struct ext2mb_options options = { .struct_bytes = sizeof(options), .optimize_scan = cases[_i].optimize_scan };
	struct text groups[2] = { 0 };
	struct text summary[2] = { 0 };
	char reason[128];
	struct ext2mb *mb;

	mb_image_make(cases[_i].mke2fs_options, cases[_i].size);
	ext2_filsys fs = mb_image_open();
	make_fragments(fs);
	ck_assert_ok(ext2fs_flush(fs));
	ck_assert_ok(ext2mb_open(fs, &options, &mb));
	ck_assert_ok(ext2mb_write_mb_groups(mb, append, &groups[0]));
	ck_assert_ok(ext2mb_write_mb_structs_summary(mb, append, &summary[0]));
	ext2mb_close(mb);
	ck_assert_ok(ext2fs_close(fs));
	if (!ask_kernel(cases[_i].mount_options, &groups[1], &summary[1])) {
		snprintf(reason, sizeof(reason), "needs a kernel that mounts %s", cases[_i].mke2fs_options);
		skip_part(reason);
		return;
	}
	ck_assert_str_eq(groups[0].bytes, groups[1].bytes);
	ck_assert_str_eq(summary[0].bytes, summary[1].bytes);
	for (int whose = 0; whose < 2; whose++) {
		free(groups[whose].bytes);
		free(summary[whose].bytes);
	}
}
END_TEST

/* Every line of mb_stats with its indent, in the order in which Linux 6.18 has them. */
static const char expected_stats[] = "mballoc:\n\treqs: 3\n\tsuccess: 3\n\tgroups_scanned: 2\n"
				     "\tcr_p2_aligned_stats:\n\t\thits: 1\n\t\tgroups_considered: 1\n"
				     "\t\textents_scanned: 1\n\t\tuseless_loops: 0\n"
				     "\tcr_goal_fast_stats:\n\t\thits: 1\n\t\tgroups_considered: 1\n"
				     "\t\textents_scanned: 1\n\t\tuseless_loops: 0\n"
				     "\tcr_best_avail_stats:\n\t\thits: 0\n\t\tgroups_considered: 0\n"
				     "\t\textents_scanned: 0\n\t\tuseless_loops: 0\n"
				     "\tcr_goal_slow_stats:\n\t\thits: 0\n\t\tgroups_considered: 0\n"
				     "\t\textents_scanned: 0\n\t\tuseless_loops: 0\n"
				     "\tcr_any_free_stats:\n\t\thits: 0\n\t\tgroups_considered: 0\n"
				     "\t\textents_scanned: 0\n\t\tuseless_loops: 0\n"
				     "\textents_scanned: 2\n\t\tgoal_hits: 1\n\t\tstream_goal_hits: 2\n"
				     "\t\tlen_goal_hits: 0\n\t\t2^n_hits: 1\n\t\tbreaks: 0\n\t\tlost: 0\n"
				     "\tbuddies_generated: 2/8\n\tbuddies_time_used: ";

START_TEST(test_mb_stats)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .flags = EXT2MB_ALLOC_STREAM };
	static const struct {
		uint64_t goal, count;
	} wanted[] = { { 0, 4 }, { 0, 5 }, { 12000, 6 } };
	struct ext2mb_worker *worker;
	struct ext2mb_extent extent;
	struct text text = { 0 };
	struct ext2mb *mb;

	mb_image_make("-t ext4 -b 4096 -g 2048 -O ^flex_bg,^resize_inode,^has_journal", "64M");
	ext2_filsys fs = mb_image_open();
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_ok(ext2mb_worker_open(mb, &worker));
	for (unsigned int index = 0; index < 3; index++) {
		request.goal = wanted[index].goal;
		request.count = wanted[index].count;
		ck_assert_ok(ext2mb_alloc(worker, &request, &extent));
	}
	ck_assert_ok(ext2mb_write_mb_stats(mb, append, &text));
	if (strncmp(text.bytes, expected_stats, strlen(expected_stats)))
		ck_assert_str_eq(text.bytes, expected_stats);
	ck_assert_ptr_nonnull(strstr(text.bytes, "\n\tpreallocated: 0\n\tdiscarded: 0\n"));
	free(text.bytes);
	ext2mb_worker_close(worker);
	ext2mb_close(mb);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

static errcode_t refuse(void *context, const char *bytes, size_t count)
{
	int *calls = context;

	(void)bytes;
	(void)count;
	return ++*calls == 3 ? EXT2MB_ET_BAD_RANGE : 0;
}

/* The caller's error ends it. */
START_TEST(test_refusal)
{
	struct ext2mb *mb;
	int calls = 0;

	mb_image_make("-t ext4 -b 4096 -g 2048", "64M");
	ext2_filsys fs = mb_image_open();
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_error(ext2mb_write_mb_stats(mb, refuse, &calls), EXT2MB_ET_BAD_RANGE);
	ck_assert_int_eq(calls, 3);
	calls = 0;
	ck_assert_error(ext2mb_write_mb_groups(mb, refuse, &calls), EXT2MB_ET_BAD_RANGE);
	calls = 0;
	ck_assert_error(ext2mb_write_mb_structs_summary(mb, refuse, &calls), EXT2MB_ET_BAD_RANGE);
	ck_assert_int_eq(calls, 3);
	ext2mb_close(mb);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

static Suite *stats_text_suite(void)
{
	Suite *suite = suite_create("stats_text");
	TCase *text = tcase_create("text");

	tcase_add_unchecked_fixture(text, mb_image_setup, mb_image_teardown);
	tcase_set_timeout(text, 600);
	tcase_add_loop_test(text, test_kernel, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_test(text, test_mb_stats);
	tcase_add_test(text, test_refusal);
	suite_add_tcase(suite, text);
	return suite;
}

int main(void)
{
	return run_suite(stats_text_suite());
}
