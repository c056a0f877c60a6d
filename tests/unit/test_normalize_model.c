/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that are written at the same time, block by block, over a naive free space, with each policy: how many
 * extents do they get, and into how many is the free space cut? The space is searched as mballoc does in
 * outline: the place next to the file first, then the best fit in the first group behind the stream's goal that
 * has one, then half as much. TEST_MODEL_MIB=1024 (minutes; default 8, for fallocate with the kernel's policies)
 * repeats the figures of doc/NORMALIZE.md.
 */
#include <string.h>

#include "support/bits.h"
#include "allocator/core/arithmetic.h"
#include "allocator/preallocation/normalize.h"
#include "seeded_random.h"
#include "unit.h"

#define BLOCK_BITS 12
#define GROUP 32768u
#define GIB_BLOCKS (UINT64_C(1) << (30 - BLOCK_BITS))

struct space {
	struct geometry geometry;
	uint64_t *bits;    /* a set bit is a block in use */
	uint32_t *longest; /* free run in each group; stale where stale[group] */
	uint8_t *stale;
	uint64_t free_blocks;
	uint32_t open_preallocations;
};

struct stream {
	uint32_t *goal;  /* group, shared by those who hash to it */
	uint64_t size;   /* blocks written */
	uint64_t next;   /* physical, behind the last block written */
	uint64_t window; /* blocks of the window not yet written */
	uint64_t run;    /* length of the extent that is being written */
	bool broken;     /* the next block does not follow the last one on disk */
	uint64_t extents;
	uint64_t pieces; /* what filefrag counts: extents that follow one another on disk are one */
};

struct result {
	uint64_t extents;
	uint64_t most;   /* of one file */
	uint64_t pieces; /* most of one file */
	uint64_t holes;  /* free extents */
};

static void space_create(struct space *space, uint32_t groups)
{
	*space = (struct space){ .geometry = {
					 .groups = groups, .clusters_per_group = GROUP, .block_bits = BLOCK_BITS } };
	space->geometry.clusters = space->geometry.end_block = (uint64_t)groups * GROUP;
	space->free_blocks = space->geometry.end_block;
	space->bits = calloc(space->free_blocks / 64, sizeof(uint64_t));
	space->longest = calloc(groups, sizeof(*space->longest));
	space->stale = malloc(groups);
	memset(space->stale, 1, groups);
}

static void space_destroy(struct space *space)
{
	free(space->bits);
	free(space->longest);
	free(space->stale);
}

static void space_mark(struct space *space, uint64_t start, uint64_t count, bool used)
{
	if (!count)
		return;
	(used ? bits_set_range : bits_clear_range)(space->bits, (uint32_t)start, (uint32_t)(start + count));
	space->free_blocks += used ? -count : count;
	for (uint64_t group = start / GROUP; group <= (start + count - 1) / GROUP; group++)
		space->stale[group] = 1;
}

/* The shortest free run of the group that has at least `count` blocks, else the longest. */
static uint32_t best_run(const struct space *space, uint32_t group, uint32_t count, uint32_t *start)
{
	uint32_t end = (group + 1) * GROUP, best = 0;

	for (uint32_t from = bits_next_zero(space->bits, group * GROUP, end); from < end;) {
		uint32_t to = bits_next_one(space->bits, from, end), length = to - from;

		if (best < count ? length > best : length >= count && length < best) {
			best = length;
			*start = from;
		}
		from = bits_next_zero(space->bits, to, end);
	}
	return best;
}

static uint32_t longest_run(struct space *space, uint32_t group)
{
	uint32_t start;

	if (space->stale[group])
		space->longest[group] = best_run(space, group, GROUP, &start);
	space->stale[group] = 0;
	return space->longest[group];
}

static uint32_t longest(struct space *space)
{
	uint32_t most = 0;

	for (uint32_t group = 0; group < space->geometry.groups; group++)
		most = most < longest_run(space, group) ? longest_run(space, group) : most;
	return most;
}

static uint32_t find_group(struct space *space, uint32_t goal, uint32_t count)
{
	for (uint32_t step = 0; step < space->geometry.groups; step++) {
		uint32_t group = (goal + step) % space->geometry.groups;

		if (longest_run(space, group) >= count)
			return group;
	}
	return space->geometry.groups;
}

/*
 * What is free of the place that is wished for, else the length, else a half to an eighth of it (mballoc trims
 * by three orders), else the longest run there is. 0: the space is full.
 */
static uint32_t space_take(struct space *space, uint32_t *goal, const struct normalize_goal *wish, uint64_t *start)
{
	uint32_t place = (uint32_t)wish->physical, count = (uint32_t)wish->count, found;
	uint32_t there = bits_next_one(space->bits, place, place + (uint32_t)wish->try_count) - place;

	if (there && there >= wish->try_least) {
		*start = place;
		return there;
	}
	uint32_t group = find_group(space, *goal, count);
	for (unsigned int trim = 0; trim < 3 && count > 1 && group == space->geometry.groups; trim++)
		group = find_group(space, *goal, count /= 2);
	if (group == space->geometry.groups) {
		count = longest(space);
		group = find_group(space, *goal, count);
	}
	if (!count)
		return 0;
	best_run(space, group, count, &found);
	*goal = group;
	*start = found;
	return count;
}

static bool stream_append(struct stream *stream, struct space *space, enum ext2mb_normalization policy, bool unwritten)
{
	if (!stream->window) {
		struct normalize_request request = {
			.geometry = &space->geometry,
			.start = stream->size,
			.count = 1,
			.file_blocks = stream->size + 1,
			.unwritten = unwritten,
			.hole_start = stream->size,
			.hole_end = NORMALIZE_END,
			.left_physical = stream->size ? stream->next : 0,
			.hints = { space->free_blocks, space->open_preallocations, -1 },
		};
		if (policy == EXT2MB_NORMALIZE_EXT2MB)
			request.hints.largest_order = 31 - __builtin_clz(longest(space) | 1);
		struct normalize_goal goal = normalize(policy, &request);
		uint64_t start;

		stream->window = space_take(space, stream->goal, &goal, &start);
		if (!stream->window)
			return false;
		space_mark(space, start, stream->window, true);
		stream->broken = !stream->size || stream->next != start;
		stream->next = start;
	}
	if (stream->broken || stream->run == (unwritten ? NORMALIZE_UNWRITTEN_MAX : NORMALIZE_WRITTEN_MAX)) {
		stream->extents++;
		stream->pieces += stream->broken;
		stream->broken = false;
		stream->run = 0;
	}
	stream->size++;
	stream->next++;
	stream->window--;
	stream->run++;
	return true;
}

static void stream_close(struct stream *stream, struct space *space)
{
	space_mark(space, stream->next, stream->window, false);
	stream->window = 0;
}

static uint64_t count_holes(const struct space *space)
{
	uint32_t end = (uint32_t)space->geometry.end_block;
	uint64_t holes = 0;

	for (uint32_t from = bits_next_zero(space->bits, 0, end); from < end; holes++)
		from = bits_next_zero(space->bits, bits_next_one(space->bits, from, end), end);
	return holes;
}

static struct result append_all(struct space *space, enum ext2mb_normalization policy, bool unwritten, uint32_t streams,
                                uint32_t goals, uint64_t blocks)
{
	struct stream *all = calloc(streams, sizeof(*all));
	uint32_t *goal_groups = calloc(goals, sizeof(*goal_groups));
	struct result result = { 0 };

	for (uint32_t goal = 0; goal < goals; goal++)
		goal_groups[goal] = (uint32_t)((uint64_t)goal * space->geometry.groups / goals);
	for (uint32_t stream = 0; stream < streams; stream++)
		all[stream].goal = &goal_groups[stream % goals];
	space->open_preallocations = streams - 1;
	for (uint64_t block = 0; block < blocks; block++)
		for (uint32_t stream = 0; stream < streams; stream++)
			if (!stream_append(&all[stream], space, policy, unwritten)) /* ck_assert is a write() each */
				ck_abort_msg("no space");
	for (uint32_t stream = 0; stream < streams; stream++) {
		stream_close(&all[stream], space);
		result.extents += all[stream].extents;
		result.most = max_u64(result.most, all[stream].extents);
		result.pieces = max_u64(result.pieces, all[stream].pieces);
	}
	result.holes = count_holes(space);
	free(all);
	free(goal_groups);
	return result;
}

/* Full but for runs of 1 to 2 * mean blocks, a share of one in `inverse` of the space, each group alike. */
static void space_age(struct space *space, struct random *random, uint64_t mean, uint64_t inverse)
{
	uint64_t end = space->geometry.end_block;

	for (uint64_t block = 0; block < end;) {
		uint64_t used = min_u64(1 + random_below(random, 2 * mean * (inverse - 1)), end - block);

		space_mark(space, block, used, true);
		block += used + 1 + random_below(random, 2 * mean);
	}
}

static const char *const names[] = { "", "ext2mb", "table", "pow2" };

static void say(const char *what, enum ext2mb_normalization policy, uint32_t streams, struct result result)
{
	printf("# %-34s %-6s %8.1f extents a file, %6llu pieces at most, %6llu free\n", what, names[policy],
	       (double)result.extents / streams, (unsigned long long)result.pieces, (unsigned long long)result.holes);
	fflush(stdout);
}

static uint64_t fallocate_blocks(void)
{
	const char *text = getenv("TEST_MODEL_MIB");

	return (text ? strtoull(text, NULL, 10) : 8) << (20 - BLOCK_BITS);
}

static void compare_fresh(const char *what, bool unwritten, uint32_t goals,
                          struct result results[EXT2MB_NORMALIZE_POW2 + 1])
{
	for (enum ext2mb_normalization policy = EXT2MB_NORMALIZE_EXT2MB; policy <= EXT2MB_NORMALIZE_POW2; policy++) {
		struct space space;

		space_create(&space, 1600);
		/* The kernel's policies take every block by itself then. */
		uint64_t blocks = unwritten && policy != EXT2MB_NORMALIZE_EXT2MB ? fallocate_blocks() : GIB_BLOCKS;
		results[policy] = append_all(&space, policy, unwritten, 64, goals, blocks);
		say(what, policy, 64, results[policy]);
		space_destroy(&space);
	}
}

/* The series had 105 free extents on this filesystem; we promise 16 extents a file. */
#define MOST_EXTENTS 16
#define MOST_HOLES 105

START_TEST(test_one_goal)
{
	struct result written[EXT2MB_NORMALIZE_POW2 + 1], unwritten[EXT2MB_NORMALIZE_POW2 + 1];

	compare_fresh("written, one goal", false, 1, written);
	ck_assert_uint_le(written[EXT2MB_NORMALIZE_EXT2MB].most, MOST_EXTENTS);
	ck_assert_uint_le(written[EXT2MB_NORMALIZE_EXT2MB].holes, MOST_HOLES);
	ck_assert_uint_lt(written[EXT2MB_NORMALIZE_EXT2MB].most, written[EXT2MB_NORMALIZE_POW2].most);
	ck_assert_uint_lt(written[EXT2MB_NORMALIZE_POW2].most, written[EXT2MB_NORMALIZE_TABLE].most);

	/* Block by block, as the kernel had it: 261 967 extents of 262 144 blocks. */
	compare_fresh("fallocate, one goal", true, 1, unwritten);
	ck_assert_uint_eq(unwritten[EXT2MB_NORMALIZE_TABLE].most, fallocate_blocks());
	ck_assert_uint_eq(unwritten[EXT2MB_NORMALIZE_POW2].most, fallocate_blocks());
	/* Windows of 32768 blocks are one piece, but one unwritten extent and a block. */
	ck_assert_uint_le(unwritten[EXT2MB_NORMALIZE_EXT2MB].pieces, MOST_EXTENTS);
	ck_assert_uint_le(unwritten[EXT2MB_NORMALIZE_EXT2MB].most, MOST_EXTENTS + 8);
	ck_assert_uint_le(unwritten[EXT2MB_NORMALIZE_EXT2MB].holes, MOST_HOLES);
}
END_TEST

START_TEST(test_goal_each)
{
	struct result written[EXT2MB_NORMALIZE_POW2 + 1], unwritten[EXT2MB_NORMALIZE_POW2 + 1];

	compare_fresh("written, 64 goals", false, 64, written);
	compare_fresh("fallocate, 64 goals", true, 64, unwritten);
	ck_assert_uint_le(written[EXT2MB_NORMALIZE_EXT2MB].most, 9);
	ck_assert_uint_le(written[EXT2MB_NORMALIZE_EXT2MB].holes, MOST_HOLES);
	ck_assert_uint_le(unwritten[EXT2MB_NORMALIZE_EXT2MB].most, 10);
	ck_assert_uint_le(unwritten[EXT2MB_NORMALIZE_EXT2MB].holes, MOST_HOLES);
}
END_TEST

/* Extents of files and of free space are each other's price in a full filesystem: their sum must be the least. */
static void check_sum(const struct result results[EXT2MB_NORMALIZE_POW2 + 1])
{
	uint64_t ours = results[EXT2MB_NORMALIZE_EXT2MB].extents + results[EXT2MB_NORMALIZE_EXT2MB].holes;

	ck_assert_uint_lt(ours, results[EXT2MB_NORMALIZE_TABLE].extents + results[EXT2MB_NORMALIZE_TABLE].holes);
	ck_assert_uint_lt(ours, results[EXT2MB_NORMALIZE_POW2].extents + results[EXT2MB_NORMALIZE_POW2].holes);
}

START_TEST(test_aged)
{
	uint64_t mean = UINT64_C(16) << 4 * _i;
	struct result results[EXT2MB_NORMALIZE_POW2 + 1];
	char what[64];

	snprintf(what, sizeof(what), "aged, 20 %% free, mean %llu", (unsigned long long)mean);
	for (enum ext2mb_normalization policy = EXT2MB_NORMALIZE_EXT2MB; policy <= EXT2MB_NORMALIZE_POW2; policy++) {
		struct random random = { 1 };
		struct space space;

		space_create(&space, 64);
		space_age(&space, &random, mean, 5);
		results[policy] = append_all(&space, policy, false, 16, 16, 16384);
		say(what, policy, 16, results[policy]);
		space_destroy(&space);
	}
	check_sum(results);
	ck_assert_uint_lt(results[EXT2MB_NORMALIZE_EXT2MB].holes, results[EXT2MB_NORMALIZE_TABLE].holes);
	ck_assert_uint_lt(results[EXT2MB_NORMALIZE_EXT2MB].holes, results[EXT2MB_NORMALIZE_POW2].holes);
}
END_TEST

/* Files of 18 blocks, each written whole before the next one; then all that was reserved for them goes back. */
static uint64_t holes_after_small(enum ext2mb_normalization policy, bool is_closed, bool is_contended)
{
	uint64_t starts[200], lengths[200];
	uint32_t group = 0;
	struct space space;

	space_create(&space, 4);
	for (unsigned int file = 0; file < 200; file++) {
		const struct normalize_request request = {
			.geometry = &space.geometry,
			.count = 18,
			.file_blocks = 18,
			.final_size = is_closed,
			.is_contended = is_contended,
			.hole_end = NORMALIZE_END,
			.hints = { space.free_blocks, file, -1 },
		};
		struct normalize_goal goal = normalize(policy, &request);

		lengths[file] = space_take(&space, &group, &goal, &starts[file]);
		space_mark(&space, starts[file], lengths[file], true);
	}
	for (unsigned int file = 0; file < 200; file++)
		space_mark(&space, starts[file] + 18, lengths[file] - 18, false);
	uint64_t holes = count_holes(&space);
	space_destroy(&space);
	return holes;
}

/* One free extent in the end, whatever the policy is, if the files are closed; else one after each file. */
START_TEST(test_closed)
{
	for (enum ext2mb_normalization policy = EXT2MB_NORMALIZE_EXT2MB; policy <= EXT2MB_NORMALIZE_POW2; policy++) {
		bool is_kernels = policy != EXT2MB_NORMALIZE_EXT2MB;

		ck_assert_uint_eq(holes_after_small(policy, true, false), 1);
		ck_assert_uint_eq(holes_after_small(policy, true, true), is_kernels ? 200 : 1);
		ck_assert_uint_eq(holes_after_small(policy, false, false), 200);
	}
}
END_TEST

/* Sixteen files at a time, of 1 to 16384 blocks (every power as likely), until 70 % are full. */
static struct result churn(struct space *space, enum ext2mb_normalization policy, uint64_t *files)
{
	struct random random = { 2 };
	uint32_t goals[16];
	struct stream open[16] = { 0 };
	uint64_t ends[16] = { 0 };
	struct result result = { 0 };

	for (uint32_t slot = 0; slot < 16; slot++) {
		goals[slot] = slot * space->geometry.groups / 16;
		open[slot].goal = &goals[slot];
	}
	space->open_preallocations = 15;
	*files = 0;
	for (uint64_t turn = 0; space->free_blocks > space->geometry.end_block * 3 / 10; turn++) {
		struct stream *stream = &open[turn % 16];
		uint64_t *end = &ends[turn % 16];

		if (stream->size == *end) {
			stream_close(stream, space);
			result.extents += stream->extents;
			result.pieces = max_u64(result.pieces, stream->pieces);
			*stream = (struct stream){ .goal = &goals[random_below(&random, 4)] };
			*end = 1 + random_below(&random, UINT64_C(1) << random_below(&random, 15));
			++*files;
		}
		if (!stream_append(stream, space, policy, false))
			ck_abort_msg("no space");
	}
	for (uint32_t slot = 0; slot < 16; slot++) {
		stream_close(&open[slot], space);
		result.extents += open[slot].extents;
	}
	result.holes = count_holes(space);
	return result;
}

START_TEST(test_churn)
{
	struct result results[EXT2MB_NORMALIZE_POW2 + 1];

	for (enum ext2mb_normalization policy = EXT2MB_NORMALIZE_EXT2MB; policy <= EXT2MB_NORMALIZE_POW2; policy++) {
		struct space space;
		uint64_t files;

		space_create(&space, 64);
		results[policy] = churn(&space, policy, &files);
		say("churn, 70 % full", policy, (uint32_t)files, results[policy]);
		space_destroy(&space);
	}
	for (enum ext2mb_normalization other = EXT2MB_NORMALIZE_TABLE; other <= EXT2MB_NORMALIZE_POW2; other++) {
		ck_assert_uint_lt(results[EXT2MB_NORMALIZE_EXT2MB].extents, results[other].extents);
		ck_assert_uint_lt(results[EXT2MB_NORMALIZE_EXT2MB].holes, results[other].holes);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("normalize_model");
	TCase *tests = tcase_create("model");

	tcase_set_timeout(tests, 600);
	tcase_add_test(tests, test_one_goal);
	tcase_add_test(tests, test_goal_each);
	tcase_add_loop_test(tests, test_aged, 0, 3);
	tcase_add_test(tests, test_closed);
	tcase_add_test(tests, test_churn);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
