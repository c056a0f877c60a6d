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

#include "image/block_bitmaps.h"
#include "image/contents.h"
#include "image/directory_walk.h"
#include "image/lookup.h"
#include "image/orphans.h"
#include "image/xattrs.h"
#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS 40
#else
#define ROUNDS 200
#endif
#define MOST_CHANGES 24
#define FILLER 'x' /* what contents and targets are of, which have no checksums: changes hit metadata alone */

static char folder[256];
static uint8_t *pristine;
static size_t image_bytes;
static size_t *used; /* offsets of bytes that are neither zero nor FILLER */
static size_t used_count;
static size_t changed[MOST_CHANGES]; /* offsets */
static unsigned int changed_count;
static size_t whole_bytes; /* less than image_bytes where the end is missing */

static void run(const char *command)
{
	ck_assert_msg(system(command) == 0, "%s", command);
}

static void setup(void)
{
	const char *above = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%s/image_damage.XXXXXX", above ? above : "/dev/shm");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	run("mkdir -p tree/many tree/a/b && cd tree/many && "
	    "seq -f 'a-long-name-to-fill-several-blocks-%g' 200 | xargs touch");
	run("perl -e 'for (0..499) { seek STDOUT, $_ * 2048, 0; print \"x\" x 1024 }' >tree/a/holes");
	run("head -c 400000 /dev/zero | tr '\\0' x >tree/a/b/dense; ln -s $(printf '%0100d' 0 | tr 0 x) tree/link; "
	    "ln -s short tree/fast; printf xxx >tree/tiny; head -c 4000 /dev/zero | tr '\\0' x >value");
}

static void teardown(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	run(command);
}

