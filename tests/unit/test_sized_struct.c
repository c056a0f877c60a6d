/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Structures that begin with their own size: programs that are older or newer than the library. */
#include <stdlib.h>
#include <string.h>

#include "ext2fs/sized_struct.h"
#include "mb_image.h"
#include "unit.h"

/* No padding anywhere, not on machines of 32 bits: bytes are compared. */
struct first_version {
	size_t struct_bytes;
	size_t a;
};

struct ours {
	size_t struct_bytes;
	size_t a;
	size_t b;
};

struct newer {
	size_t struct_bytes;
	size_t a;
	size_t b;
	uint8_t c[16];
};

#define LEAST SIZED_STRUCT_LEAST(struct ours, a)

/* Exactly as many bytes as it states, so that reading or writing more is seen by the address sanitizer. */
static void *sized(const void *from, size_t bytes)
{
	void *callers = malloc(bytes);

	memcpy(callers, from, bytes);
	memcpy(callers, &bytes, sizeof(bytes));
	return callers;
}

static const struct ours *read_it(const void *callers, struct ours *copy, errcode_t *error)
{
	memset(copy, 0xee, sizeof(*copy));
	*error = 0;
	const struct ours *read = sized_struct_read(callers, copy, sizeof(*copy), LEAST, error);
	return read;
}

START_TEST(test_reading)
{
	struct newer newer = { .a = 7, .b = 8 };
	struct ours copy;
	errcode_t error;

	ck_assert_uint_eq(LEAST, sizeof(struct first_version));
	for (size_t bytes = 0; bytes <= sizeof(struct newer); bytes++) {
		struct newer *callers = sized(&newer, bytes < sizeof(size_t) ? sizeof(size_t) : bytes);

		callers->struct_bytes = bytes;
		const struct ours *read = read_it(callers, &copy, &error);
		if (bytes < LEAST) {
			ck_assert_error(error, EXT2MB_ET_BAD_ARGUMENT);
			ck_assert_ptr_null(read);
		} else {
			ck_assert_ok(error);
			/* What has all that we know is not copied. */
			ck_assert_int_eq((const void *)read == callers, bytes >= sizeof(struct ours));
			ck_assert_uint_eq(read->a, 7);
			if (bytes < sizeof(struct ours))
				ck_assert_uint_eq(read->b >> 8 * (bytes - LEAST), 0);
			if (bytes >= sizeof(struct ours))
				ck_assert_uint_eq(read->b, 8);
		}
		free(callers);
	}
}
END_TEST

/* Each byte that we do not know, and sizes that nothing of ours has. */
START_TEST(test_unknown)
{
	struct ours copy;
	errcode_t error;

	for (size_t at = sizeof(struct ours); at < sizeof(struct newer); at++) {
		struct newer newer = { .struct_bytes = sizeof(newer), .a = 7 };

		((uint8_t *)&newer)[at] = 0x80;
		ck_assert_ptr_null(read_it(&newer, &copy, &error));
		ck_assert_error(error, EXT2MB_ET_UNKNOWN_FIELD);
	}
	size_t *zeros = calloc(1, SIZED_STRUCT_MOST_BYTES);
	*zeros = SIZED_STRUCT_MOST_BYTES;
	ck_assert_ptr_eq((const void *)read_it(zeros, &copy, &error), zeros);
	for (*zeros = SIZED_STRUCT_MOST_BYTES + 1; *zeros; *zeros = *zeros == SIZE_MAX ? 0 : SIZE_MAX) {
		ck_assert_ptr_null(read_it(zeros, &copy, &error));
		ck_assert_error(error, EXT2MB_ET_BAD_ARGUMENT);
		ck_assert_error(sized_struct_is_writable(zeros, LEAST), EXT2MB_ET_BAD_ARGUMENT);
	}
	free(zeros);
}
END_TEST

