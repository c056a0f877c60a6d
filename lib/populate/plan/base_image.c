/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/plan/base_image.h"

#include <errno.h>
#include <sys/stat.h>
#include <uuid/uuid.h>

#include "ext2fs/fs_errors.h"
#include "populate/format/filesystem.h"
#include "populate/plan/block_runs.h"
#include "support/io/same_file.h"
#include "support/run/interrupt.h"

/* The same file by another name counts, too: a link, or a loop device. */
static bool is_same(const char *path, const char *image)
{
	struct stat there, here;

	if (stat(path, &there) || stat(image, &here))
		return false;
	if (S_ISBLK(there.st_mode) && S_ISBLK(here.st_mode))
		return there.st_rdev == here.st_rdev;
	if (S_ISBLK(there.st_mode))
		return loop_device_is_backed_by(&there, &here);
	if (S_ISBLK(here.st_mode))
		return loop_device_is_backed_by(&here, &there);
	return there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

void base_image_close(struct base_image *base)
{
	if (!base)
		return;
	if (base->fs)
		ext2fs_free(base->fs);
	free(base->inodes);
	free(base);
}

/* A directory whose names are being looked up in the tree. */
struct matching {
	struct base_image *base;
	const struct tree *tree;
	uint32_t node;
};

static int match_entry(struct ext2_dir_entry *entry, int offset, int block_bytes, char *buffer, void *context)
{
	const struct matching *matching = context;
	uint32_t child = tree_find(matching->tree, matching->node, entry->name, (size_t)ext2fs_dirent_name_len(entry));

	(void)offset;
	(void)block_bytes;
	(void)buffer;
	if (child && entry->inode >= EXT2_FIRST_INODE(matching->base->fs->super) &&
	    entry->inode <= matching->base->fs->super->s_inodes_count)
		matching->base->inodes[child] = entry->inode;
	return 0;
}

/* Whether the inode is of the node's type. */
static bool is_like(const struct base_image *base, const struct tree_node *node, ext2_ino_t ino,
                    struct ext2_inode *inode)
{
	return ext2fs_read_inode(base->fs, ino, inode) == 0 && inode->i_links_count &&
	       (inode->i_mode & S_IFMT) == (node->mode & S_IFMT);
}

/* Fills in inodes. What cannot be read there was not there. ENOMEM, EINTR. */
static errcode_t match(struct base_image *base, const struct tree *tree)
{
	struct matching matching = { .base = base, .tree = tree };
	struct ext2_inode inode;

	base->inodes = calloc(tree->node_count, sizeof(*base->inodes));
	if (!base->inodes)
		return ENOMEM;
	base->inodes[TREE_ROOT] = EXT2_ROOT_INO;
	for (uint32_t node = 0; node < tree->node_count; node++) {
		if (node % 1024 == 0 && interrupt_pending())
			return EINTR;
		/* Parents come first, so the entry has been met. */
		if (!base->inodes[node])
			continue;
		if (!is_like(base, &tree->nodes[node], base->inodes[node], &inode)) {
			base->inodes[node] = 0;
			continue;
		}
		matching.node = node;
		if (!S_ISDIR(tree->nodes[node].mode))
			continue;
		errcode_t error =
			FS_ERROR_OF(ext2fs_dir_iterate(base->fs, base->inodes[node], 0, NULL, match_entry, &matching));
		/* A directory that cannot be read was not there. */
		if (error == ENOMEM)
			return error;
	}
	return 0;
}

errcode_t base_image_open(struct build *build)
{
	const char *path = build->options->stable_from;

	if (!path)
		return 0;
	if (build->in_place && is_same(path, build->options->image))
		return problem_set_reason(build->problem, EINVAL, path, "cannot keep its layout",
		                          "it is what is to be written to; give a copy of it");
	if (!fs_may_be_at(path))
		return problem_set_reason(build->problem, EINVAL, path, "cannot open the earlier image",
		                          "it is neither a regular file nor a block device");
	struct base_image *base = build->base = calloc(1, sizeof(*base));
	if (!base)
		return problem_set(build->problem, ENOMEM, path, "cannot open");
	errcode_t error = filesystem_open_at(path, build->options->offset_bytes, 0, &base->fs);
	if (error)
		return problem_set(build->problem, error, path, "cannot open the earlier image");
	uuid_unparse_lower(base->fs->super->s_uuid, base->identity.uuid);
	uuid_unparse_lower((const unsigned char *)base->fs->super->s_hash_seed, base->identity.hash_seed);
	base->block_bytes = base->fs->blocksize;
	base->blocks = ext2fs_blocks_count(base->fs->super);
	base->inode_count = base->fs->super->s_inodes_count;
	error = match(base, build->tree);
	return error ? problem_set(build->problem, error, path, "cannot read") : 0;
}

/* Where libext2fs's iterations put what they find. */
struct collecting {
	struct extent_list *list;
	uint64_t last_block; /* of the earlier filesystem */
	errcode_t error;
};

static errcode_t add(struct collecting *collecting, uint64_t logical, uint64_t physical, uint64_t count)
{
	struct extent_list *list = collecting->list;
	const struct file_extent *last = list->count ? &list->extents[list->count - 1] : NULL;

	/* Out of order or out of bounds: what a corrupt image says is not worth asking for. */
	if (!count || count > UINT16_MAX + UINT64_C(1) || logical + count > UINT32_MAX || !physical ||
	    physical > collecting->last_block || count > collecting->last_block - physical ||
	    (last && logical < (uint64_t)last->logical + last->count))
		return 0;
	return extent_list_add(list, (uint32_t)logical, physical, count);
}

static int add_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t logical, blk64_t reference, int offset, void *context)
{
	struct collecting *collecting = context;

	(void)fs;
	(void)reference;
	(void)offset;
	if (logical >= 0)
		collecting->error = add(collecting, (uint64_t)logical, *block, 1);
	return collecting->error ? BLOCK_ABORT : 0;
}

