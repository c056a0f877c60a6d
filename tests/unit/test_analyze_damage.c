/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images in which bytes were changed at random: whatever e2frag's library makes of them, it ends, stays within bounds
 * and says the same with threads and without. Contents are all FILLER, so that changes hit metadata alone.
 */
#include "analyze/analyze.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "analyze/forms/forms.h"
#include "analyze/read/filesystem.h"
#include "scratch.h"
#include "seeded_random.h"
#include "unit.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS 60u
#else
#define ROUNDS (is_soak() ? 400u : 150u)
#endif
#define MOST_CHANGES 24
#define FILLER 'x'

static char folder[SCRATCH_BYTES];
static char image_path[SCRATCH_BYTES + 8];
static uint8_t *pristine;
static size_t image_bytes;
static size_t *used; /* offsets of bytes that are neither zero nor FILLER */
static size_t used_count;
static size_t changed[MOST_CHANGES]; /* offsets */
static unsigned int changed_count;
static size_t whole_bytes; /* less than image_bytes where the end is missing */

/* All reading of the image goes through it: the read of this number fails, and so do those after it; 0: none. */
static unsigned int failing_read, reads;

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset)
{
	if (failing_read && ++reads >= failing_read) {
		errno = EIO;
		return -1;
	}
	return preadv(descriptor, &(struct iovec){ bytes, count }, 1, offset);
}

static void setup_folder(void)
{
	scratch_make("analyze_damage", folder);
	ck_assert_int_eq(chdir(folder), 0);
	snprintf(image_path, sizeof(image_path), "%s/image", folder);
}

static void teardown_folder(void)
{
	scratch_remove(folder);
}

/* Maps of every depth, directories of every kind, holes. mke2fs makes holes of zeros. */
static void make_image(const char *options)
{
	scratch_run("rm -rf tree image && mkdir -p tree/many tree/a/b");
	scratch_run(
		"i=0; while [ $i -lt 200 ]; do : >tree/many/a-long-name-to-fill-several-blocks-$i; i=$((i + 1)); done");
	scratch_run("perl -e 'for (0..499) { seek STDOUT, $_ * 2048, 0; print \"x\" x 1024 }' >tree/a/holes");
	scratch_run(
		"head -c 400000 /dev/zero | tr '\\0' x >tree/a/b/dense; ln -s $(printf '%%0100d' 1) tree/link; echo "
		">tree/tiny");
	scratch_run("PATH=$PATH:/usr/sbin:/sbin; mke2fs -q -F -b 1024 -d tree %s image 8M >log 2>&1 && "
	            "{ e2fsck -fyD image >log 2>&1; [ $? -le 1 ]; }",
	            options);
}

static void load_image(void)
{
	struct stat status;
	int descriptor = open("image", O_RDONLY);

	ck_assert_int_eq(fstat(descriptor, &status), 0);
	image_bytes = (size_t)status.st_size;
	pristine = malloc(image_bytes);
	used = malloc(image_bytes * sizeof(*used));
	ck_assert_int_eq(read(descriptor, pristine, image_bytes), (ssize_t)image_bytes);
	close(descriptor);
	used_count = changed_count = 0;
	whole_bytes = image_bytes;
	for (size_t offset = 0; offset < image_bytes; offset++)
		if (pristine[offset] && pristine[offset] != FILLER)
			used[used_count++] = offset;
}

/* Bytes that matter are changed, and now and then what follows them. */
/* Restores only the bytes of the last damage: writing 8 MiB takes longer than all reads of them. */
static void mend_image(int descriptor)
{
	for (unsigned int n = 0; n < changed_count; n++) {
		if (changed[n] < whole_bytes)
			ck_assert_int_eq(pwrite(descriptor, pristine + changed[n], 1, (off_t)changed[n]), 1);
	}
	ck_assert_int_eq(pwrite(descriptor, pristine + whole_bytes, image_bytes - whole_bytes, (off_t)whole_bytes),
	                 (ssize_t)(image_bytes - whole_bytes));
	changed_count = 0;
	whole_bytes = image_bytes;
}

static void damage_image(struct random *random)
{
	int descriptor = open("image", O_RDWR);
	uint64_t changes = 1 + random_below(random, MOST_CHANGES);

	mend_image(descriptor);
	for (uint64_t n = 0; n < changes; n++) {
		size_t offset = used[random_below(random, used_count)] + random_below(random, 4);
		uint8_t byte = (uint8_t)random_next(random);

		if (random_below(random, 3) == 0)
			byte = random_below(random, 2) ? 0xff : 0;
		if (offset >= image_bytes)
			continue;
		ck_assert_int_eq(pwrite(descriptor, &byte, 1, (off_t)offset), 1);
		changed[changed_count++] = offset;
	}
	/* Sometimes the end is missing. */
	if (random_below(random, 20) == 0) {
		whole_bytes = random_below(random, image_bytes);
		ck_assert_int_eq(ftruncate(descriptor, (off_t)whole_bytes), 0);
	}
	close(descriptor);
}

