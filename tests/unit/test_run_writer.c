/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is gathered, and what is written past the page cache: two descriptors of one file stand for the two ways. */
#include "image/run_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "output/image_sink.h"
#include "seeded_random.h"
#include "unit.h"

#define BLOCK_BYTES 4096u
#define BLOCKS 3000u

static struct host {
	int direct;
	bool refuses;           /* to write to it */
	unsigned int writes[2]; /* through the page cache, past it */
	size_t largest_bytes;
} host;

/* The writer calls this and not libc's. */
ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset)
{
	bool is_direct = descriptor == host.direct;

	host.writes[is_direct]++;
	if (is_direct) {
		long page_bytes = sysconf(_SC_PAGESIZE);

		ck_assert_uint_eq((uintptr_t)bytes % (uintptr_t)page_bytes, 0);
		ck_assert_uint_eq(count % BLOCK_BYTES, 0);
		ck_assert_int_eq(offset % (off_t)BLOCK_BYTES, 0);
		if (host.refuses) {
			errno = EINVAL;
			return -1;
		}
	}
	if (count > host.largest_bytes)
		host.largest_bytes = count;
	return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
}

static struct image make_image(uint64_t offset_bytes)
{
	int descriptor = memfd_create("image", 0);

	ck_assert_int_ge(descriptor, 0);
	host = (struct host){ .direct = dup(descriptor) };
	return (struct image){ descriptor, host.direct, offset_bytes };
}

static void close_image(const struct image *image)
{
	close(image->descriptor);
	close(host.direct);
}

/* Writes runs of random lengths that follow each other or not, and expects each block where it belongs. */
static void write_and_compare(struct random *random, const struct image *image, uint32_t block_bytes)
{
	struct image_sink sink;
	uint8_t *filled = calloc(BLOCKS, 1);
	SCOPE_FREE uint8_t *expected = filled;
	SCOPE_FREE uint8_t *found = malloc(block_bytes);
	SCOPE_FREE uint8_t *wanted = malloc(block_bytes);
	uint64_t start = 0;

	image_sink_init(&sink, image, block_bytes);
	struct run_writer writer = run_writer_create(&sink.sink);

	while (start < BLOCKS - 300) {
		uint64_t blocks =
			1 + random_below(random, random_below(random, 4) ? 4 : RUN_WRITER_BYTES / block_bytes);
		void *bytes;

		if (blocks > 250)
			blocks = 250;
		ck_assert_int_eq(run_writer_reserve(&writer, start, blocks, &bytes), 0);
		for (uint64_t block = 0; block < blocks; block++) {
			filled[start + block] = (uint8_t)(1 + random_below(random, 255));
			memset((char *)bytes + block * block_bytes, filled[start + block], block_bytes);
		}
		start += blocks + (random_below(random, 3) ? 0 : random_below(random, 20));
	}
	ck_assert_int_eq(run_writer_flush(&writer), 0);
	run_writer_free(&writer);
	/* One assertion a block: Check's take a microsecond each, and a minute under ThreadSanitizer for all bytes. */
	for (uint64_t block = 0; block < start; block++) {
		ssize_t got = pread(image->descriptor, found, block_bytes,
		                    (off_t)(image->offset_bytes + block * block_bytes));

		if (got == 0 && !expected[block])
			continue;
		ck_assert_int_eq(got, block_bytes);
		memset(wanted, expected[block], block_bytes);
		ck_assert_msg(!memcmp(found, wanted, block_bytes), "block %lu holds %d, should hold %d",
		              (unsigned long)block, found[0], wanted[0]);
	}
}

START_TEST(whole_pages_go_past_the_page_cache)
{
	struct random random = random_start("whole_pages_go_past_the_page_cache");
	const struct image image = make_image((uint64_t)sysconf(_SC_PAGESIZE) * 5);

	write_and_compare(&random, &image, (uint32_t)sysconf(_SC_PAGESIZE));
	ck_assert_uint_eq(host.writes[0], 0);
	ck_assert_uint_gt(host.writes[1], 1);
	ck_assert_uint_gt(host.largest_bytes, SINK_CACHED_BYTES);
	close_image(&image);
}
END_TEST

/* Blocks that share a page with others, by their size or by where the filesystem begins. */
START_TEST(parts_of_pages_do_not)
{
	struct random random = random_start("parts_of_pages_do_not");
	const struct image small = make_image(0);

	write_and_compare(&random, &small, 1024);
	ck_assert_uint_eq(host.writes[1], 0);
	ck_assert_uint_gt(host.writes[0], 1);
	close_image(&small);

	const struct image shifted = make_image(512);

	write_and_compare(&random, &shifted, (uint32_t)sysconf(_SC_PAGESIZE));
	ck_assert_uint_eq(host.writes[1], 0);
	close_image(&shifted);
}
END_TEST

START_TEST(without_a_descriptor_nothing_does)
{
	struct random random = random_start("without_a_descriptor_nothing_does");
	struct image image = make_image(0);

	image.direct_descriptor = -1;
	write_and_compare(&random, &image, (uint32_t)sysconf(_SC_PAGESIZE));
	ck_assert_uint_eq(host.writes[1], 0);
	ck_assert_uint_gt(host.writes[0], 1);
	close_image(&image);
}
END_TEST

/* Asked once; what it refused is written the other way. */
START_TEST(a_device_may_refuse)
{
	struct random random = random_start("a_device_may_refuse");
	const struct image image = make_image(0);

	host.refuses = true;
	write_and_compare(&random, &image, (uint32_t)sysconf(_SC_PAGESIZE));
	ck_assert_uint_eq(host.writes[1], 1);
	ck_assert_uint_gt(host.writes[0], 1);
	close_image(&image);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("run_writer");
	TCase *tests = tcase_create("run_writer");

	tcase_add_test(tests, whole_pages_go_past_the_page_cache);
	tcase_add_test(tests, parts_of_pages_do_not);
	tcase_add_test(tests, without_a_descriptor_nothing_does);
	tcase_add_test(tests, a_device_may_refuse);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
