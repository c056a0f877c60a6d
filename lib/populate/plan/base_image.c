/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/plan/base_image.h"

#include <errno.h>
#include <sys/stat.h>
#include <uuid/uuid.h>

#include "disk/place.h"
#include "filesystem/fs_errors.h"
#include "image/inode.h"
#include "support/io/same_file.h"
#include "support/run/interrupt.h"

void base_image_close(struct base_image *base)
{
	if (!base)
		return;
	directory_walker_close(&base->walker);
	if (base->is_open)
		volume_close(&base->volume);
	free(base->inode);
	free(base->inodes);
	free(base);
}

/* A directory whose entries are being looked up in the tree. */
struct matching {
	struct base_image *base;
	const struct tree *tree;
	uint32_t node;
};

static void match_entry(void *context, const struct directory_entry *entry)
{
	const struct matching *matching = context;
	const struct volume *volume = &matching->base->volume;
	uint32_t child = tree_find(matching->tree, matching->node, entry->name, entry->name_bytes);

	if (child && entry->ino >= volume->geometry.first_inode && entry->ino <= volume->inodes)
		matching->base->inodes[child] = entry->ino;
}

/* Sets *is_like if the inode has the node's type. An inode that cannot be read has not. ENOMEM. */
static errcode_t read_inode(const struct base_image *base, const struct tree_node *node, uint32_t ino,
                            struct volume_inode *inode, bool *is_like)
{
	errcode_t error = volume_inode_read(&base->volume, ino, base->inode, inode);

	*is_like = !error && inode->view.links && (inode->view.mode & S_IFMT) == (node->mode & S_IFMT);
	return error == ENOMEM ? error : 0;
}

/* Fills in inodes. Inodes that cannot be read count as missing. ENOMEM, EINTR. */
static errcode_t match(struct base_image *base, const struct tree *tree)
{
	struct matching matching = { .base = base, .tree = tree };
	const struct directory_visitor visitor = { .entry = match_entry, .context = &matching };

	base->inodes = calloc(tree->node_count, sizeof(*base->inodes));
	if (!base->inodes)
		return ENOMEM;
	base->inodes[TREE_ROOT] = EXT2_ROOT_INO;
	for (uint32_t node = 0; node < tree->node_count; node++) {
		struct volume_inode inode;
		struct directory_shape shape;
		bool is_like;

		if (node % 1024 == 0 && interrupt_pending())
			return EINTR;
		/* Parents come first, so the walk has met the node's entry by now. */
		if (!base->inodes[node])
			continue;
		errcode_t error = read_inode(base, &tree->nodes[node], base->inodes[node], &inode, &is_like);

		if (error)
			return error;
		if (!is_like)
			base->inodes[node] = 0;
		matching.node = node;
		if (is_like && S_ISDIR(tree->nodes[node].mode))
			directory_walk(&base->walker, base->inodes[node], inode.raw, &inode.view, &visitor, &shape);
	}
	return 0;
}

/* The walker checks checksums: a damaged block counts as missing. */
static errcode_t open_reader(struct base_image *base)
{
	errcode_t error = directory_walker_open(&base->volume, (struct damage_listener){ 0 }, &base->map_blocks_read,
	                                        &base->directory_blocks_read, &base->walker);

	base->walker.map.is_strict = true;
	base->inode = malloc(base->volume.format.inode_bytes);
	return error || base->inode ? error : ENOMEM;
}

static void describe(struct base_image *base)
{
	const struct ext2_super_block *super = &base->volume.superblock;

	uuid_unparse_lower(super->s_uuid, base->identity.uuid);
	uuid_unparse_lower((const unsigned char *)super->s_hash_seed, base->identity.hash_seed);
	base->block_bytes = base->volume.format.block_bytes;
	base->blocks = super->s_blocks_count;
	if (super->s_feature_incompat & EXT4_FEATURE_INCOMPAT_64BIT)
		base->blocks |= (uint64_t)super->s_blocks_count_hi << 32;
	base->inode_count = super->s_inodes_count;
}

