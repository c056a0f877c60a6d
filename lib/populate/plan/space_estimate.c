/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/plan/space_estimate.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/metadata/directories.h"
#include "populate/metadata/xattrs.h"
#include "populate/plan/content_order.h"
#include "populate/plan/hidden_gaps.h"

/* mke2fs gives lost+found 16 KiB, so that e2fsck need not allocate when it rescues files. */
#define LOST_FOUND_BYTES 16384u

/* The number of extents into which a file is cut. */
struct cuts {
	uint64_t least, most;
};

/*
 * A run is cut by the longest extent, and by the metadata of the groups that it crosses. On a fresh filesystem that is
 * less than two cuts for every half group.
 */
static void add_cuts(const struct plan *plan, uint32_t blocks, bool is_unwritten, struct cuts *cuts)
{
	uint64_t by_metadata = 2ull * (blocks / (plan->space.blocks_per_group / 2));
	uint32_t longest = FILE_EXTENT_MAX_BLOCKS;

	if (is_unwritten)
		longest = FILE_EXTENT_MAX_UNWRITTEN_BLOCKS >> plan->format.cluster_bits << plan->format.cluster_bits;
	cuts->least += ((uint64_t)blocks + longest - 1) / longest;
	cuts->most += 2ull + blocks / longest + by_metadata;
}

/* Four extents fit in the inode, and nearly all files have no more. */
static void count_extent_map(const struct plan *plan, const struct cuts *cuts, struct district *need)
{
	if (cuts->most <= 4)
		return;
	uint64_t most = file_map_blocks(&plan->format, NULL, cuts->most);

	need->clusters += most;
	need->is_bound |= most != file_map_blocks(&plan->format, NULL, cuts->least);
}

static bool fits_inode(const struct plan *plan, uint32_t number, uint64_t bytes)
{
	return bytes <= plan->xattrs.stores[plan_node(plan, number)->xattrs].inline_room_bytes;
}

/* An indirect map depends on the logical blocks alone, so its size is exact. */
static errcode_t count_indirect(const struct plan *plan, uint32_t number, uint64_t *clusters)
{
	struct block_runs runs;
	uint32_t logical, blocks;
	struct extent_list list = { 0 };
	errcode_t error = 0;

	plan_start_runs(plan, number, &runs);
	while (!error && block_runs_next(&runs, &logical, &blocks))
		error = extent_list_add(&list, logical, 1, blocks);
	if (!error)
		*clusters += file_map_blocks(&plan->format, list.extents, list.count);
	free(list.extents);
	return error;
}

/*
 * True if a cluster holds both data and a hole. Then the hole would be filled with zeros, which are not the ciphertext
 * of zeros.
 */
static bool has_torn_clusters(const struct plan *plan, const struct tree_node *node)
{
	const uint64_t cluster_bytes = (uint64_t)plan->format.block_bytes << plan->format.cluster_bits;

	for (uint32_t i = 0; plan->format.cluster_bits && node->is_sparse && i < node->data_map->count; i++) {
		const struct tree_segment *segment = &node->data_map->segments[i];
		uint64_t end = segment->start_bytes + segment->length_bytes;

		if (segment->start_bytes % cluster_bytes || (end % cluster_bytes && end < node->size_bytes))
			return true;
	}
	return false;
}

static errcode_t count_file(const struct plan *plan, uint32_t number, struct district *need)
{
	const struct tree_node *node = plan_node(plan, number);
	struct block_runs runs;
	uint32_t logical, blocks;
	struct cuts cuts = { 0 };
	uint64_t total = 0, unwritten = 0, added;
	bool is_protected;

	if (node->size_bytes > file_map_max_bytes(&plan->format))
		return EFBIG;
	if (node->is_encrypted && has_torn_clusters(plan, node))
		return ENOTSUP;
	errcode_t error = protection_decide(&plan->protection, number, &is_protected);

	if (error)
		return error;
	plan->placements[number].is_protected = is_protected;
	if (!is_protected && !node->is_encrypted && node->size_bytes && !plan_unwritten(plan, number) &&
	    fits_inode(plan, number, node->size_bytes)) {
		plan->placements[number].is_inline = true;
		return 0;
	}
	plan_start_runs(plan, number, &runs);
	added = runs.added_end - runs.added_start;
	while (block_runs_next(&runs, &logical, &blocks)) {
		total += blocks;
		unwritten += runs.is_unwritten ? blocks : 0;
		need->clusters += plan_clusters(plan, blocks);
		add_cuts(plan, blocks, runs.is_unwritten, &cuts);
	}
	plan->placements[number].blocks = (uint32_t)total;
	need->data_bytes += node->is_sparse ? (total - added - unwritten) << plan->format.block_bits : node->size_bytes;
	if (!plan->format.extents)
		return runs.file_blocks > EXT2_NDIR_BLOCKS ? count_indirect(plan, number, &need->clusters) : 0;
	count_extent_map(plan, &cuts, need);
	return 0;
}

