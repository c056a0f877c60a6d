/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/apply/apply.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "support/run/interrupt.h"
#include "support/vector.h"
#include "update/apply/applying.h"
#include "update/apply/copying.h"
#include "update/apply/names.h"
#include "update/apply/placing.h"
#include "update/apply/sealing.h"
#include "update/target/holding.h"
#include "update/target/orphans.h"

/* A batch ends after this many actions in any case, since it keeps its files' extents and xattrs in memory. */
#define MOST_BATCH 8192u
/* As a rule, the runs of blocks of a large file are not shorter. */
#define BLOCKS_OF_A_RUN 64u
/* The groups of the inode, of its old blocks and of the new ones: each takes the best hole, wherever that is. */
#define LEAST_GROUPS 2u

errcode_t applying_problem(const struct applying *applying, const struct update_action *action, errcode_t error,
                           const char *what)
{
	SCOPE_FREE char *path = error ? update_action_path(applying->plan, action) : NULL;

	if (!error)
		return 0;
	return problem_set_reason(applying->problem, error, applying->options->image, what, "%s: %s", path ? path : "?",
	                          error_message(error));
}

static void clear_batch(struct applying *applying)
{
	for (size_t i = 0; i < applying->placed_count; i++)
		placed_inode_free(&applying->placed[i]);
	applying->placed_count = 0;
	names_close(applying);
}

static bool is_full(errcode_t error)
{
	return error == EXT2MB_ET_NO_SPACE || error == EXT2MB_ET_NO_INODES || error == ENOSPC;
}

/* Places as many of the actions as there is space for. *placed is their number. */
static errcode_t place_batch(struct applying *applying, size_t first, size_t most, size_t *placed)
{
	errcode_t error = 0;

	*placed = 0;
	while (!error && *placed < most) {
		const struct update_action *action = &applying->plan->actions[first + *placed];

		error = place_action(applying, action);
		if (is_full(error))
			return *placed ? 0 : applying_problem(applying, action, error, "cannot update");
		if (error)
			return applying_problem(applying, action, error, "cannot update");
		++*placed;
	}
	return 0;
}

static errcode_t seal_batch(struct applying *applying, size_t first, size_t count)
{
	const struct placed_inode *placed = applying->placed, *end = placed + applying->placed_count;
	errcode_t error = 0;

	applying->is_sealing = true;
	applying->reserved_blocks = count * ACTION_LOGGED_BLOCKS;
	for (size_t i = 0; !error && i < count; i++) {
		const struct update_action *action = &applying->plan->actions[first + i];
		bool is_placed = placed < end && placed->action == action;

		error = seal_action(applying, action, is_placed ? placed : NULL);
		placed += is_placed;
		if (error)
			return applying_problem(applying, action, error, "cannot update");
	}
	error = names_flush(applying);
	applying->is_sealing = error != 0;
	return error ? problem_set(applying->problem, error, applying->options->image, "cannot write a directory") : 0;
}

/* *done is how many actions have been carried out. */
static errcode_t run_batch(struct applying *applying, size_t first, size_t most, size_t *done)
{
	errcode_t error = place_batch(applying, first, most, done);

	if (!error && !applying->is_rehearsal)
		error = copy_contents(applying);
	if (!error)
		error = seal_batch(applying, first, *done);
	clear_batch(applying);
	return error;
}

/*
 * Returns how many groups' bitmaps an action changes. Each run of a large file counts as if it were as short as in a
 * badly fragmented filesystem.
 */
static uint64_t changed_groups(const struct applying *applying, const struct update_action *action)
{
	uint64_t groups = applying->filesystem->volume.geometry.groups;
	uint64_t runs = action->moved_blocks / BLOCKS_OF_A_RUN + LEAST_GROUPS;

	return runs < groups ? runs : groups;
}

/* Returns how many actions may follow in this transaction; 0 if it has to end first. */
static size_t next_batch(const struct applying *applying, size_t first)
{
	const struct update_plan *plan = applying->plan;
	uint64_t room = update_filesystem_log_room(applying->filesystem);
	uint64_t used = update_filesystem_log_blocks(applying->filesystem), begun = used, groups = 0;
	size_t count = 0;

	while (first + count < plan->count && count < MOST_BATCH) {
		groups += changed_groups(applying, &plan->actions[first + count]);
		if (groups > applying->filesystem->volume.geometry.groups)
			groups = applying->filesystem->volume.geometry.groups;
		used += ACTION_LOGGED_BLOCKS;
		if (used + 3 * groups > room && !applying->options->is_atomic)
			break;
		count++;
	}
	/* Each batch writes its directories: many small batches at the end of a log cost more than a commit. */
	if (!applying->options->is_atomic && begun > room / 2 && count < room / ACTION_LOGGED_BLOCKS / 4 &&
	    first + count < plan->count)
		return 0;
	return count;
}