START_TEST(test_writing)
{
	const struct ours ours = { 0, 7, 8 };

	for (size_t bytes = LEAST; bytes <= sizeof(struct newer); bytes++) {
		struct newer before, expected = { bytes, 7, 8, { 0 } };

		memset(&before, 0xee, sizeof(before));
		struct newer *callers = sized(&before, bytes);
		ck_assert_ok(sized_struct_is_writable(callers, LEAST));
		sized_struct_write(callers, &ours, sizeof(ours));
		ck_assert_mem_eq(callers, &expected, bytes);
		free(callers);
	}
	ck_assert_error(sized_struct_is_writable(&(size_t){ LEAST - 1 }, LEAST), EXT2MB_ET_BAD_ARGUMENT);
}
END_TEST

/* Checks the size of each structure of the interface; a call of NULL with 0 bytes ends the list. */
struct call {
	errcode_t (*call)(struct small_image *image, void *callers);
	size_t bytes;
	size_t least_bytes;
};

static errcode_t call_open(struct small_image *image, void *callers)
{
	ext2_filsys other = mb_image_open();
	struct ext2mb *mb;
	errcode_t error = ext2mb_open(other, callers, &mb);

	(void)image;
	if (!error)
		ext2mb_close(mb);
	ext2fs_free(other);
	return error;
}

static errcode_t call_alloc(struct small_image *image, void *callers)
{
	struct ext2mb_extent extent;

	((struct ext2mb_request *)callers)->count = 1;
	return ext2mb_alloc(image->worker, callers, &extent);
}

static errcode_t call_file_open(struct small_image *image, void *callers)
{
	struct ext2mb_file *file;

	((struct ext2mb_file_info *)callers)->ino = 12;
	errcode_t error = ext2mb_file_open(image->worker, callers, &file);
	if (!error)
		ext2mb_file_close(image->worker, file);
	return error;
}

static errcode_t call_file_alloc(struct small_image *image, void *callers)
{
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12 };
	struct ext2mb_extent extent;
	struct ext2mb_file *file;

	ck_assert_ok(ext2mb_file_open(image->worker, &info, &file));
	((struct ext2mb_file_request *)callers)->count = 1;
	errcode_t error = ext2mb_file_alloc(image->worker, file, callers, &extent);
	ext2mb_file_close(image->worker, file);
	return error;
}

static errcode_t call_read_stats(struct small_image *image, void *callers)
{
	return ext2mb_read_stats(image->mb, callers);
}

static errcode_t call_criterion(struct small_image *image, void *callers)
{
	return ext2mb_read_criterion_stats(image->mb, 0, callers);
}

static errcode_t call_inode_alloc(struct small_image *image, void *callers)
{
	ext2_ino_t ino;

	((struct ext2mb_inode_request *)callers)->parent = EXT2_ROOT_INO;
	errcode_t error = ext2mb_inode_alloc(image->worker, callers, &ino);
	if (!error)
		ck_assert_ok(ext2mb_inode_free(image->worker, ino, 0));
	return error;
}

static errcode_t call_orphan_open(struct small_image *image, void *callers)
{
	struct ext2mb_orphans *orphans;
	errcode_t error = ext2mb_orphan_open(image->fs, callers, NULL, 0, &orphans);

	if (!error)
		ext2mb_orphan_close(orphans);
	return error;
}

static errcode_t call_orphan_release(struct small_image *image, void *callers)
{
	struct ext2mb_orphan_options options = { .struct_bytes = sizeof(options), .mb = image->mb };
	struct ext2mb_orphans *orphans;

	ck_assert_ok(ext2mb_orphan_open(image->fs, &options, NULL, 0, &orphans));
	errcode_t error = ext2mb_orphan_release(orphans, callers, NULL, 0);
	ext2mb_orphan_close(orphans);
	return error;
}

#define CALL(call, type, last_of_first_version)                                                                        \
	{                                                                                                              \
		call, sizeof(struct type), SIZED_STRUCT_LEAST(struct type, last_of_first_version)                      \
	}

static const struct call results[] = {
	CALL(call_read_stats, ext2mb_stats, preallocation_discards),
	CALL(call_criterion, ext2mb_criterion_stats, failures),
	CALL(call_orphan_release, ext2mb_orphan_released, blocks),
};