/* The problem names both entries. */
static errcode_t check_casefold(const struct plan *plan, uint32_t node, const struct directory_source *source,
                                struct problem *problem)
{
	uint32_t first, second;
	errcode_t error = directory_check_casefold(&plan->format, source, &first, &second);

	if (error != EEXIST && error != EILSEQ)
		return error;
	SCOPE_FREE char *path = tree_path(plan->source->tree, node);

	if (error == EILSEQ)
		return problem_set_reason(problem, error, path, "cannot be case-insensitive",
		                          "its entry %s is not valid in the filesystem's encoding",
		                          source->name(source->context, first).name);
	return problem_set_reason(
		problem, error, path, "cannot be case-insensitive", "its entries %s and %s differ only by case",
		source->name(source->context, first).name, source->name(source->context, second).name);
}

static void cleanup_layout(struct directory_layout **layout)
{
	directory_layout_free(*layout);
}

static errcode_t lay_out(const struct plan *plan, struct directory_job *job, struct problem *problem)
{
	const struct tree_node *node = plan_node(plan, job->node);
	bool is_lost_found = job->node != TREE_ROOT && node->parent == TREE_ROOT &&
	                     tree_name_compare(node->name, node->name_bytes, "lost+found", strlen("lost+found")) == 0;
	struct placement *placement = &plan->placements[job->node];
	struct directory_view view;

	__attribute__((cleanup(cleanup_layout))) struct directory_layout *earlier = TAKE(job->layout);
	const struct directory_source source = directory_view_open(&view, plan, job->node);

	placement->blocks = 0;
	placement->is_inline = false;
	if (source.is_casefolded && !node->is_encrypted) {
		errcode_t error = check_casefold(plan, job->node, &source, problem);

		if (error)
			return error;
	}
	/*
	 * The kernel takes a root directory without blocks for damage, and e2fsck wants lost+found as it is. The kernel
	 * encrypts nothing that is inline.
	 */
	if (job->node != TREE_ROOT && !is_lost_found && !node->is_encrypted) {
		uint32_t room_bytes = plan->xattrs.stores[node->xattrs].inline_room_bytes;

		placement->is_inline = directory_inline_bytes(&source, room_bytes) > 0;
		if (placement->is_inline)
			return 0;
	}
	return directory_layout(&plan->format, &source, is_lost_found ? LOST_FOUND_BYTES >> plan->format.block_bits : 1,
	                        earlier, &placement->blocks, &job->layout);
}

/* Counts a directory that has been laid out. */
static errcode_t count_directory(const struct plan *plan, uint32_t number, struct district *need)
{
	uint32_t blocks = plan->placements[number].blocks;
	struct cuts cuts = { 0 };

	need->clusters += plan_clusters(plan, blocks);
	if (!blocks)
		return 0;
	if (!plan->format.extents)
		return count_indirect(plan, number, &need->clusters);
	add_cuts(plan, blocks, false, &cuts);
	count_extent_map(plan, &cuts, need);
	return 0;
}

/*
 * e2fsck 1.47.0 omits inline symlinks when it counts the quotas' charges, and with them the blocks and inodes of their
 * xattrs.
 */
static bool symlink_may_be_inline(const struct plan *plan, uint32_t number)
{
	const struct xattr_layout *xattrs = &plan->xattrs.stores[plan_node(plan, number)->xattrs].layout;

	return !plan->format.quota && !xattrs->needs_block && !xattrs->in_value_inode &&
	       !plan_node(plan, number)->is_encrypted;
}

static errcode_t count_symlink(const struct plan *plan, uint32_t number, uint64_t *clusters)
{
	uint64_t length_bytes = plan_node(plan, number)->size_bytes;

	if (length_bytes > INODE_FAST_SYMLINK_BYTES && symlink_may_be_inline(plan, number) &&
	    fits_inode(plan, number, length_bytes)) {
		plan->placements[number].is_inline = true;
		return 0;
	}
	plan->placements[number].blocks = length_bytes > INODE_FAST_SYMLINK_BYTES;
	*clusters += plan->placements[number].blocks;
	/* The target and its terminating NUL must fit one block. */
	return length_bytes < plan->format.block_bytes ? 0 : ENAMETOOLONG;
}

