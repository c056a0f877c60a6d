/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything of images in which bytes were changed at random, or put there by an enemy: lib/image ends, stays within
 * bounds, tells what it left out, and with checksums no change of metadata goes unnoticed.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ext2fs/ext2fs.h>

#include "image/orphans.h"
#include "image_all.h"
#include "mb_image.h"
#include "scratch.h"
#include "seeded_random.h"
#include "unit.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS 40u
#else
#define ROUNDS (is_soak() ? 200u : 80u)
#endif
#define MOST_CHANGES 24
#define FILLER 'x' /* what contents and targets are of, which have no checksums: changes hit metadata alone */

static uint8_t *pristine;
static size_t image_bytes;
static size_t *used; /* offsets of bytes that are neither zero nor FILLER */
static size_t used_count;
static size_t changed[MOST_CHANGES]; /* offsets */
static unsigned int changed_count;
static size_t whole_bytes; /* less than image_bytes where the end is missing */

static void setup(void)
{
	scratch_enter("image_damage");
	scratch_run("mkdir -p tree/many tree/a/b && cd tree/many && "
	            "seq -f 'a-long-name-to-fill-several-blocks-%%g' 200 | xargs touch");
	scratch_run("perl -e 'for (0..499) { seek STDOUT, $_ * 2048, 0; print \"x\" x 1024 }' >tree/a/holes");
	scratch_run("head -c 400000 /dev/zero | tr '\\0' x >tree/a/b/dense; ln -s $(printf '%%0100d' 0 | tr 0 x) "
	            "tree/link; "
	            "ln -s short tree/fast; printf xxx >tree/tiny; head -c 4000 /dev/zero | tr '\\0' x >value");
}

static void make_image(const char *options)
{
	scratch_run("mke2fs -q -F -b 1024 -d tree %s image 8M >log 2>&1 && "
	            "printf '%%s\\n' 'ea_set tiny user.small value' 'ea_set -f value a user.large' "
	            "'ea_set -f value link user.large' >commands && debugfs -w -f commands image >log 2>&1 && "
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
	if (random_below(random, 20) == 0) {
		whole_bytes = random_below(random, image_bytes);
		ck_assert_int_eq(ftruncate(descriptor, (off_t)whole_bytes), 0);
	}
	close(descriptor);
}

static void damage_again_and_again(const char *name, const char *options)
{
	struct random random = random_start(name);
	unsigned int opened = 0, told = 0;
	struct image_all all;

	make_image(options);
	load_image();
	ck_assert(image_read_all("image", IMAGE_STRICT, &all));
	ck_assert_uint_eq(all.damage + all.errors, 0);
	ck_assert_uint_gt(all.names, 200);
	ck_assert_uint_ge(all.xattrs, 3);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		damage_image(&random);
		bool is_open = image_read_all("image", round % 2 ? IMAGE_STRICT : 0, &all);

		opened += is_open;
		told += is_open && all.damage + all.errors;
	}
	ck_assert_uint_gt(opened, ROUNDS / 4);
	ck_assert_uint_gt(told, opened / 3);
	free(pristine);
	free(used);
}

