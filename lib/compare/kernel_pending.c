/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare/kernel_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/group/group.h"
#include "support/bisect.h"

struct kernel_record {
	TAILQ_ENTRY(kernel_record) listed;
	uint32_t group;
	struct pending_run run; /* tid: that of its list */
};

/* Records in ascending order. An array is simpler than a tree, and has only a group's frees between two commits. */
struct kernel_tree {
	struct kernel_record **records;
	size_t capacity;
	uint32_t count;
	struct kernel_record *spare; /* for the next addition, which so cannot fail */
};

errcode_t kernel_pending_create(struct kernel_policy *kernel)
{
	TAILQ_INIT(&kernel->records);
	kernel->trees = calloc(kernel->groups, sizeof(*kernel->trees));
	return kernel->trees ? 0 : ENOMEM;
}

void kernel_pending_destroy(struct kernel_policy *kernel)
{
	for (uint32_t group = 0; kernel->trees && group < kernel->groups; group++) {
		struct kernel_tree *tree = &kernel->trees[group];

		for (uint32_t index = 0; index < tree->count; index++)
			free(tree->records[index]);
		free(tree->records);
		free(tree->spare);
	}
	free(kernel->trees);
}

/* The first record that ends after the cluster. */
static uint32_t search(const struct kernel_tree *tree, uint32_t cluster)
{
	struct kernel_record **records = tree->records;

	return (uint32_t)BISECT(tree->count, index, records[index]->run.start + records[index]->run.count > cluster);
}

static bool overlaps(const struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count)
{
	const struct kernel_tree *tree = &kernel_policy_of(mb)->trees[number];
	uint32_t index = search(tree, start);

	return index < tree->count && tree->records[index]->run.start < start + count;
}

static errcode_t reserve(struct ext2mb *mb, uint32_t number)
{
	struct kernel_tree *tree = &kernel_policy_of(mb)->trees[number];

	if (!tree->spare)
		tree->spare = malloc(sizeof(*tree->spare));
	if (!tree->spare)
		return ENOMEM;
	return vector_reserve(&tree->records, &tree->capacity, (size_t)tree->count + 1, sizeof(struct kernel_record *));
}

static void count_clusters(struct kernel_policy *kernel, int64_t change)
{
	if (kernel->choices & CHOICE_PENDING_ATOMIC) {
		atomic_fetch_add_explicit(&kernel->pending_clusters, (uint64_t)change, memory_order_relaxed);
		return;
	}
	md_lock_enter(kernel);
	atomic_store_explicit(&kernel->pending_clusters,
	                      atomic_load_explicit(&kernel->pending_clusters, memory_order_relaxed) + (uint64_t)change,
	                      memory_order_relaxed);
	md_lock_leave(kernel);
}

static void remove_from_tree(struct kernel_tree *tree, uint32_t index)
{
	memmove(tree->records + index, tree->records + index + 1,
	        (--tree->count - index) * sizeof(struct kernel_record *));
}

/* Inserts the group's spare record, which is filled in, into the tree at index and into the list. */
static void insert(struct kernel_policy *kernel, struct kernel_tree *tree, uint32_t index)
{
	struct kernel_record *record = tree->spare;

	tree->spare = NULL;
	memmove(tree->records + index + 1, tree->records + index,
	        (tree->count++ - index) * sizeof(struct kernel_record *));
	tree->records[index] = record;
	md_lock_enter(kernel);
	record->run.tid = kernel->tid;
	TAILQ_INSERT_TAIL(&kernel->records, record, listed);
	md_lock_leave(kernel);
}

/*
 * Joins a record with its successor if they touch and both are still on the list: a commit that has begun goes
 * through its records without the lock.
 */
static void join_with_next(struct kernel_policy *kernel, struct kernel_tree *tree, uint32_t index)
{
	struct kernel_record *record = tree->records[index];

	if (index + 1 >= tree->count)
		return;
	struct kernel_record *next = tree->records[index + 1];
	if (record->run.start + record->run.count != next->run.start || record->run.tid != next->run.tid)
		return;
	md_lock_enter(kernel);
	bool is_listed = next->run.tid == kernel->tid;
	if (is_listed)
		TAILQ_REMOVE(&kernel->records, next, listed);
	md_lock_leave(kernel);
	if (!is_listed)
		return;
	record->run.count += next->run.count;
	remove_from_tree(tree, index + 1);
	free(next);
}

/* Merges the range into a neighbour, if possible, so that no new record is needed. The tid is only compared. */
static bool extend(struct kernel_policy *kernel, struct kernel_tree *tree, uint32_t index, uint32_t start,
                   uint32_t count, uint32_t tid)
{
	struct kernel_record *next = index < tree->count ? tree->records[index] : NULL;
	struct kernel_record *previous = index ? tree->records[index - 1] : NULL;

	if (previous && previous->run.tid == tid && previous->run.start + previous->run.count == start) {
		previous->run.count += count;
		join_with_next(kernel, tree, index - 1);
		return true;
	}
	if (next && next->run.tid == tid && next->run.start == start + count) {
		next->run.start = start;
		next->run.count += count;
		return true;
	}
	return false;
}