/* Reports the limit of ext4 that a node exceeds: what is too much, and what would help. */
static errcode_t limit_problem(const struct plan *plan, uint32_t number, errcode_t error, struct problem *problem)
{
	const struct tree_node *node = plan_node(plan, number);
	const struct ondisk_format *format = &plan->format;
	SCOPE_FREE char *path = tree_path(plan->source->tree, number);
	const char *action = "cannot be stored";

	if (S_ISREG(node->mode) && !node->is_encrypted && error != EMLINK &&
	    node->size_bytes <= file_map_max_bytes(format)) {
		SCOPE_FREE char *reason = protection_reason(&plan->protection, number, error);

		if (reason)
			return problem_set_reason(problem, error, path, "cannot be protected by fs-verity", "%s",
			                          reason);
	}
	if (error == EMLINK && S_ISDIR(node->mode))
		return problem_set_reason(problem, error, path, action,
		                          "it has %" PRIu32
		                          " subdirectories, and there may be %d (-O dir_nlink allows more)",
		                          node->links - 2, EXT2_LINK_MAX - 2);
	if (error == EMLINK)
		return problem_set_reason(problem, error, path, action,
		                          "it has %" PRIu32 " names, and a file may have %d", node->links,
		                          EXT2_LINK_MAX);
	if (error == EFBIG && S_ISDIR(node->mode))
		return problem_set_reason(
			problem, error, path, action,
			"%" PRIu32 " names are more than a directory can have in blocks of %" PRIu32 " bytes%s",
			node->child_count, format->block_bytes, format->large_dir ? "" : " (-O large_dir allows more)");
	if (error == ENOTSUP && node->is_encrypted)
		return problem_set_reason(problem, error, path, action,
		                          "it is encrypted, and has a hole that is no whole cluster of %" PRIu64
		                          " bytes (-C, or -O ^bigalloc, makes clusters smaller)",
		                          (uint64_t)format->block_bytes << format->cluster_bits);
	if (error == EFBIG)
		return problem_set_reason(problem, error, path, action,
		                          "%" PRIu64 " bytes are more than a file can have in blocks of %" PRIu32
		                          " bytes",
		                          node->size_bytes, format->block_bytes);
	return problem_set(problem, error, path, action);
}

/*
 * Each directory is a task. With parts of the nodes as tasks, neighbouring directories are in one part, and their
 * entries in others. (Then one thread laid out the 300 directories of 1000 names each, in 20 ms.)
 */
static errcode_t lay_out_directory(void *context, unsigned int worker, size_t directory, struct problem *problem)
{
	const struct plan *plan = context;
	struct directory_job *job = &plan->directories[directory];
	errcode_t error = lay_out(plan, job, problem);

	(void)worker;
	return error ? limit_problem(plan, job->node, error, problem) : 0;
}

static errcode_t count_district(void *context, unsigned int worker, size_t district, struct problem *problem)
{
	const struct plan *plan = context;
	struct node_range nodes = node_part(plan->source->tree, NODES_PER_DISTRICT, district);
	struct district need = { 0 };

	(void)worker;
	for (uint32_t number = nodes.first; number < nodes.end; number++) {
		const struct tree_node *node = plan_node(plan, number);
		errcode_t error = 0;

		if (!S_ISDIR(node->mode)) {
			plan->placements[number].blocks = 0;
			plan->placements[number].is_inline = false;
			plan->placements[number].is_protected = false;
		}
		if (tree_node_is_link(plan->source->tree, number))
			continue;
		if (node->links > EXT2_LINK_MAX && !(S_ISDIR(node->mode) && plan->format.dir_nlink))
			error = EMLINK;
		else if (S_ISDIR(node->mode))
			error = count_directory(plan, number, &need);
		else if (S_ISREG(node->mode))
			error = count_file(plan, number, &need);
		else if (S_ISLNK(node->mode))
			error = count_symlink(plan, number, &need.clusters);
		if (error)
			return limit_problem(plan, number, error, problem);
	}
	plan->space.districts[district] = need;
	return 0;
}

/*
 * before[n] counts the directories before each part of the nodes. While they are counted, it has those of the previous
 * part.
 */
struct directory_list {
	struct plan *plan;
	uint32_t *before;
};