errcode_t base_image_open(struct scanned *scanned, bool in_place, const struct workplace *work)
{
	const char *path = work->options->stable_from;

	if (!path)
		return 0;
	if (in_place && is_same_storage(path, work->options->image))
		return problem_set_reason(work->problem, EINVAL, path, "cannot keep its layout",
		                          "it is what is to be written to; give a copy of it");
	if (!fs_may_be_at(path))
		return problem_set_reason(work->problem, EINVAL, path, "cannot open the earlier image",
		                          "it is neither a regular file nor a block device");
	struct base_image *base = scanned->base = calloc(1, sizeof(*base));
	if (!base)
		return problem_set(work->problem, ENOMEM, path, "cannot open");
	struct problem problem = { 0 };
	errcode_t error = place_open_volume(
		path,
		&(struct place_options){ .offset_bytes = work->options->offset_bytes,
	                                 .most_unpacked_bytes = work->options->limits.unpacked_bytes },
		&base->volume, &problem);

	/* What libext2fs says of it has no reason, and is said below. */
	if (problem.reason)
		*work->problem = problem;
	else
		problem_clear(&problem);
	if (error)
		return problem_set(work->problem, error, path, "cannot open the earlier image");
	base->is_open = true;
	describe(base);
	error = open_reader(base);
	if (!error)
		error = match(base, scanned->tree);
	return error ? problem_set(work->problem, error, path, "cannot read") : 0;
}

struct collecting {
	struct extent_list *list;
	errcode_t error;
};

static bool add_record(void *context, const struct map_record *record)
{
	struct collecting *collecting = context;

	if (record->logical + record->count <= UINT32_MAX)
		collecting->error =
			extent_list_add(collecting->list, (uint32_t)record->logical, record->physical, record->count);
	return !collecting->error;
}

/* Returns where the node's blocks were, written or not: only those whose map can be read. */
static errcode_t read_extents(const struct plan *plan, uint32_t node, struct extent_list *list)
{
	struct base_image *base = plan->source->base;
	struct collecting collecting = { .list = list };
	uint32_t ino = base->inodes[node];
	struct volume_inode inode;
	struct map_shape shape;
	bool is_like;

	list->count = 0;
	if (!ino)
		return 0;
	errcode_t error = read_inode(base, plan_node(plan, node), ino, &inode, &is_like);

	if (error || !is_like || !volume_inode_has_map(&inode))
		return error;
	map_walk(&base->walker.map, ino, &inode.view, add_record, &collecting, &shape);
	return collecting.error;
}

struct keeping {
	struct plan *plan;
	const struct filesystem *filesystem;
	struct extent_list earlier; /* of the node */
	struct extent_list kept;    /* the earlier blocks that could be taken again */
};

/* Asks for blocks of a run at their earlier place, up to the first that cannot be had. */
static errcode_t keep_piece(struct keeping *keeping, uint32_t logical, uint32_t count, uint64_t physical)
{
	struct plan *plan = keeping->plan;
	uint64_t cluster = UINT64_C(1) << plan->format.cluster_bits;

	while (count) {
		struct ext2mb_request request = {
			.struct_bytes = sizeof(request),
			.goal = physical,
			.count = plan_clusters(plan, count) * cluster,
			.flags = EXT2MB_ALLOC_GOAL_ONLY,
		};
		struct ext2mb_extent extent;

		/* The blocks are taken, or are metadata now, or lie past the end. */
		if (ext2mb_alloc(keeping->filesystem->workers[0], &request, &extent))
			return 0;
		uint32_t taken = extent.count < count ? (uint32_t)extent.count : count;
		errcode_t error = extent_list_add(&keeping->kept, logical, physical, taken);

		if (error)
			return error;
		logical += taken;
		physical += taken;
		count -= taken;
	}
	return 0;
}

