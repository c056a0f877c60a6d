/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fork() with what is open: the process that writes first goes on, the other one is refused. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach_judge.h"
#include "transaction_image.h"
#include "unit.h"

#define OPTIONS "-t ext4 -b 1024 -O ^orphan_file -J size=1 -N 128"

/* Runs a function in a child, and returns its result as an exit status: Check's assertions work only in the process
 * that it has forked. */
static int in_child(errcode_t (*work)(void *context), void *context, errcode_t expected)
{
	pid_t child = fork();
	int status;

	ck_assert_int_ge(child, 0);
	if (!child)
		_exit(work(context) != expected);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static errcode_t make_directory(ext2_filsys fs, const char *name)
{
	errcode_t error = ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, name);

	return error ? error : ext2mb_transaction_commit(fs);
}

static bool has(ext2_filsys fs, const char *name)
{
	ext2_ino_t ino;

	return !ext2fs_lookup(fs, EXT2_ROOT_INO, name, (int)strlen(name), NULL, &ino);
}

static void check_image(const char *there, const char *absent)
{
	mb_image_check();
	ext2_filsys fs = mb_image_open();

	ck_assert(has(fs, there));
	ck_assert(!absent || !has(fs, absent));
	ck_assert_ok(ext2fs_close(fs));
}

static ext2_filsys open_transaction(void)
{
	mb_image_make(OPTIONS, "16M");
	ext2_filsys fs = transaction_image_open(0);

	/* Something is held, and something is committed. */
	ck_assert_ok(make_directory(fs, "before"));
	ck_assert_ok(ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, "held"));
	return fs;
}

static errcode_t make_in_child(void *context)
{
	return make_directory(context, "child");
}

/* A daemon: several commits, and it closes the filesystem. */
static errcode_t go_on_in_child(void *context)
{
	errcode_t error = make_directory(context, "child");

	if (!error)
		error = make_directory(context, "again");
	return error ? error : ext2fs_close(context);
}

START_TEST(test_child_first)
{
	ext2_filsys fs = open_transaction();

	ck_assert_int_eq(in_child(_i ? go_on_in_child : make_in_child, fs, 0), 0);
	ck_assert_error(make_directory(fs, "parent"), EXT2MB_ET_FORKED);
	ck_assert_error(ext2mb_transaction_begin(fs), EXT2MB_ET_FORKED);
	ck_assert_error(block_fill(fs, some_used_block(fs), 1), EXT2MB_ET_FORKED);
	ck_assert_error(ext2mb_transaction_commit(fs), EXT2MB_ET_FORKED);
	ext2fs_free(fs);
	/* The child has ended without closing it: the next one who opens it replays. */
	if (!_i)
		ck_assert_ok(ext2fs_close(transaction_image_open(0)));
	check_image("child", "parent");
	check_image("held", NULL);
}
END_TEST

START_TEST(test_parent_first)
{
	ext2_filsys fs = open_transaction();
	int go[2], status;
	char byte;

	ck_assert_int_eq(pipe(go), 0);
	pid_t child = fork();
	if (!child) {
		errcode_t error = read(go[0], &byte, 1) == 1 ? make_directory(fs, "child") : 0;

		/* Closing it leaves the journal to the parent. */
		ext2fs_free(fs);
		_exit(error != EXT2MB_ET_FORKED);
	}
	ck_assert_ok(make_directory(fs, "parent"));
	ck_assert_int_eq(write(go[1], "", 1), 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_ok(make_directory(fs, "more"));
	ck_assert_ok(ext2fs_close(fs));
	check_image("parent", "child");
	close(go[0]);
	close(go[1]);
}
END_TEST

static errcode_t abort_in_child(void *context)
{
	errcode_t error = ext2mb_transaction_abort(context);

	ext2fs_free(context);
	return error;
}

static errcode_t free_in_child(void *context)
{
	ext2fs_free(context);
	return 0;
}

/* A child that lets go of what it has inherited writes nothing, and takes nothing from the parent. */
START_TEST(test_child_lets_go)
{
	ext2_filsys fs = open_transaction();

	ck_assert_int_eq(in_child(_i ? abort_in_child : free_in_child, fs, 0), 0);
	run_on_image("dumpe2fs -h \"$IMAGE\" 2>/dev/null | grep -q needs_recovery");
	ck_assert_int_eq(system("true"), 0);
	ck_assert_ok(make_directory(fs, "parent"));
	ck_assert_ok(ext2fs_close(fs));
	check_image("parent", NULL);
}
END_TEST

static void free_handle(ext2_filsys fs)
{
	ext2fs_free(fs);
}

static void abort_handle(ext2_filsys fs)
{
	ck_assert_ok(ext2mb_transaction_abort(fs));
	ext2fs_free(fs);
}

/* The same of a parent: the child goes on with what was held. */
START_TEST(test_parent_lets_go)
{
	void (*const let_go[])(ext2_filsys) = { free_handle, abort_handle };
	ext2_filsys fs = open_transaction();
	int go[2], status;
	char byte;

	ck_assert_int_eq(pipe(go), 0);
	pid_t child = fork();
	if (!child) {
		errcode_t error = read(go[0], &byte, 1) == 1 ? go_on_in_child(fs) : EIO;

		_exit(error != 0);
	}
	let_go[_i](fs);
	ck_assert_int_eq(write(go[1], "", 1), 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	check_image("child", NULL);
	check_image("held", NULL);
	close(go[0]);
	close(go[1]);
}
END_TEST

/* Without fork(), too: what is held without its bitmaps is no whole change. */
START_TEST(test_freed_unflushed)
{
	ext2_filsys fs = open_transaction();

	ck_assert_uint_gt(transaction_image_info(fs).held_blocks, 0);
	ext2fs_free(fs);
	check_image("before", "held");
}
END_TEST

static errcode_t close_in_child(void *context)
{
	return ext2fs_close(context);
}

/* ext2fs_close() writes, and so it takes the filesystem, also where all has been flushed before. */
START_TEST(test_child_closes)
{
	ext2_filsys fs = open_transaction();

	if (_i)
		ck_assert_ok(ext2fs_flush(fs));
	ck_assert_int_eq(in_child(close_in_child, fs, 0), 0);
	ck_assert_error(make_directory(fs, "parent"), EXT2MB_ET_FORKED);
	ext2fs_free(fs);
	check_image("held", "parent");
}
END_TEST

static errcode_t fork_again(void *context)
{
	errcode_t error = make_directory(context, "child");
	pid_t grandchild = fork();
	int status;

	if (!grandchild)
		_exit(make_directory(context, "grandchild") != 0);
	if (error || waitpid(grandchild, &status, 0) != grandchild || status)
		return EIO;
	return make_directory(context, "again");
}

START_TEST(test_grandchild)
{
	ext2_filsys fs = open_transaction();

	ck_assert_int_eq(in_child(fork_again, fs, EXT2MB_ET_FORKED), 0);
	ck_assert_error(make_directory(fs, "parent"), EXT2MB_ET_FORKED);
	ext2fs_free(fs);
	ck_assert_ok(ext2fs_close(transaction_image_open(0)));
	check_image("grandchild", "again");
}
END_TEST

static errcode_t allocate(struct ext2mb *mb)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 7 };
	struct ext2mb_extent extent;
	struct ext2mb_worker *worker;
	errcode_t error = ext2mb_worker_open(mb, &worker);

	if (error)
		return error;
	error = ext2mb_alloc(worker, &request, &extent);
	ext2mb_worker_close(worker);
	return error ? error : ext2mb_sync(mb);
}