static errcode_t count_directories(void *context, unsigned int worker, size_t task, struct problem *problem)
{
	const struct directory_list *list = context;
	struct node_range nodes = node_task(list->plan->source->tree, task);
	uint32_t count = 0;

	(void)worker;
	(void)problem;
	for (uint32_t node = nodes.first; node < nodes.end; node++)
		count += S_ISDIR(plan_node(list->plan, node)->mode);
	list->before[task + 1] = count;
	return 0;
}

static errcode_t fill_directories(void *context, unsigned int worker, size_t task, struct problem *problem)
{
	const struct directory_list *list = context;
	struct node_range nodes = node_task(list->plan->source->tree, task);
	uint32_t next = list->before[task];

	(void)worker;
	(void)problem;
	/* The memory is cleared here and not by calloc(), so that the threads share its first touches. */
	memset(&list->plan->placements[nodes.first], 0, (nodes.end - nodes.first) * sizeof(*list->plan->placements));
	for (uint32_t node = nodes.first; next < list->before[task + 1]; node++)
		if (S_ISDIR(plan_node(list->plan, node)->mode))
			list->plan->directories[next++].node = node;
	return 0;
}

static errcode_t list_directories(struct plan *plan, struct pool *pool, struct problem *problem)
{
	size_t tasks = node_task_count(plan->source->tree);
	SCOPE_FREE uint32_t *before = calloc(tasks + 1, sizeof(*before));
	struct directory_list list = { plan, before };
	errcode_t error = before ? pool_run(pool, tasks, count_directories, &list, problem) : ENOMEM;

	if (error)
		return error;
	for (size_t task = 0; task < tasks; task++)
		before[task + 1] += before[task];
	plan->directory_count = before[tasks];
	plan->directories = calloc(plan->directory_count, sizeof(*plan->directories));
	plan->placements = malloc(plan->source->tree->node_count * sizeof(*plan->placements));
	if (!plan->directories || !plan->placements) {
		plan->directory_count = 0;
		return ENOMEM;
	}
	error = pool_run(pool, tasks, fill_directories, &list, problem);
	/* Placements that no task has cleared hold no values, and releasing the build would read them. */
	if (error)
		free(TAKE(plan->placements));
	return error;
}

/* The stored hashes of encrypted names depend on case-insensitivity: only the key could compute others. */
static errcode_t check_encrypted_case(const struct plan *plan, struct problem *problem)
{
	const struct tree *tree = plan->source->tree;
	const uint32_t first = plan->source->encrypted.first_node;

	for (uint32_t number = first; first && number < tree->node_count; number++) {
		const struct tree_node *node = &tree->nodes[number];

		if (!node->is_encrypted || plan->placements[number].is_casefolded == node->is_casefolded)
			continue;
		SCOPE_FREE char *path = tree_path(tree, number);

		return node->is_casefolded ?
		               problem_set_reason(problem, ENOTSUP, path, "cannot be stored",
		                                  "it is encrypted and case-insensitive, and the filesystem lacks the "
		                                  "feature casefold (-O casefold)") :
		               problem_set_reason(problem, ENOTSUP, path, "cannot be case-insensitive",
		                                  "it is encrypted, and its key is not known here");
	}
	return 0;
}

/*
 * Directories that were case-insensitive in an image stay so if the filesystem supports it. Directories that the
 * options name become so, with all directories below them, as in the kernel, where subdirectories inherit it.
 */
static errcode_t mark_casefolded(struct plan *plan, struct problem *problem)
{
	const struct tree *tree = plan->source->tree;
	char *const *path = plan->options->casefolded;

	for (uint32_t node = 0; plan->format.encoding && node < tree->node_count; node++)
		plan->placements[node].is_casefolded = tree->nodes[node].is_casefolded;
	if (!path)
		return check_encrypted_case(plan, problem);
	if (!plan->format.encoding)
		return problem_set_reason(problem, EINVAL, plan->options->image, "cannot be case-insensitive",
		                          "the filesystem lacks the feature casefold");
	for (; *path; path++) {
		uint32_t node;

		if (!tree_find_path(tree, *path, &node) || !S_ISDIR(tree->nodes[node].mode))
			return problem_set_reason(problem, ENOTDIR, *path, "cannot be case-insensitive",
			                          "the source has no such directory");
		plan->placements[node].is_casefolded = true;
	}
	/* A directory comes before its contents. */
	for (uint32_t node = 0; node < tree->node_count; node++)
		if (S_ISDIR(tree->nodes[node].mode) && plan->placements[tree->nodes[node].parent].is_casefolded)
			plan->placements[node].is_casefolded = true;
	return check_encrypted_case(plan, problem);
}