static void check_report(const struct report *report)
{
	ck_assert_uint_le(report->free.sizes.sum, report->filesystem.blocks);
	ck_assert_uint_le(report->files.regular.counts.extents, report->files.regular.counts.records);
	ck_assert_uint_le(report->files.regular.counts.runs, report->files.regular.counts.records);
	ck_assert_uint_le(report->files.regular.counts.records, report->files.regular.counts.blocks);
	ck_assert_uint_eq(report->files.extent_blocks.count, report->files.regular.counts.extents);
	ck_assert_uint_eq(report->files.extents_per_file.count, report->files.regular.files);
}

/* The report as JSON; NULL if the image cannot even be opened. */
static char *report_of(unsigned int threads)
{
	struct analyze_options options = {
		.threads = threads,
		.with_groups = true,
		.by_directory = true,
		.directory_depth = 2,
		.unlink_batch_files = 10,
		.chunk_blocks = 16,
		.worst_limit = 5,
	};
	struct form_parts parts = { true, true, true, true, true };
	struct report *report = calloc(1, sizeof(*report));
	struct problem problem = { 0 };
	struct volume volume;
	char *text = NULL;
	size_t text_bytes;

	if (volume_open(image_path, 0, &volume, &problem)) {
		problem_clear(&problem);
		free(report);
		return NULL;
	}
	report_filesystem_describe(&volume, &report->filesystem);
	report->filesystem.target = image_path;
	ck_assert_int_eq(analyze(&volume, &options, report, &problem), 0);
	check_report(report);
	FILE *stream = open_memstream(&text, &text_bytes);

	for (const struct report_form *form = report_forms; form->name; form++)
		if (form->print)
			ck_assert_int_eq(form->print(report, &parts, stream), 0);
	ck_assert_int_eq(form_html(report, report, &parts, stream), 0);
	rewind(stream);
	ck_assert_int_eq(form_json(report, &parts, stream), 0);
	fclose(stream);
	report_destroy(report);
	volume_close(&volume);
	free(report);
	return text;
}

static void damage_again_and_again(const char *name, const char *options)
{
	struct random random = random_start(name);
	unsigned int opened = 0;

	make_image(options);
	load_image();
	for (unsigned int round = 0; round < ROUNDS; round++) {
		damage_image(&random);
		char *serial = report_of(0), *parallel = report_of(2);

		ck_assert_int_eq(!serial, !parallel);
		if (serial)
			ck_assert_msg(!strcmp(serial, parallel), "round %u depends on the threads", round);
		opened += !!serial;
		free(serial);
		free(parallel);
	}
	ck_assert_uint_gt(opened, ROUNDS / 4);
	free(pristine);
	free(used);
}

START_TEST(extents_survive)
{
	damage_again_and_again("extents_survive", "-t ext4 -O ^has_journal -I 256");
}
END_TEST

START_TEST(indirect_maps_survive)
{
	damage_again_and_again("indirect_maps_survive", "-t ext2 -O dir_index");
}
END_TEST

START_TEST(bigalloc_and_inline_data_survive)
{
	damage_again_and_again("bigalloc_and_inline_data_survive",
	                       "-t ext4 -O ^has_journal,bigalloc,inline_data -C 4096 -I 256");
}
END_TEST

/* False: there was no such read. */
static bool fail_from(unsigned int read)
{
	const struct analyze_options options = { .worst_limit = 5 };
	struct report *report = calloc(1, sizeof(*report));
	struct problem problem = { 0 };
	struct volume volume;

	ck_assert_int_eq(volume_open(image_path, 0, &volume, &problem), 0);
	report_filesystem_describe(&volume, &report->filesystem);
	reads = 0;
	failing_read = read;
	ck_assert_int_eq(analyze(&volume, &options, report, &problem), 0);
	failing_read = 0;
	for (size_t n = 0; n < report->worst.count; n++)
		ck_assert_msg(report->worst.files[n].path || report->damage.count, "read %u: a file has no name", read);
	report_destroy(report);
	volume_close(&volume);
	free(report);
	return reads >= read;
}

START_TEST(names_that_cannot_be_read_are_told)
{
	unsigned int read = 1;

	make_image("-t ext4 -O ^has_journal -I 256");
	while (fail_from(read))
		read++;
	ck_assert_uint_gt(read, 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("analyze_damage");
	TCase *tests = tcase_create("analyze_damage");

	tcase_add_unchecked_fixture(tests, setup_folder, teardown_folder);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, names_that_cannot_be_read_are_told);
	tcase_add_test(tests, extents_survive);
	tcase_add_test(tests, indirect_maps_survive);
	tcase_add_test(tests, bigalloc_and_inline_data_survive);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