static errcode_t allocate_in_child(void *context)
{
	return allocate(context);
}

START_TEST(test_allocator)
{
	struct ext2mb *mb;

	mb_image_make(OPTIONS, "16M");
	ext2_filsys fs = mb_image_open();
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	if (_i)
		ck_assert_ok(allocate(mb));
	ck_assert_int_eq(in_child(allocate_in_child, mb, 0), 0);
	ck_assert_error(allocate(mb), EXT2MB_ET_FORKED);
	ck_assert_error(ext2mb_commit(mb), EXT2MB_ET_FORKED);
	ck_assert_error(ext2mb_sync(mb), EXT2MB_ET_FORKED);
	ck_assert_ok(ext2mb_close(mb));
	/* A new one is another matter. */
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_ok(allocate(mb));
	ck_assert_ok(ext2mb_close(mb));
	ext2fs_free(fs);
}
END_TEST

static errcode_t begin_in_child(void *context)
{
	return ext2mb_transaction_begin(context);
}

static errcode_t commit_frees_in_child(void *context)
{
	return ext2mb_commit(context);
}

/* The process that has the transaction has the allocator, and the other way round. */
START_TEST(test_allocator_in_transaction)
{
	struct ext2mb *mb;
	ext2_filsys fs = open_transaction();

	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	if (_i) {
		ck_assert_int_eq(in_child(commit_frees_in_child, mb, 0), 0);
		ck_assert_error(ext2mb_transaction_begin(fs), EXT2MB_ET_FORKED);
	} else {
		ck_assert_int_eq(in_child(begin_in_child, fs, 0), 0);
		ck_assert_error(ext2mb_commit(mb), EXT2MB_ET_FORKED);
	}
	ck_assert_ok(ext2mb_close(mb));
	ext2fs_free(fs);
}
END_TEST

static errcode_t take_block(void *context)
{
	blk64_t block;

	return ext2fs_alloc_block3(context, 0, NULL, &block, NULL);
}

static errcode_t take_range(ext2_filsys fs)
{
	blk64_t start, count;

	return ext2fs_new_range(fs, 0, 0, 10, NULL, &start, &count);
}

START_TEST(test_attached)
{
	ext2_filsys fs = attach_open_image(OPTIONS, "16M");

	ck_assert_int_eq(in_child(take_block, fs, 0), 0);
	ck_assert_error(take_block(fs), EXT2MB_ET_FORKED);
	ck_assert_error(take_range(fs), EXT2MB_ET_FORKED);
	ck_assert_ok(ext2mb_detach(fs));
	ext2fs_free(fs);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("forked");
	TCase *tests = mb_image_case(suite);

	tcase_add_loop_test(tests, test_child_first, 0, 2);
	tcase_add_test(tests, test_parent_first);
	tcase_add_loop_test(tests, test_child_lets_go, 0, 2);
	tcase_add_loop_test(tests, test_parent_lets_go, 0, 2);
	tcase_add_test(tests, test_freed_unflushed);
	tcase_add_loop_test(tests, test_child_closes, 0, 2);
	tcase_add_test(tests, test_grandchild);
	tcase_add_loop_test(tests, test_allocator, 0, 2);
	tcase_add_loop_test(tests, test_allocator_in_transaction, 0, 2);
	tcase_add_test(tests, test_attached);
	return run_suite(suite);
}