/* What cannot be read ends the list. */
static errcode_t unless_unreadable(errcode_t error)
{
	return error == ENOMEM ? error : 0;
}

static errcode_t walk_tree(const struct base_image *base, ext2_ino_t ino, struct ext2_inode *inode,
                           struct collecting *collecting)
{
	ext2_extent_handle_t handle;
	struct ext2fs_extent extent;
	errcode_t error = FS_ERROR_OF(ext2fs_extent_open2(base->fs, ino, inode, &handle));

	if (error)
		return unless_unreadable(error);
	error = FS_ERROR_OF(ext2fs_extent_get(handle, EXT2_EXTENT_ROOT, &extent));
	while (!error && !collecting->error) {
		if (extent.e_flags & EXT2_EXTENT_FLAGS_LEAF && !(extent.e_flags & EXT2_EXTENT_FLAGS_UNINIT))
			collecting->error = add(collecting, extent.e_lblk, extent.e_pblk, extent.e_len);
		error = fs_error_of(ext2fs_extent_get(handle, EXT2_EXTENT_NEXT, &extent));
	}
	ext2fs_extent_free(handle);
	return collecting->error ? collecting->error : unless_unreadable(error);
}

/* Where the node's blocks were: written ones only, up to what could be read. */
static errcode_t read_extents(const struct build *build, uint32_t node, struct extent_list *list)
{
	const struct base_image *base = build->base;
	struct collecting collecting = { .list = list, .last_block = base->blocks - 1 };
	ext2_ino_t ino = base->inodes[node];
	struct ext2_inode inode;

	list->count = 0;
	if (!ino || !is_like(base, build_node(build, node), ino, &inode) ||
	    !ext2fs_inode_has_valid_blocks2(base->fs, &inode))
		return 0;
	if (inode.i_flags & EXT4_EXTENTS_FL)
		return walk_tree(base, ino, &inode, &collecting);
	errcode_t error = FS_ERROR_OF(ext2fs_block_iterate3(base->fs, ino, BLOCK_FLAG_READ_ONLY | BLOCK_FLAG_DATA_ONLY,
	                                                    NULL, add_block, &collecting));
	return collecting.error ? collecting.error : unless_unreadable(error);
}

struct keeping {
	struct build *build;
	struct extent_list earlier; /* of the node */
	struct extent_list kept;    /* of these, what could be had */
};

/* Asks for blocks of a run where they were, up to the first that are not to be had. */
static errcode_t keep_piece(struct keeping *keeping, uint32_t logical, uint32_t count, uint64_t physical)
{
	struct build *build = keeping->build;
	uint64_t cluster = UINT64_C(1) << build->format.cluster_bits;

	while (count) {
		struct ext2mb_request request = {
			.struct_bytes = sizeof(request),
			.goal = physical,
			.count = build_clusters(build, count) * cluster,
			.flags = EXT2MB_ALLOC_GOAL_ONLY,
		};
		struct ext2mb_extent extent;

		/* Taken, metadata now, or past the end. */
		if (ext2mb_alloc(build->workers[0], &request, &extent))
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

/* Keeps what the earlier extents have of one run of the node's blocks. *next: the first that may reach into it. */
static errcode_t keep_run(struct keeping *keeping, size_t *next, uint32_t logical, uint32_t blocks)
{
	const struct extent_list *earlier = &keeping->earlier;
	uint64_t end = (uint64_t)logical + blocks, mask = (1u << keeping->build->format.cluster_bits) - 1;
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

		/* Clusters are kept whole: a piece begins with one, and ends with one or with the run. */
		if (!(first & mask) && !(physical & mask) && (!(last & mask) || last == end))
			error = keep_piece(keeping, first, last - first, physical);
		if (extent_end > end)
			break;
	}
	return error;
}

static errcode_t keep_node(struct keeping *keeping, uint32_t number)
{
	struct build *build = keeping->build;
	struct block_runs runs;
	uint32_t logical, blocks;
	errcode_t error = read_extents(build, number, &keeping->earlier);
	size_t next = 0;

	keeping->kept.count = 0;
	block_runs_start_counted(&runs, build, number);
	while (!error && block_runs_next(&runs, &logical, &blocks))
		error = keep_run(keeping, &next, logical, blocks);
	if (error || !keeping->kept.count)
		return error;
	build->reused[number] = extent_map_create(&keeping->kept, 0);
	return build->reused[number] ? 0 : ENOMEM;
}

errcode_t base_image_reserve(struct build *build)
{
	struct keeping keeping = { .build = build };
	errcode_t error = 0;

	if (!build->base || build->base->block_bytes != build->format.block_bytes)
		return 0;
	build->reused = calloc(build->tree->node_count, sizeof(*build->reused));
	if (!build->reused)
		return problem_set(build->problem, ENOMEM, NULL, "cannot plan the image");
	for (uint32_t node = 0; !error && node < build->tree->node_count; node++) {
		if (node % 1024 == 0 && interrupt_pending())
			error = EINTR;
		else if (build->placements[node].blocks && !tree_node_is_link(build->tree, node))
			error = keep_node(&keeping, node);
	}
	free(keeping.earlier.extents);
	free(keeping.kept.extents);
	return error ? problem_set(build->problem, error, NULL, "cannot plan the image") : 0;
}

void base_image_release(struct build *build)
{
	for (uint32_t node = 0; build->reused && node < build->tree->node_count; node++)
		free(build->reused[node]);
	free(TAKE(build->reused));
}
