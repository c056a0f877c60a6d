/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/kind/run_files.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/io/temporary_name.h"
#include "unit.h"

static char folder[] = "/tmp/run_files.XXXXXX";

static void digest_of(const struct run_files *files, bool is_portable, char digest[RUN_FILES_DIGEST_BYTES])
{
	ck_assert_int_eq(run_files_digest(files, is_portable, digest), 0);
}

static void write_text(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	write_text("one", "1");
	write_text("two", "2");
}

static void teardown(void)
{
	unlink("one");
	unlink("two");
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(folder), 0);
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
}

static struct run_files read_both(const char *first, const char *second)
{
	struct run_files files = { 0 };

	ck_assert_int_eq(run_files_read(&files, "source", first, 0), 0);
	ck_assert_int_eq(run_files_read(&files, "source", second, 0), 0);
	return files;
}

START_TEST(test_order_and_repetition_do_not_count)
{
	struct run_files files = read_both("one", "two"), other = read_both("two", "one");
	char digest[RUN_FILES_DIGEST_BYTES], other_digest[RUN_FILES_DIGEST_BYTES];

	ck_assert_int_eq(run_files_read(&other, "source", "one", 0), 0);
	digest_of(&files, false, digest);
	digest_of(&other, false, other_digest);
	ck_assert_str_eq(digest, other_digest);
	ck_assert_uint_eq(other.input_count, 2);
	run_files_clear(&files);
	run_files_clear(&other);
}
END_TEST

START_TEST(test_ctime_alone_counts)
{
	struct run_files files = read_both("one", "two");
	char digest[RUN_FILES_DIGEST_BYTES], other_digest[RUN_FILES_DIGEST_BYTES];

	digest_of(&files, false, digest);
	files.inputs[0].version.ctime.tv_nsec ^= 1;
	digest_of(&files, false, other_digest);
	ck_assert_str_ne(digest, other_digest);
	files.inputs[0].version.ctime.tv_nsec ^= 1;
	files.inputs[0].version.inode++;
	digest_of(&files, false, other_digest);
	ck_assert_str_eq(digest, other_digest);
	run_files_clear(&files);
}
END_TEST

START_TEST(test_missing_file_counts)
{
	struct run_files files = read_both("one", "three"), later;
	char digest[RUN_FILES_DIGEST_BYTES], other_digest[RUN_FILES_DIGEST_BYTES];

	ck_assert_int_eq(files.inputs[1].kind, RUN_FILE_MISSING);
	digest_of(&files, false, digest);
	write_text("three", "");
	later = read_both("one", "three");
	unlink("three");
	digest_of(&later, false, other_digest);
	ck_assert_str_ne(digest, other_digest);
	run_files_clear(&files);
	run_files_clear(&later);
}
END_TEST

/* An output's own state, and what cannot be examined. */
START_TEST(test_outputs_and_streams)
{
	struct run_files files = read_both("one", "two");
	char digest[RUN_FILES_DIGEST_BYTES], other_digest[RUN_FILES_DIGEST_BYTES];

	ck_assert_int_eq(run_files_write(&files, "image", "two"), 0);
	digest_of(&files, false, digest);
	files.inputs[1].version.ctime.tv_nsec ^= 1;
	digest_of(&files, false, other_digest);
	ck_assert_str_eq(digest, other_digest);
	ck_assert_int_eq(run_files_read(&files, "source", "/dev/null", 0), 0);
	digest_of(&files, false, other_digest);
	ck_assert_str_eq(other_digest, "");
	run_files_clear(&files);
}
END_TEST

/* Files of the host count by their contents for several hosts, and by their times for one. */
START_TEST(test_files_of_the_host)
{
	struct run_files files = { 0 };
	char digest[2][RUN_FILES_DIGEST_BYTES], later[2][RUN_FILES_DIGEST_BYTES];

	ck_assert_int_eq(run_files_read_host(&files, "mke2fs-config", "one"), 0);
	digest_of(&files, false, digest[0]);
	digest_of(&files, true, digest[1]);
	files.inputs[0].version.ctime.tv_nsec ^= 1;
	digest_of(&files, false, later[0]);
	digest_of(&files, true, later[1]);
	ck_assert_str_ne(digest[0], later[0]);
	ck_assert_str_eq(digest[1], later[1]);
	files.inputs[0].contents[0] ^= 1;
	digest_of(&files, true, later[1]);
	ck_assert_str_ne(digest[1], later[1]);
	run_files_clear(&files);
}
END_TEST