static void make_image(const char *options)
{
	char command[512];

	snprintf(command, sizeof(command),
	         "mke2fs -q -F -b 1024 -d tree %s image 8M >log 2>&1 && "
	         "printf '%%s\\n' 'ea_set tiny user.small value' 'ea_set -f value a user.large' "
	         "'ea_set -f value link user.large' >commands && debugfs -w -f commands image >log 2>&1 && "
	         "{ e2fsck -fyD image >log 2>&1; [ $? -le 1 ]; }",
	         options);
	run(command);
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

/* What the last damage has changed, and no more: to write 8 MiB takes longer than all that is read of them. */
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

/* --- Reading all of it -------------------------------------------------------------------------------------- */

/* A sum of all that was read, and how often damage was told. */
struct all_read {
	uint64_t sum;
	uint64_t damage, errors;
	uint64_t blocks, names, xattrs, orphans;
};

static void hear(void *context, const struct image_damage *damage)
{
	struct all_read *all = context;

	ck_assert_ptr_nonnull(damage->what);
	all->damage++;
}

static void add_bytes(struct all_read *all, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	for (size_t n = 0; n < count; n++)
		all->sum = all->sum * 31 + at[n];
}

static void see_name(void *context, const struct directory_entry *entry)
{
	struct all_read *all = context;

	add_bytes(all, entry->name, entry->name_bytes);
	all->names++;
}

static bool see_record(void *context, const struct map_record *record)
{
	struct all_read *all = context;

	ck_assert_uint_gt(record->count, 0);
	all->blocks += record->count;
	return true;
}

static bool see_block(void *context, uint64_t block)
{
	add_bytes(context, &block, sizeof(block));
	return true;
}

static void see_orphan(void *context, uint32_t ino)
{
	struct all_read *all = context;

	add_bytes(all, &ino, sizeof(ino));
	all->orphans++;
}

static void see_bitmap(void *context, const struct block_bitmap *bitmap)
{
	struct all_read *all = context;

	all->damage += !!bitmap->wrong;
	if (bitmap->bits)
		add_bytes(all, bitmap->bits, 16);
}

static void read_inode(struct directory_walker *walker, uint32_t ino, struct volume_xattrs *xattrs, void *raw,
                       struct all_read *all)
{
	const struct directory_visitor names = { .entry = see_name, .context = all };
	const struct map_visitor map = { .record = see_record, .block = see_block, .context = all };
	struct volume_inode inode;
	struct directory_shape shape;
	struct map_shape map_shape;
	uint8_t part[3000];

	if (volume_inode_read(walker->map.volume, ino, raw, &inode)) {
		all->errors++;
		return;
	}
	if (!volume_inode_is_in_use(walker->map.volume, &inode))
		return;
	if (volume_inode_has_map(&inode))
		map_visit(&walker->map, ino, &inode.view, &map, &map_shape);
	if (S_ISDIR(inode.view.mode))
		directory_walk(walker, ino, raw, &inode.view, &names, &shape);
	all->errors += !!contents_read(&walker->map, &inode, 500, part, sizeof(part));
	add_bytes(all, part, sizeof(part));
	if (S_ISLNK(inode.view.mode)) {
		char *target = NULL;
		size_t bytes;

		if (symlink_read(&walker->map, &inode, &target, &bytes))
			all->errors++;
		else
			add_bytes(all, target, bytes + 1);
		free(target);
	}
	all->errors += !!volume_xattrs_read(&walker->map, &inode, xattrs);
	for (size_t n = 0; n < xattrs->count; n++)
		add_bytes(all, xattrs->items[n].value, xattrs->items[n].value_bytes);
	all->xattrs += xattrs->count;
}

/* False if it cannot be opened. */
static bool read_all(bool is_strict, struct all_read *all)
{
	const struct damage_listener listener = { hear, all };
	struct directory_walker walker;
	struct volume_xattrs xattrs = { 0 };
	struct problem problem = { 0 };
	struct volume volume;
	uint64_t map_blocks = 0, directory_blocks = 0;
	uint32_t found;

	*all = (struct all_read){ 0 };
	if (volume_open("image", 0, &volume, &problem)) {
		problem_clear(&problem);
		return false;
	}
	SCOPE_FREE uint64_t *bitmaps = malloc((size_t)volume.geometry.groups << volume.format.block_bits);
	SCOPE_FREE void *raw = malloc(volume.format.inode_bytes);

	volume_check_descriptors(&volume, &listener);
	block_bitmaps_read(&volume, 0, volume.geometry.groups, bitmaps, see_bitmap, all);
	ck_assert_ok(directory_walker_open(&volume, listener, &map_blocks, &directory_blocks, &walker));
	walker.map.is_strict = is_strict;
	for (uint32_t ino = 1; ino <= volume.inodes && ino < 5000; ino++)
		read_inode(&walker, ino, &xattrs, raw, all);
	all->errors += !!orphans_read(&walker.map, see_orphan, all);
	all->errors += !!paths_lookup(&volume, "/a/b/dense", listener, &found);
	directory_walker_close(&walker);
	volume_xattrs_free(&xattrs);
	volume_close(&volume);
	return true;
}

static void damage_again_and_again(const char *name, const char *options)
{
	struct random random = random_start(name);
	unsigned int opened = 0, told = 0;
	struct all_read all;

	make_image(options);
	load_image();
	ck_assert(read_all(true, &all));
	ck_assert_uint_eq(all.damage + all.errors, 0);
	ck_assert_uint_gt(all.names, 200);
	ck_assert_uint_ge(all.xattrs, 3);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		damage_image(&random);
		bool is_open = read_all(round % 2, &all);

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
	struct all_read before, after;

	/* The map of the resize inode is an indirect one, which has no checksums. */
	make_image("-t ext4 -O ea_inode,^resize_inode");
	load_image();
	ck_assert(read_all(true, &before));
	for (unsigned int round = 0; round < 2 * ROUNDS; round++) {
		int descriptor = open("image", O_RDWR);
		size_t offset = used[random_below(&random, used_count)];
		uint8_t byte = (uint8_t)(pristine[offset] ^ 1u << random_below(&random, 8));

		ck_assert_int_eq(pwrite(descriptor, &byte, 1, (off_t)offset), 1);
		if (read_all(true, &after) && !after.damage && !after.errors) {
			/* Of the journal, the inode bitmaps, the superblock: then all is read as before. */
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

/* Of the superblock's list, which may lead in a circle, and of the orphan file. */
START_TEST(orphans_are_listed)
{
	struct all_read all;

	make_image("-t ext4 -O ^orphan_file");
	run("printf '%s\\n' 'ssv last_orphan 13' 'sif <13> dtime 15' 'sif <15> dtime 14' 'sif <14> dtime 0' >commands "
	    "&& "
	    "debugfs -w -f commands image >log 2>&1");
	ck_assert(read_all(true, &all));
	ck_assert_uint_eq(all.orphans, 3);
	ck_assert_uint_eq(all.damage, 0);
	run("debugfs -w -R 'sif <14> dtime 13' image >log 2>&1");
	ck_assert(read_all(true, &all));
	ck_assert_uint_eq(all.orphans, 3);
	ck_assert_uint_eq(all.damage, 1);
	run("debugfs -w -R 'sif <14> dtime 8' image >log 2>&1");
	ck_assert(read_all(true, &all));
	ck_assert_uint_eq(all.damage, 1);
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

	tcase_add_unchecked_fixture(tests, setup, teardown);
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
