/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads on one small, nearly full filesystem. Every cluster has an owner in an array of atomics, so that a
 * double allocation is seen at once. Every thread first takes credits for what is certainly free, so that a
 * refusal with a credit in hand is a false one.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "space.h"
#include "unit.h"

#define MOST_THREADS 200
#define MOST_OWNED 4096

struct arena {
	struct ext2mb *mb;
	struct space space;
	_Atomic int64_t inode_credits;
	_Atomic uint8_t *inode_owners;
	uint64_t operations;
};

struct fighter {
	struct arena *arena;
	struct ext2mb_worker *worker;
	pthread_t thread;
	struct random random;
	struct ext2mb_extent owned[MOST_OWNED];
	size_t owned_count;
	ext2_ino_t inodes[MOST_OWNED];
	size_t inode_count;
	int64_t pending; /* clusters freed since this thread's last commit */
	uint64_t refusals;
	uint64_t worst_wait_ns;
};

static uint64_t nanoseconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void allocate(struct fighter *fighter)
{
	static const uint32_t flags[] = {
		0, 0, EXT2MB_ALLOC_STREAM, EXT2MB_ALLOC_STREAM, EXT2MB_ALLOC_PACK, EXT2MB_ALLOC_WHOLE
	};
	struct arena *arena = fighter->arena;
	struct random *random = &fighter->random;
	int64_t wanted = 1 + (int64_t)random_below(random, UINT64_C(1) << random_below(random, 9));

	if (fighter->owned_count == MOST_OWNED || !(wanted = space_take_credits(&arena->space.credits, wanted)))
		return;
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.count = (uint64_t)wanted << arena->space.cluster_bits,
		.stream = (uint64_t)(uintptr_t)fighter >> 8,
		.flags = flags[random_below(random, sizeof(flags) / sizeof(*flags))],
	};
	struct ext2mb_extent extent = { 0 };

	if (random_below(random, 2))
		request.goal = arena->space.first_block +
		               (random_below(random, arena->space.clusters) << arena->space.cluster_bits);
	if (request.flags & EXT2MB_ALLOC_PACK)
		request.goal = 0;
	uint64_t begun = nanoseconds();
	errcode_t error = ext2mb_alloc(fighter->worker, &request, &extent);
	uint64_t waited = nanoseconds() - begun;

	if (waited > fighter->worst_wait_ns)
		fighter->worst_wait_ns = waited;
	if (error) {
		ck_assert_error(error, EXT2MB_ET_NO_SPACE);
		ck_assert_msg(request.flags & (EXT2MB_ALLOC_WHOLE | EXT2MB_ALLOC_PACK),
		              "refused with %lld clusters certainly free", (long long)wanted);
		fighter->refusals++;
	} else {
		space_change(&arena->space, &extent, 0, 1);
		fighter->owned[fighter->owned_count++] = extent;
	}
	atomic_fetch_add(&arena->space.credits, wanted - (int64_t)(extent.count >> arena->space.cluster_bits));
}

static void release(struct fighter *fighter)
{
	struct arena *arena = fighter->arena;

	if (!fighter->owned_count)
		return;
	size_t index = random_below(&fighter->random, fighter->owned_count);
	struct ext2mb_extent *extent = &fighter->owned[index];
	uint64_t count = 1 + random_below(&fighter->random, extent->count >> arena->space.cluster_bits);
	struct ext2mb_extent part = { extent->start, count << arena->space.cluster_bits };

	space_change(&arena->space, &part, 1, 0);
	ck_assert_ok(ext2mb_free(fighter->worker, extent->start, count << arena->space.cluster_bits));
	fighter->pending += (int64_t)count;
	extent->start += count << arena->space.cluster_bits;
	extent->count -= count << arena->space.cluster_bits;
	if (!extent->count)
		*extent = fighter->owned[--fighter->owned_count];
}

/* A commit releases at least what this thread has freed before. */
static void commit(struct fighter *fighter)
{
	ck_assert_ok(ext2mb_commit(fighter->arena->mb));
	atomic_fetch_add(&fighter->arena->space.credits, fighter->pending);
	fighter->pending = 0;
}