START_TEST(test_variable)
{
	char digest[3][RUN_FILES_DIGEST_BYTES];

	for (int i = 0; i < 3; i++) {
		struct run_files files = { 0 };

		if (i)
			setenv("SOURCE_DATE_EPOCH", i == 1 ? "" : "1", true);
		else
			unsetenv("SOURCE_DATE_EPOCH");
		ck_assert_int_eq(run_files_use_variable(&files, "SOURCE_DATE_EPOCH"), 0);
		digest_of(&files, false, digest[i]);
		run_files_clear(&files);
	}
	ck_assert_str_ne(digest[0], digest[1]);
	ck_assert_str_ne(digest[1], digest[2]);
	unsetenv("SOURCE_DATE_EPOCH");
}
END_TEST

/* Each member that a file has, its name and its place change the sum; the order of adding does not. */
START_TEST(test_folder_sum)
{
	const struct stat plain = { .st_mode = S_IFREG | 0644, .st_size = 1 };
	struct stat changed[7];
	struct folder_sum sum = { 0 }, other = { 0 }, nobodys = { 0 };
	uint64_t key = folder_sum_key(0, "sub", 3);

	for (int i = 0; i < 7; i++)
		changed[i] = plain;
	changed[0].st_mode = S_IFREG | 0600;
	changed[1].st_uid = 1;
	changed[2].st_gid = 1;
	changed[3].st_size = 2;
	changed[4].st_mtim.tv_nsec = 1;
	changed[5].st_ctim.tv_nsec = 1;
	changed[6].st_ctim.tv_sec = 1;
	folder_sum_add(&sum, key, "name", 4, &plain, false);
	for (int i = 0; i < 7; i++) {
		struct folder_sum one = { 0 };

		folder_sum_add(&one, key, "name", 4, &changed[i], false);
		ck_assert(one.low != sum.low && one.high != sum.high && !one.of_nobody);
	}
	changed[1].st_uid = changed[2].st_gid = 65534;
	folder_sum_add(&nobodys, 0, "name", 4, &changed[1], false);
	folder_sum_join(&nobodys, &nobodys);
	folder_sum_add(&nobodys, 0, "name", 4, &changed[2], false);
	ck_assert_uint_eq(nobodys.of_nobody, 3);
	folder_sum_add(&other, 0, "name", 4, &plain, false);
	ck_assert(other.low != sum.low && other.high != sum.high);
	folder_sum_add(&sum, 0, "name", 4, &plain, false);
	folder_sum_add(&other, key, "name", 4, &plain, false);
	ck_assert(other.low == sum.low && other.high == sum.high);
	ck_assert_uint_eq(sum.names, 2);
	ck_assert_uint_eq(sum.bytes, 2);
}
END_TEST

/* The times of a directory in which the run makes files do not count, and its size never does. */
START_TEST(test_folder_sum_of_outputs)
{
	const struct stat before = { .st_mode = S_IFDIR | 0755, .st_size = 4096, .st_mtim.tv_sec = 1 };
	const struct stat after = { .st_mode = S_IFDIR | 0755, .st_size = 8192, .st_mtim.tv_sec = 2 };
	struct folder_sum sum = { 0 }, other = { 0 };

	folder_sum_add(&sum, 0, "", 0, &before, true);
	folder_sum_add(&other, 0, "", 0, &after, true);
	ck_assert(sum.low == other.low && sum.high == other.high && !sum.names);
	folder_sum_add(&other, 0, "", 0, &after, false);
	ck_assert(sum.low != other.low);
}
END_TEST

START_TEST(test_temporary_name)
{
	char *path = temporary_name_of("folder/image", 3), *name = strrchr(path, '/') + 1;

	ck_assert(!strncmp(path, "folder/.image.e2new-", 20));
	ck_assert(temporary_name_is_for(name, "folder/image"));
	ck_assert(!temporary_name_is_for(name, "folder/image2"));
	ck_assert(!temporary_name_is_for(name, "folder/imag"));
	ck_assert(temporary_name_is_ours(path));
	*(strrchr(path, '-') - 1) ^= 1;
	ck_assert(!temporary_name_is_ours(path));
	ck_assert(!temporary_name_is_ours("folder/.image.e2new-0"));
	free(path);

	char longest[256];

	memset(longest, 'n', 255);
	longest[255] = '\0';
	path = temporary_name_of(longest, 999);
	ck_assert_uint_le(strlen(path), 255);
	ck_assert(temporary_name_is_for(path, longest));
	free(path);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("run_files");
	TCase *tests = tcase_create("run_files");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, test_order_and_repetition_do_not_count);
	tcase_add_test(tests, test_ctime_alone_counts);
	tcase_add_test(tests, test_missing_file_counts);
	tcase_add_test(tests, test_outputs_and_streams);
	tcase_add_test(tests, test_files_of_the_host);
	tcase_add_test(tests, test_variable);
	tcase_add_test(tests, test_folder_sum);
	tcase_add_test(tests, test_folder_sum_of_outputs);
	tcase_add_test(tests, test_temporary_name);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