static void add(struct ext2mb *mb, uint32_t number, uint32_t start, uint32_t count)
{
	struct kernel_policy *kernel = kernel_policy_of(mb);
	struct kernel_tree *tree = &kernel->trees[number];
	uint32_t index = search(tree, start);
	/* Read without the lock: a thread that extends a record that a commit has just begun to release freed its
	 * blocks before that commit. */
	uint32_t tid = __atomic_load_n(&kernel->tid, __ATOMIC_RELAXED);

	count_clusters(kernel, count);
	if (kernel->choices & CHOICE_MERGE_FIRST && extend(kernel, tree, index, start, count, tid))
		return;
	*tree->spare = (struct kernel_record){ .group = number, .run = { .start = start, .count = count } };
	insert(kernel, tree, index);
	if (kernel->choices & CHOICE_MERGE_FIRST)
		return;
	join_with_next(kernel, tree, index);
	if (index)
		join_with_next(kernel, tree, index - 1);
}

static void release(struct ext2mb *mb, struct kernel_record *record)
{
	struct kernel_policy *kernel = kernel_policy_of(mb);
	struct group *group = &mb->groups[record->group];
	struct kernel_tree *tree = &kernel->trees[record->group];
	uint32_t number = record->group;

	atomic_fetch_add(&mb->releases_begun, 1);
	group_lock(group);
	count_clusters(kernel, -(int64_t)record->run.count);
	remove_from_tree(tree, search(tree, record->run.start));
	buddy_give(group->buddy, record->run.start, record->run.count);
	group->is_dirty = true;
	atomic_fetch_add_explicit(&mb->clusters_released, record->run.count, memory_order_relaxed);
	group_leave_changed(mb, number);
	atomic_fetch_add(&mb->releases_ended, 1);
	free(record);
}

/* After this thread has held the group's lock, no other thread extends the record: its transaction is over. */
static errcode_t show(struct ext2mb *mb, const struct kernel_record *record)
{
	struct lock *lock = &mb->groups[record->group].lock;

	if (!mb->discard)
		return 0;
	lock_wait(lock);
	uint64_t block = geometry_block(&mb->geometry, record->group, record->run.start);
	uint64_t blocks = geometry_to_blocks(&mb->geometry, record->run.count);
	lock_release(lock);
	return mb->discard(mb->discard_context, block, blocks);
}

/* The list has its own tid, under its lock. */
static errcode_t commit(struct ext2mb *mb, uint32_t tid UNUSED)
{
	struct kernel_policy *kernel = kernel_policy_of(mb);
	errcode_t first_error = 0;

	md_lock_enter(kernel);
	struct kernel_records records = TAILQ_HEAD_INITIALIZER(records);
	TAILQ_CONCAT(&records, &kernel->records, listed);
	__atomic_store_n(&kernel->tid, kernel->tid + 1, __ATOMIC_RELAXED);
	md_lock_leave(kernel);
	for (struct kernel_record *record; (record = TAILQ_FIRST(&records));) {
		errcode_t error = show(mb, record);

		if (!first_error)
			first_error = error;
		TAILQ_REMOVE(&records, record, listed);
		release(mb, record);
	}
	return first_error;
}

/* The list is checked once, with the first group. */
static const char *check_list(const struct kernel_policy *kernel)
{
	uint64_t listed = 0, records = 0, clusters = 0;

	const struct kernel_record *record;

	TAILQ_FOREACH(record, &kernel->records, listed)
	listed++;
	for (uint32_t number = 0; number < kernel->groups; number++) {
		records += kernel->trees[number].count;
		for (uint32_t index = 0; index < kernel->trees[number].count; index++)
			clusters += kernel->trees[number].records[index]->run.count;
	}
	if (listed != records)
		return "pending frees and their list disagree";
	if (clusters != atomic_load_explicit(&kernel->pending_clusters, memory_order_relaxed))
		return "pending clusters are miscounted";
	return NULL;
}

static const char *check(const struct ext2mb *mb, uint32_t number)
{
	const struct kernel_tree *tree = &kernel_policy_of(mb)->trees[number];
	const struct pending_run *previous = NULL;

	for (uint32_t index = 0; index < tree->count; index++) {
		const struct pending_run *run = &tree->records[index]->run;
		const char *wrong = pending_run_check(run, previous, mb->groups[number].buddy);

		if (wrong)
			return wrong;
		previous = run;
	}
	return number ? NULL : check_list(kernel_policy_of(mb));
}

const struct pending_operations kernel_pending = { overlaps, reserve, add, commit, check };