static void create(struct fighter *fighter)
{
	struct arena *arena = fighter->arena;
	struct random *random = &fighter->random;
	struct ext2mb_inode_request request = {
		.struct_bytes = sizeof(request),
		.parent = random_below(random, 2) ? EXT2_ROOT_INO : 1 + (ext2_ino_t)random_below(random, 1000),
		.flags = EXT2MB_INODE_DIRECTORY * (random_below(random, 4) == 0),
	};
	ext2_ino_t ino;

	if (fighter->inode_count == MOST_OWNED || !space_take_credits(&arena->inode_credits, 1))
		return;
	ck_assert_ok(ext2mb_inode_alloc(fighter->worker, &request, &ino));
	ck_assert_msg(!atomic_exchange(&arena->inode_owners[ino - 1], 1 + !!request.flags),
	              "inode %u was handed out twice", ino);
	fighter->inodes[fighter->inode_count++] = ino;
}

static void unlink_one(struct fighter *fighter)
{
	struct arena *arena = fighter->arena;

	if (!fighter->inode_count)
		return;
	size_t index = random_below(&fighter->random, fighter->inode_count);
	ext2_ino_t ino = fighter->inodes[index];

	fighter->inodes[index] = fighter->inodes[--fighter->inode_count];
	uint8_t kind = atomic_exchange(&arena->inode_owners[ino - 1], 0);
	ck_assert(kind);
	ck_assert_ok(ext2mb_inode_free(fighter->worker, ino, kind == 2));
	atomic_fetch_add(&arena->inode_credits, 1);
}

static void *fight(void *argument)
{
	struct fighter *fighter = argument;

	for (uint64_t operation = 0; operation < fighter->arena->operations; operation++) {
		switch (random_below(&fighter->random, 16)) {
		case 0 ... 6:
			allocate(fighter);
			break;
		case 7 ... 10:
			release(fighter);
			break;
		case 11 ... 12:
			create(fighter);
			break;
		case 13 ... 14:
			unlink_one(fighter);
			break;
		default:
			commit(fighter);
		}
	}
	commit(fighter);
	return NULL;
}

static void open_arena(struct arena *arena, ext2_filsys fs)
{
	uint64_t count;
	uint8_t *used = mb_image_read_inodes(&count);

	space_open(&arena->space, fs);
	arena->inode_owners = calloc(count, 1);
	for (uint64_t index = 0; index < count; index++) {
		arena->inode_owners[index] = used[index];
		arena->inode_credits += !used[index];
	}
	free(used);
}

static void compare_with_disk(const struct arena *arena)
{
	uint64_t count;
	uint8_t *used = mb_image_read_inodes(&count);

	space_compare_with_disk(&arena->space);
	for (uint64_t index = 0; index < count; index++)
		if (used[index] != !!arena->inode_owners[index])
			ck_abort_msg("inode %llu differs on disk", (unsigned long long)index + 1);
	free(used);
}

static const struct {
	unsigned int threads;
	const char *options;
	const char *size;
} fights[] = {
	{ 1, "-t ext4 -b 4096 -g 1024 -N 2000", "33M" },
	{ 2, "-t ext4 -b 4096 -g 1024 -N 2000", "33M" },
	{ 4, "-t ext4 -b 1024 -O ^flex_bg -N 3000", "40001K" },
	{ 8, "-t ext4 -b 4096 -O bigalloc -C 8192 -g 4096 -N 1000", "65M" },
	{ 16, "-t ext4 -b 4096 -g 2048 -N 2000", "33M" },
	{ MOST_THREADS, "-t ext4 -b 4096 -g 4096 -N 2000", "33M" },
};