static errcode_t too_large(const struct applying *applying, uint64_t blocks)
{
	const struct update_filesystem *filesystem = applying->filesystem;

	return problem_set_reason(applying->problem, EXT2MB_ET_TRANSACTION_SIZE, applying->options->image,
	                          "cannot update it in one transaction",
	                          "%" PRIu64 " blocks would be logged, and its journal holds %" PRIu64
	                          ": make it larger (tune2fs -J size=), %s",
	                          blocks, update_filesystem_log_room(filesystem),
	                          applying->options->is_atomic ? "give --new-file, or leave out --atomic" :
	                                                         "or give --new-file");
}

/* Ends a rehearsal: would the transaction be small enough? */
static errcode_t check_size(const struct applying *applying)
{
	uint64_t blocks;
	errcode_t error = update_filesystem_count(applying->filesystem, &blocks);

	if (error)
		return problem_set(applying->problem, error, applying->options->image, "cannot update");
	return blocks > update_filesystem_log_room(applying->filesystem) ? too_large(applying, blocks) : 0;
}

static errcode_t commit(struct applying *applying)
{
	if (applying->is_rehearsal)
		return check_size(applying);
	uint64_t blocks = update_filesystem_log_blocks(applying->filesystem);
	errcode_t error = update_filesystem_commit(applying->filesystem);

	if (error == EXT2MB_ET_TRANSACTION_SIZE)
		return too_large(applying, blocks);
	if (error)
		return problem_set(applying->problem, error, applying->options->image, "cannot commit");
	error = orphans_release(applying->filesystem);
	return error ? problem_set(applying->problem, error, applying->options->image,
	                           "cannot free what the update has dropped") :
	               0;
}

static errcode_t begin(const struct applying *applying)
{
	errcode_t error = ext2mb_transaction_begin(applying->filesystem->fs);

	return error ? problem_set(applying->problem, error, applying->options->image, "cannot begin a transaction") :
	               0;
}

/* True if a commit helps: space has run out, and the commit makes the freed space available. */
static bool helps_commit(const struct applying *applying, errcode_t error, bool is_fresh)
{
	return is_full(error) && !applying->is_sealing && !is_fresh && !applying->options->is_atomic;
}

static errcode_t run_all(struct applying *applying)
{
	bool is_fresh = true; /* nothing has been done since the last commit */
	size_t next = 0, done;
	errcode_t error = begin(applying);

	while (!error && next < applying->plan->count) {
		size_t most = interrupt_pending() ? 0 : next_batch(applying, next);

		if (interrupt_pending())
			return EINTR;
		if (!most && is_fresh)
			most = 1;
		applying->may_divide = is_fresh && !applying->options->is_atomic;
		error = most ? run_batch(applying, next, most, &done) : 0;
		if (most && !error) {
			next += done;
			is_fresh = false;
			continue;
		}
		if (error && !helps_commit(applying, error, is_fresh))
			return error;
		problem_clear(applying->problem);
		error = commit(applying);
		if (!error)
			error = begin(applying);
		is_fresh = true;
	}
	return error ? error : commit(applying);
}

static errcode_t apply(struct applying *applying)
{
	errcode_t error = run_all(applying);

	clear_batch(applying);
	free(applying->placed);
	free(applying->directories);
	inode_map_free(&applying->numbers);
	if (error || applying->is_rehearsal) {
		errcode_t abort_error = ext2mb_transaction_abort(applying->filesystem->fs);

		(void)abort_error;
	}
	return error;
}

errcode_t apply_rehearse(const struct update_options *options, struct update_plan *plan,
                         struct update_filesystem *filesystem, struct pool *pool, struct problem *problem)
{
	struct applying applying = {
		.options = options,
		.plan = plan,
		.problem = problem,
		.pool = pool,
		.filesystem = filesystem,
		.format = &filesystem->volume.format,
		.is_rehearsal = true,
	};
	errcode_t error = update_filesystem_rehearse(filesystem);

	return error ? problem_set(problem, error, options->image, "cannot update") : apply(&applying);
}

errcode_t apply_plan(const struct update_options *options, struct update_plan *plan,
                     struct update_filesystem *filesystem, struct pool *pool, struct update_report *report,
                     struct problem *problem)
{
	struct applying applying = {
		.options = options,
		.plan = plan,
		.report = report,
		.problem = problem,
		.pool = pool,
		.filesystem = filesystem,
		.format = &filesystem->volume.format,
	};

	return apply(&applying);
}