#define SURVIVES(name, options)                                                                                        \
	START_TEST(name)                                                                                               \
	{                                                                                                              \
		damage_again_and_again(#name, options);                                                                \
	}                                                                                                              \
	END_TEST

SURVIVES(extents_survive, "-t ext4 -O ea_inode")
SURVIVES(indirect_maps_survive, "-t ext3 -I 256 -O ea_inode")
SURVIVES(old_filesystems_survive, "-t ext2 -I 128 -O ea_inode")
SURVIVES(inline_data_survives, "-t ext4 -O inline_data,ea_inode -I 256")
SURVIVES(bigalloc_survives, "-t ext4 -O ^has_journal,bigalloc,ea_inode -C 4096")
SURVIVES(without_checksums_they_survive, "-t ext4 -O ^metadata_csum,ea_inode")

/* --- One change, which checksums find ----------------------------------------------------------------------- */

/* Metadata of the files: whatever byte of it is changed, a strict reading says so. */
START_TEST(checksums_find_each_change)
{
	struct random random = random_start("checksums_find_each_change");
	unsigned int silent = 0, noticed = 0;
	struct image_all before, after;

	/* The map of the resize inode is an indirect one, which has no checksums. */
	make_image("-t ext4 -O ea_inode,^resize_inode");
	load_image();
	ck_assert(image_read_all("image", IMAGE_STRICT, &before));
	for (unsigned int round = 0; round < 2 * ROUNDS; round++) {
		int descriptor = open("image", O_RDWR);
		size_t offset = used[random_below(&random, used_count)];
		uint8_t byte = (uint8_t)(pristine[offset] ^ 1u << random_below(&random, 8));

		ck_assert_int_eq(pwrite(descriptor, &byte, 1, (off_t)offset), 1);
		if (image_read_all("image", IMAGE_STRICT, &after) && !after.damage && !after.errors) {
			/* The change was in the journal, the inode bitmaps or the superblock, so all is read as
			 * before. */
			ck_assert_msg(after.sum == before.sum, "a change at %zu goes unnoticed", offset);
			silent++;
		} else {
			noticed++;
		}
		ck_assert_int_eq(pwrite(descriptor, &pristine[offset], 1, (off_t)offset), 1);
		close(descriptor);
	}
	ck_assert_uint_gt(noticed, ROUNDS / 2);
	free(pristine);
	free(used);
}
END_TEST

/* --- Orphans ------------------------------------------------------------------------------------------------ */

/* Orphans of the superblock's list, which may have a circle, and of the orphan file. */
START_TEST(orphans_are_listed)
{
	struct image_all all;

	make_image("-t ext4 -O ^orphan_file");
	scratch_run("printf '%%s\\n' 'ssv last_orphan 13' 'sif <13> dtime 15' 'sif <15> dtime 14' 'sif <14> dtime 0' "
	            ">commands "
	            "&& "
	            "debugfs -w -f commands image >log 2>&1");
	ck_assert(image_read_all("image", IMAGE_STRICT, &all));
	ck_assert_uint_eq(all.orphans, 3);
	ck_assert_uint_eq(all.damage, 0);
	scratch_run("debugfs -w -R 'sif <14> dtime 13' image >log 2>&1");
	ck_assert(image_read_all("image", IMAGE_STRICT, &all));
	ck_assert_uint_eq(all.orphans, 3);
	ck_assert_uint_eq(all.damage, 2); /* by orphans_read() and orphans_find() */
	scratch_run("debugfs -w -R 'sif <14> dtime 8' image >log 2>&1");
	ck_assert(image_read_all("image", IMAGE_STRICT, &all));
	ck_assert_uint_eq(all.damage, 2);
}
END_TEST

static void take_none(void *context, uint32_t ino)
{
	(void)context;
	(void)ino;
}

START_TEST(quotas_have_inodes)
{
	struct problem problem = { 0 };
	struct map_walker walker;
	struct volume volume;
	uint64_t blocks = 0;

	make_image("-t ext4 -O quota,project -I 256 -E quotatype=usrquota:prjquota");
	ck_assert_ok(volume_open("image", 0, &volume, &problem));
	struct quota_inodes quota = volume_quota_inodes(&volume);

	ck_assert_uint_eq(quota.user, 3);
	ck_assert_uint_eq(quota.group, 0);
	ck_assert_uint_gt(quota.project, 10);
	ck_assert(volume_owns_inode(&volume, quota.project));
	ck_assert_ok(map_walker_open(&volume, (struct damage_listener){ 0 }, &blocks, &walker));
	ck_assert_ok(orphans_read(&walker, take_none, NULL));
	map_walker_close(&walker);
	volume_close(&volume);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("image_damage");
	TCase *tests = tcase_create("image_damage");

	tcase_add_unchecked_fixture(tests, setup, scratch_leave);
	tcase_set_timeout(tests, 600);
	tcase_add_test(tests, extents_survive);
	tcase_add_test(tests, indirect_maps_survive);
	tcase_add_test(tests, old_filesystems_survive);
	tcase_add_test(tests, inline_data_survives);
	tcase_add_test(tests, bigalloc_survives);
	tcase_add_test(tests, without_checksums_they_survive);
	tcase_add_test(tests, checksums_find_each_change);
	tcase_add_test(tests, orphans_are_listed);
	tcase_add_test(tests, quotas_have_inodes);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