static const struct call requests[] = {
	CALL(call_open, ext2mb_options, group_preallocation_blocks),
	CALL(call_alloc, ext2mb_request, flags),
	CALL(call_file_open, ext2mb_file_info, flags),
	CALL(call_file_alloc, ext2mb_file_request, flags),
	CALL(call_inode_alloc, ext2mb_inode_request, flags),
	CALL(call_orphan_open, ext2mb_orphan_options, mb),
};

static errcode_t try(struct small_image *image, const struct call *call, size_t bytes, int last_byte)
{
	uint8_t *callers = calloc(1, bytes);

	memcpy(callers, &bytes, sizeof(bytes));
	if (bytes > call->bytes)
		callers[bytes - 1] = (uint8_t)last_byte;
	errcode_t error = call->call(image, callers);
	free(callers);
	return error;
}

START_TEST(test_interface)
{
	struct small_image image;

	mb_image_make("-t ext4 -b 1024 -O ^has_journal", "20M");
	small_image_open(&image, NULL);
	for (size_t index = 0; index < sizeof(requests) / sizeof(*requests); index++) {
		const struct call *call = &requests[index];

		ck_assert_error(try(&image, call, call->least_bytes - 1, 0), EXT2MB_ET_BAD_ARGUMENT);
		ck_assert_ok(try(&image, call, call->least_bytes, 0));
		ck_assert_ok(try(&image, call, call->bytes, 0));
		ck_assert_ok(try(&image, call, call->bytes + 40, 0));
		ck_assert_error(try(&image, call, call->bytes + 40, 1), EXT2MB_ET_UNKNOWN_FIELD);
	}
	for (size_t index = 0; index < sizeof(results) / sizeof(*results); index++) {
		const struct call *call = &results[index];

		ck_assert_error(try(&image, call, call->least_bytes - 1, 0), EXT2MB_ET_BAD_ARGUMENT);
		ck_assert_ok(try(&image, call, call->least_bytes, 0));
		ck_assert_ok(try(&image, call, call->bytes + 40, 1));
	}
	ext2mb_worker_close(image.worker);
	ext2mb_close(image.mb);
	ck_assert_ok(ext2fs_close(image.fs));
}
END_TEST

START_TEST(test_version)
{
	const char *string;
	char expected[32];

	snprintf(expected, sizeof(expected), "%d.%d.%d", EXT2MB_VERSION_MAJOR, EXT2MB_VERSION_MINOR,
	         EXT2MB_VERSION_PATCH);
	ck_assert_uint_eq(ext2mb_library_version(NULL), EXT2MB_VERSION);
	ck_assert_uint_eq(ext2mb_library_version(&string), EXT2MB_VERSION);
	ck_assert_str_eq(string, expected);
	ck_assert_str_eq(EXT2MB_VERSION_STRING, expected);
}
END_TEST

START_TEST(test_criteria)
{
	struct ext2mb_criterion_stats stats = { .struct_bytes = sizeof(stats) };
	struct small_image image;
	unsigned int count = 0;

	mb_image_make("-t ext4 -b 1024 -O ^has_journal", "20M");
	small_image_open(&image, NULL);
	while (!ext2mb_read_criterion_stats(image.mb, count, &stats)) {
		ck_assert_ptr_nonnull(stats.name);
		ck_assert_uint_eq(stats.struct_bytes, sizeof(stats));
		count++;
	}
	ck_assert_uint_eq(count, 5);
	ck_assert_error(ext2mb_read_criterion_stats(image.mb, count, &stats), EXT2MB_ET_BAD_RANGE);
	ext2mb_worker_close(image.worker);
	ext2mb_close(image.mb);
	ck_assert_ok(ext2fs_close(image.fs));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sized_struct");
	TCase *tests = mb_image_case(suite);

	tcase_add_test(tests, test_reading);
	tcase_add_test(tests, test_unknown);
	tcase_add_test(tests, test_writing);
	tcase_add_test(tests, test_interface);
	tcase_add_test(tests, test_version);
	tcase_add_test(tests, test_criteria);
	return run_suite(suite);
}