/* In ext4's format (vfsv1) blocks have 1 KiB. An owner's entry may need one block for each level of the tree. */
#define QUOTA_OWNER_BYTES (5 * 1024)
#define QUOTA_SLOTS 4096u

/* Returns an upper bound of the users, groups and projects: the used slots of a small hash table. */
static uint64_t most_quota_owners(const struct plan *plan)
{
	const struct tree *tree = plan->source->tree;
	uint8_t seen[3][QUOTA_SLOTS] = { { 0 } };
	uint64_t owners = 0;

	for (uint32_t node = 0; node < tree->node_count; node++) {
		uint32_t ids[3] = { tree->nodes[node].uid, tree->nodes[node].gid, plan_project(plan, node) };

		for (int type = 0; type < 3; type++) {
			uint8_t *slot = &seen[type][ids[type] * 2654435761u % QUOTA_SLOTS];

			owners += !*slot;
			*slot = 1;
		}
	}
	/* In a full table slots have several owners: then every file may have an owner of its own. */
	return owners > QUOTA_SLOTS / 2 ? 3ull * tree->node_count : owners;
}

static errcode_t count_districts(struct plan *plan, struct pool *pool, struct problem *problem)
{
	uint32_t count = district_count(plan);
	struct space_estimate *space = &plan->space;

	if (!space->districts)
		space->districts = calloc(count, sizeof(*space->districts));
	if (!space->districts)
		return problem_set(problem, ENOMEM, NULL, "cannot plan the image");
	errcode_t error = pool_run(pool, plan->directory_count, lay_out_directory, plan, problem);

	if (!error)
		error = pool_run(pool, count, count_district, plan, problem);
	if (error)
		return error;
	plan->data_bytes = 0;
	space->clusters = xattrs_clusters(plan);
	for (uint32_t district = 0; district < count; district++) {
		space->clusters += space->districts[district].clusters;
		plan->data_bytes += space->districts[district].data_bytes;
	}
	return 0;
}

/* What hidden gaps take is counted when the files' blocks are known. */
static errcode_t count_gaps(struct plan *plan, struct problem *problem)
{
	uint64_t blocks;
	errcode_t error = content_order_make(plan);

	if (!error)
		error = hidden_gaps_count(plan, &blocks, problem);
	if (!error)
		plan->space.clusters += plan_clusters(plan, blocks);
	return error ? problem_set(problem, error, NULL, "cannot plan the image") : 0;
}

errcode_t space_estimate_count(struct plan *plan, struct pool *pool, const struct ondisk_format *format,
                               uint32_t blocks_per_group, struct problem *problem)
{
	struct space_estimate *space = &plan->space;

	if (space->is_counted && memcmp(format, &plan->format, sizeof(*format)) == 0 &&
	    space->blocks_per_group == blocks_per_group)
		return 0;
	/* A count that fails leaves a partial count, which must not be taken for that of this format. */
	space->is_counted = false;
	plan->format = *format;
	space->blocks_per_group = blocks_per_group;
	errcode_t error = plan->directories ? 0 : list_directories(plan, pool, problem);

	if (!error)
		error = mark_casefolded(plan, problem);
	if (error)
		return problem_set(problem, error, NULL, "cannot plan the image");
	/* Xattrs come first: the room that they leave in the inodes can hold small contents. */
	error = xattrs_lay_out(plan, problem);
	if (!error)
		error = count_districts(plan, pool, problem);
	if (!error)
		error = count_gaps(plan, problem);
	if (error)
		return error;
	error = plan_list_protected(plan);
	if (error)
		return problem_set(problem, error, NULL, "cannot plan the image");
	space->quota_blocks =
		format->quota ? (most_quota_owners(plan) * QUOTA_OWNER_BYTES + 65536) >> format->block_bits : 0;
	space->is_counted = true;
	return 0;
}

void space_estimate_release(struct plan *plan)
{
	for (uint32_t directory = 0; directory < plan->directory_count; directory++)
		directory_layout_free(plan->directories[directory].layout);
	plan->directory_count = 0;
	free(TAKE(plan->directories));
	free(TAKE(plan->placements));
	free(TAKE(plan->space.districts));
	plan->space.is_counted = false;
	xattrs_release(plan);
	protection_release(&plan->protection);
	content_order_release(plan);
}