START_TEST(test_fight)
{
	static struct fighter fighters[MOST_THREADS];
	struct random random = random_start(fights[_i].options);
	unsigned int threads = fights[_i].threads;
	struct arena arena = { .operations = mb_operations(40000) / threads };
	uint64_t worst = 0;
	int64_t credits;

	mb_image_make(fights[_i].options, fights[_i].size);
	ext2_filsys fs = mb_image_open();
	open_arena(&arena, fs);
	ck_assert_ok(policy_open(fs, mb_options(), &arena.mb));
	for (unsigned int number = 0; number < threads; number++) {
		fighters[number].arena = &arena;
		fighters[number].random.state = random_next(&random);
		ck_assert_ok(ext2mb_worker_open(arena.mb, &fighters[number].worker));
	}
	for (unsigned int number = 0; number < threads; number++)
		ck_assert_int_eq(pthread_create(&fighters[number].thread, NULL, fight, &fighters[number]), 0);
	for (unsigned int number = 0; number < threads; number++) {
		pthread_join(fighters[number].thread, NULL);
		if (fighters[number].worst_wait_ns > worst)
			worst = fighters[number].worst_wait_ns;
	}
	mb_check(arena.mb);
	credits = atomic_load(&arena.space.credits);
	ck_assert_uint_eq(ext2mb_free_blocks(arena.mb), (uint64_t)credits << arena.space.cluster_bits);
	ck_assert_uint_eq(ext2mb_free_inodes(arena.mb), (uint64_t)atomic_load(&arena.inode_credits));

	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	ck_assert_ok(ext2mb_read_stats(arena.mb, &stats));
	printf("# %u threads: %llu allocations, %lld clusters left, %llu busy skips, %llu busy waits, "
	       "%llu repeated sweeps, worst wait %llu us\n",
	       threads, (unsigned long long)stats.successes, (long long)credits, (unsigned long long)stats.busy_skips,
	       (unsigned long long)stats.busy_waits, (unsigned long long)stats.repeated_sweeps,
	       (unsigned long long)worst / 1000);

	ck_assert_ok(ext2mb_sync(arena.mb));
	ck_assert_ok(ext2fs_flush(fs));
	compare_with_disk(&arena);
	for (unsigned int number = 0; number < threads; number++) {
		while (fighters[number].owned_count)
			release(&fighters[number]);
		while (fighters[number].inode_count)
			unlink_one(&fighters[number]);
		ext2mb_worker_close(fighters[number].worker);
	}
	ck_assert_ok(ext2mb_sync(arena.mb));
	mb_check(arena.mb);
	ext2mb_close(arena.mb);
	ck_assert_ok(ext2fs_close(fs));
	compare_with_disk(&arena);
	mb_image_check();
	space_close(&arena.space);
	free((void *)arena.inode_owners);
}
END_TEST

/*
 * Nothing is free but a few clusters far apart, as many as there are threads, and each thread takes one, gives it
 * back and commits: they are released while other threads search. No thread may be refused.
 */
#define SEEKERS 4

static void *seek(void *argument)
{
	struct fighter *fighter = argument;
	struct arena *arena = fighter->arena;

	for (uint64_t operation = 0; operation < arena->operations; operation++) {
		struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 1 };

		request.goal = arena->space.first_block + random_below(&fighter->random, arena->space.clusters);
		struct ext2mb_extent extent;
		ck_assert_ok(ext2mb_alloc(fighter->worker, &request, &extent));
		space_change(&arena->space, &extent, 0, 1);
		fighter->owned[fighter->owned_count++] = extent;
		release(fighter);
		ck_assert_ok(ext2mb_commit(arena->mb));
	}
	return NULL;
}