/* Keeps the earlier blocks of one run of the node. *next is the first earlier extent that may reach into the run. */
static errcode_t keep_run(struct keeping *keeping, size_t *next, uint32_t logical, uint32_t blocks)
{
	const struct extent_list *earlier = &keeping->earlier;
	uint64_t end = (uint64_t)logical + blocks, mask = (1u << keeping->plan->format.cluster_bits) - 1;
	errcode_t error = 0;

	while (*next < earlier->count &&
	       (uint64_t)earlier->extents[*next].logical + earlier->extents[*next].count <= logical)
		++*next;
	for (; !error && *next < earlier->count && earlier->extents[*next].logical < end; ++*next) {
		const struct file_extent *extent = &earlier->extents[*next];
		uint32_t first = extent->logical > logical ? extent->logical : logical;
		uint64_t extent_end = (uint64_t)extent->logical + extent->count;
		uint32_t last = (uint32_t)(extent_end < end ? extent_end : end);
		uint64_t physical = extent->physical + (first - extent->logical);

		/* Clusters are kept whole: a piece begins with a cluster, and ends with a cluster or with the run. */
		if (!(first & mask) && !(physical & mask) && (!(last & mask) || last == end))
			error = keep_piece(keeping, first, last - first, physical);
		if (extent_end > end)
			break;
	}
	return error;
}

static errcode_t keep_node(struct keeping *keeping, uint32_t number)
{
	struct plan *plan = keeping->plan;
	struct block_runs runs;
	uint32_t logical, blocks;
	errcode_t error = read_extents(plan, number, &keeping->earlier);
	size_t next = 0;

	keeping->kept.count = 0;
	keeping->kept.unit = 1u << plan->format.cluster_bits;
	plan_start_runs(plan, number, &runs);
	while (!error && block_runs_next(&runs, &logical, &blocks)) {
		keeping->kept.is_unwritten = runs.is_unwritten;
		error = keep_run(keeping, &next, logical, blocks);
	}
	if (error || !keeping->kept.count)
		return error;
	plan->reused[number] = extent_map_create(&keeping->kept, 0);
	return plan->reused[number] ? 0 : ENOMEM;
}

errcode_t base_image_reserve(struct plan *plan, const struct filesystem *filesystem, const struct workplace *work)
{
	struct keeping keeping = { .plan = plan, .filesystem = filesystem };
	errcode_t error = 0;

	if (!plan->source->base || plan->source->base->block_bytes != plan->format.block_bytes)
		return 0;
	plan->reused = calloc(plan->source->tree->node_count, sizeof(*plan->reused));
	if (!plan->reused)
		return problem_set(work->problem, ENOMEM, NULL, "cannot plan the image");
	for (uint32_t node = 0; !error && node < plan->source->tree->node_count; node++) {
		if (node % 1024 == 0 && interrupt_pending())
			error = EINTR;
		else if (plan->placements[node].blocks && !tree_node_is_link(plan->source->tree, node))
			error = keep_node(&keeping, node);
	}
	free(keeping.earlier.extents);
	free(keeping.kept.extents);
	return error ? problem_set(work->problem, error, NULL, "cannot plan the image") : 0;
}

void base_image_release(struct plan *plan)
{
	for (uint32_t node = 0; plan->reused && node < plan->source->tree->node_count; node++)
		free(plan->reused[node]);
	free(TAKE(plan->reused));
}

errcode_t base_image_warn(const struct plan *plan, const struct filesystem *filesystem, struct warnings *warnings)
{
	const struct base_image *base = plan->source->base;
	struct problem problem = { 0 };

	if (!base || filesystem_has_features_of(filesystem, &base->volume.superblock))
		return 0;
	problem_set_reason(&problem, EINVAL, plan->options->stable_from, "has other features",
	                   "more blocks differ than have to; dumpe2fs -h shows them, -O sets them");
	return warnings_add(warnings, &problem, 1);
}