START_TEST(test_seekers)
{
	static struct fighter fighters[SEEKERS];
	struct random random = random_start("seekers");
	struct arena arena = { .operations = mb_operations(100000) / SEEKERS };
	struct ext2mb_request everything = { .struct_bytes = sizeof(everything),
		                             .count = 1000,
		                             .flags = EXT2MB_ALLOC_PACK };
	struct ext2mb_extent extent;

	mb_image_make("-t ext4 -b 1024 -g 256 -O ^has_journal,^resize_inode", "128M");
	ext2_filsys fs = mb_image_open();
	open_arena(&arena, fs);
	ck_assert_ok(policy_open(fs, mb_options(), &arena.mb));
	for (unsigned int number = 0; number < SEEKERS; number++) {
		fighters[number].arena = &arena;
		fighters[number].random.state = random_next(&random);
		ck_assert_ok(ext2mb_worker_open(arena.mb, &fighters[number].worker));
	}
	while (!ext2mb_alloc(fighters[0].worker, &everything, &extent))
		for (uint64_t block = extent.start; block < extent.start + extent.count; block++)
			arena.space.owners[block - arena.space.first_block] = 1;
	for (unsigned int number = 0; number < SEEKERS; number++) {
		uint64_t block = 20000 + 32 * 1024 * (uint64_t)number;

		ck_assert_ok(ext2mb_free(fighters[0].worker, block, 1));
		arena.space.owners[block - arena.space.first_block] = 0;
	}
	ck_assert_ok(ext2mb_commit(arena.mb));
	for (unsigned int number = 0; number < SEEKERS; number++)
		ck_assert_int_eq(pthread_create(&fighters[number].thread, NULL, seek, &fighters[number]), 0);
	for (unsigned int number = 0; number < SEEKERS; number++) {
		pthread_join(fighters[number].thread, NULL);
		ext2mb_worker_close(fighters[number].worker);
	}
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	ck_assert_ok(ext2mb_read_stats(arena.mb, &stats));
	printf("# seekers: %llu repeated sweeps\n", (unsigned long long)stats.repeated_sweeps);
	mb_check(arena.mb);
	ext2mb_close(arena.mb);
	ck_assert_ok(ext2fs_close(fs));
	space_close(&arena.space);
	free((void *)arena.inode_owners);
}
END_TEST

/* Threads that pack disjoint windows, even within a group, get the same as one thread after the other. */
#define WINDOWS 8

struct packer {
	struct ext2mb *mb;
	pthread_t thread;
	uint64_t start, end;
	uint64_t extents[40000];
	size_t count;
};

static void *pack_window(void *argument)
{
	struct packer *packer = argument;
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.goal = packer->start,
		.limit = packer->end,
		.flags = EXT2MB_ALLOC_PACK,
	};
	struct ext2mb_worker *worker;
	struct ext2mb_extent extent;

	ck_assert_ok(ext2mb_worker_open(packer->mb, &worker));
	for (;;) {
		request.count = 1 + packer->count % 13;
		errcode_t error = ext2mb_alloc(worker, &request, &extent);
		if (error)
			break;
		packer->extents[packer->count++] = extent.start << 16 | extent.count;
	}
	ext2mb_worker_close(worker);
	return NULL;
}

START_TEST(test_windows)
{
	static struct packer packers[2][WINDOWS];

	mb_image_make("-t ext4 -b 4096 -g 2048", "300M");
	for (int runs_together = 0; runs_together <= 1; runs_together++) {
		ext2_filsys fs = mb_image_open();
		uint64_t window = ext2fs_blocks_count(fs->super) / WINDOWS;
		struct ext2mb *mb;

		ck_assert_ok(policy_open(fs, mb_options(), &mb));
		for (unsigned int number = 0; number < WINDOWS; number++) {
			struct packer *packer = &packers[runs_together][number];

			packer->mb = mb;
			packer->start = number * window;
			packer->end = (number + 1) * window;
			if (!runs_together)
				pack_window(packer);
			else
				ck_assert_int_eq(pthread_create(&packer->thread, NULL, pack_window, packer), 0);
		}
		for (unsigned int number = 0; number < WINDOWS && runs_together; number++)
			pthread_join(packers[1][number].thread, NULL);
		mb_check(mb);
		ext2mb_close(mb);
		ck_assert_ok(ext2fs_close(fs));
	}
	for (unsigned int number = 0; number < WINDOWS; number++) {
		ck_assert_uint_eq(packers[0][number].count, packers[1][number].count);
		ck_assert_mem_eq(packers[0][number].extents, packers[1][number].extents,
		                 packers[0][number].count * sizeof(uint64_t));
	}
}
END_TEST

static Suite *stress_suite(void)
{
	Suite *suite = suite_create("ext2mb_stress");
	TCase *stress = tcase_create("stress");

	tcase_add_unchecked_fixture(stress, mb_image_setup, mb_image_teardown);
	tcase_set_timeout(stress, 3600);
	tcase_add_loop_test(stress, test_fight, 0, sizeof(fights) / sizeof(*fights));
	tcase_add_test(stress, test_seekers);
	tcase_add_test(stress, test_windows);
	suite_add_tcase(suite, stress);
	return suite;
}

int main(void)
{
	return run_suite(stress_suite());
}
