/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/metadata/inodes.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/metadata/directories.h"
#include "populate/metadata/flags.h"
#include "populate/metadata/xattrs.h"
#include "contents/protection.h"
#include "tree/contents.h"
#include "tree/file_flags.h"
#include "support/bisect.h"
#include "support/run/interrupt.h"

struct counts {
	uint64_t regular_files, data_blocks, data_extents;
	uint64_t inline_bytes; /* of regular files */
	uint64_t flagged_files;
};

/* State of each worker. */
struct inode_worker {
	struct counts counts;
	struct flags_lost lost;
	struct quota_usage usage;
	struct content_reader *reader; /* reads inline content, and files that have not been opened yet */
	/* The state of the inode that is being written: */
	uint8_t *inline_data; /* used with the feature inline_data */
	uint8_t *xattr_area;  /* its xattrs, followed by inline data */
};

struct sealing {
	const struct plan *plan;
	const struct filesystem *filesystem;
	struct sink *sink;
	struct inode_worker *workers;
};

static struct inode_time time_of(const struct plan *plan, struct tree_time time)
{
	const struct tree_time stored = populate_time(plan->options, time);

	return (struct inode_time){ .seconds = stored.seconds, .nanoseconds = stored.nanoseconds };
}

/*
 * Times that the source lacks equal mtime. Unless the user asks for them, all times equal mtime: the others differ from
 * copy to copy of a source, and the image must not depend on them.
 */
static void describe_times(const struct plan *plan, const struct tree_node *source, struct inode_value *value)
{
	const struct tree_detail *detail =
		plan->options->all_times ? tree_detail(plan->source->tree, source) : &tree_no_detail;
	const struct tree_time mtime = { source->mtime_seconds, source->mtime_nanoseconds, true };

	value->mtime = time_of(plan, mtime);
	value->atime = time_of(plan, detail->atime.is_known ? detail->atime : mtime);
	value->ctime = time_of(plan, detail->ctime.is_known ? detail->ctime : mtime);
	value->crtime = time_of(plan, detail->crtime.is_known ? detail->crtime : mtime);
}

/* Returns how many clusters the mapped blocks take. */
static uint64_t mapped_clusters(const struct plan *plan, uint32_t node)
{
	struct file_extent single;
	uint32_t count;
	const struct file_extent *extents = placement_extents(&plan->placements[node], &single, &count);
	uint64_t clusters = 0;

	if (!plan->format.cluster_bits)
		return plan->placements[node].blocks;
	for (uint32_t extent = 0; extent < count; extent++)
		clusters += plan_clusters(plan, file_extent_blocks(&extents[extent]));
	return clusters;
}

static uint32_t links_of(const struct plan *plan, uint32_t node)
{
	/* mke2fs's lost+found is one more subdirectory of the root. */
	return plan_node(plan, node)->links + (node == TREE_ROOT && plan->lost_found);
}

void inodes_describe(const struct plan *plan, uint32_t node, struct inode_value *value)
{
	const struct tree_node *source = plan_node(plan, node);

	*value = (struct inode_value){
		.mode = source->mode,
		.uid = source->uid,
		.gid = source->gid,
		.links = links_of(plan, node),
		.xattr_block = xattrs_block_of(plan, node),
		.project = plan_project(plan, node),
		.flags = flags_of(plan, node) | (plan->placements[node].is_casefolded ? EXT4_CASEFOLD_FL : 0) |
		         (plan->placements[node].is_protected ? EXT4_VERITY_FL : 0) |
		         (plan_project_is_inherited(plan, node) ? EXT4_PROJINHERIT_FL : 0) |
		         (source->is_encrypted ? EXT4_ENCRYPT_FL : 0),
	};
	describe_times(plan, source, value);
}

/* Fills in the fields that depend on the inode's type. */
static errcode_t describe_content(const struct plan *plan, struct sink *sink, uint32_t node, struct inode_value *value,
                                  uint64_t *map_blocks)
{
	const struct tree_node *source = plan_node(plan, node);
	const struct placement *placement = &plan->placements[node];
	bool has_map = true;

	switch (source->mode & S_IFMT) {
	case S_IFREG:
		value->size_bytes = source->size_bytes;
		break;
	case S_IFDIR:
		value->size_bytes = (uint64_t)placement->blocks << plan->format.block_bits;
		if (plan->directories[plan_first_directory(plan, node)].layout)
			value->flags |= EXT2_INDEX_FL;
		break;
	case S_IFLNK:
		value->size_bytes = source->size_bytes;
		if (source->size_bytes <= INODE_FAST_SYMLINK_BYTES) {
			memcpy(value->root, source->target, source->size_bytes);
			has_map = false;
		}
		break;
	case S_IFCHR:
	case S_IFBLK:
		inode_root_device(source->device.major, source->device.minor, value->root);
		has_map = false;
		break;
	default:
		has_map = false;
	}
	if (!has_map)
		return 0;
	if (plan->format.extents)
		value->flags |= EXT4_EXTENTS_FL;
	struct file_extent single;
	uint32_t count;
	const struct file_extent *extents = placement_extents(placement, &single, &count);
	const struct extent_map *map = placement->has_extent_map ? placement->map : NULL;

	*map_blocks = map ? map->map_block_count : 0;
	return plan_write_map(plan, sink, placement->ino, extents, count, map, value);
}

/* Asks for the flags of empty files, and of large ones, which are copied in slices. */
static errcode_t ask_for_flags(const struct plan *plan, uint32_t node, struct inode_worker *own,
                               struct problem *problem)
{
	if (!flags_are_missing(plan, node))
		return 0;
	errcode_t error = content_reader_open(own->reader, node, problem);

	/* An empty file that we must not read is not an error. */
	if (error == EACCES || error == EPERM) {
		problem_clear(problem);
		flags_note(plan, node, FILE_FLAGS_UNREAD);
		return 0;
	}
	if (!error)
		flags_note(plan, node, content_reader_flags(own->reader));
	return error;
}

static errcode_t read_inline_file(const struct plan *plan, uint32_t node, struct inode_worker *own,
                                  struct problem *problem)
{
	errcode_t error = content_reader_open(own->reader, node, problem);

	if (!error && flags_are_missing(plan, node))
		flags_note(plan, node, content_reader_flags(own->reader));
	return error ? error :
	               content_reader_read(own->reader, own->inline_data, plan_node(plan, node)->size_bytes, 0,
	                                   problem);
}

static errcode_t build_inline_directory(const struct plan *plan, uint32_t node, struct inode_worker *own,
                                        uint32_t room_bytes, uint32_t *bytes)
{
	struct directory_view view;
	const struct directory_source source = directory_view_open(&view, plan, node);

	*bytes = directory_inline_bytes(&source, room_bytes);
	return directory_build_inline(&plan->format, &source, plan->placements[plan_node(plan, node)->parent].ino,
	                              own->inline_data, *bytes);
}

/* *area is NULL if the inode has no xattrs in it. */
static errcode_t find_xattr_area(const struct plan *plan, uint32_t node, const struct inode_worker *own,
                                 const void **area)
{
	uint32_t set = plan_node(plan, node)->xattrs;
	const struct xattr_store *xattrs = &plan->xattrs.stores[set];

	*area = xattrs->inode_area;
	if (*area || !xattrs->layout.in_inode)
		return 0;
	*area = own->xattr_area;
	return xattrs_encode(plan, set, own->xattr_area);
}

/*
 * Describes content that is stored in the inode. It is read only now: if an earlier stage read and kept it, the content
 * of 10 million small files would take a gigabyte.
 */
static errcode_t describe_inline(const struct plan *plan, uint32_t node, struct inode_value *value,
                                 struct inode_worker *own, struct problem *problem)
{
	const struct tree_node *source = plan_node(plan, node);
	const struct xattr_store *xattrs = &plan->xattrs.stores[source->xattrs];
	uint32_t bytes = (uint32_t)source->size_bytes;
	const void *area;
	errcode_t error = 0;

	if (S_ISDIR(source->mode))
		error = build_inline_directory(plan, node, own, xattrs->inline_room_bytes, &bytes);
	else if (S_ISLNK(source->mode))
		memcpy(own->inline_data, source->target, bytes);
	else
		error = read_inline_file(plan, node, own, problem);
	if (error)
		return error;
	if (S_ISREG(source->mode))
		own->counts.inline_bytes += bytes;
	error = find_xattr_area(plan, node, own, &area);
	if (error)
		return error;
	if (!area)
		memset(own->xattr_area, 0, inode_xattr_area_bytes(&plan->format));
	else if (area != own->xattr_area)
		memcpy(own->xattr_area, area, inode_xattr_area_bytes(&plan->format));
	value->size_bytes = bytes;
	value->flags |= flags_of(plan, node) | EXT4_INLINE_DATA_FL;
	inline_data_encode(&plan->format, own->inline_data, bytes, value->root, own->xattr_area);
	return 0;
}

/* True if the blocks of both are one piece that is cut where their kind changes, or a gap of the file lies between. */
static bool is_one_piece(const struct file_extent *extent, const struct file_extent *next, bool has_gap)
{
	return extent->physical + file_extent_blocks(extent) == next->physical &&
	       (has_gap || file_extent_is_unwritten(extent) != file_extent_is_unwritten(next));
}

/*
 * The blocks that fs-verity adds to a file follow its data but for a gap, which every such file has; and unwritten
 * blocks have an extent of their own.
 */
static uint64_t extents_of(const struct plan *plan, uint32_t node)
{
	struct file_extent single;
	uint32_t count;
	const struct file_extent *extents = placement_extents(&plan->placements[node], &single, &count);
	uint64_t added = plan->placements[node].is_protected ? protection_place(&plan->protection, node).first_block :
	                                                       UINT64_MAX;
	uint64_t pieces = count;

	for (uint32_t number = 1; number < count; number++)
		pieces -= is_one_piece(&extents[number - 1], &extents[number], extents[number].logical == added);
	return pieces;
}

static errcode_t write_inode(const struct sealing *sealing, uint32_t node, void *bytes, struct inode_worker *own,
                             struct problem *problem)
{
	const struct plan *plan = sealing->plan;
	const struct placement *placement = &plan->placements[node];
	struct inode_value value;
	uint64_t map_blocks = 0;
	const void *area = NULL;
	errcode_t error = placement->is_inline ? 0 : ask_for_flags(plan, node, own, problem);

	if (error)
		return error;
	inodes_describe(plan, node, &value);
	if (placement->is_inline) {
		error = describe_inline(plan, node, &value, own, problem);
		area = own->xattr_area;
	} else {
		error = describe_content(plan, sealing->sink, node, &value, &map_blocks);
		if (!error)
			error = find_xattr_area(plan, node, own, &area);
	}
	if (error)
		return error;
	value.blocks = (mapped_clusters(plan, node) + map_blocks + !!value.xattr_block +
	                xattrs_value_clusters(plan, plan_node(plan, node)->xattrs))
	               << plan->format.cluster_bits;
	own->counts.flagged_files += flags_of(plan, node) != 0;
	flags_count_lost(plan, node, &value, &own->lost);
	error = quota_charge(plan, sealing->filesystem, node, &value, &own->usage);
	if (error)
		return error;
	if (S_ISREG(value.mode) && placement->blocks) {
		own->counts.regular_files++;
		own->counts.data_blocks += placement->blocks;
		own->counts.data_extents += extents_of(plan, node);
	}
	return inode_encode(&plan->format, placement->ino, &value, area, bytes);
}

static errcode_t write_item(const struct sealing *sealing, uint32_t item, void *bytes, struct inode_worker *own,
                            struct problem *problem)
{
	const struct plan *plan = sealing->plan;
	errcode_t error;

	if (item >= plan->source->tree->node_count) {
		error = xattr_value_encode_inode(plan, sealing->sink, item - plan->source->tree->node_count, bytes);
		return error ? problem_set(problem, error, plan->options->image,
		                           "cannot write an extended attribute's inode") :
		               0;
	}
	error = write_inode(sealing, item, bytes, own, problem);
	return error ? plan_node_problem(plan, problem, item, error, "cannot write its inode") : 0;
}

/* Returns the index in items_by_inode of the first inode at or after ino. */
static uint32_t first_at(const struct plan *plan, uint64_t ino)
{
	return (uint32_t)BISECT(plan_items(plan), item, plan_item_ino(plan, plan->items_by_inode[item]) >= ino);
}

/* The inodes of ours in one group, and the part of the inode table, in whole blocks, that holds them. */
struct table_part {
	uint32_t first, end; /* in items_by_inode */
	uint64_t start;      /* in the filesystem */
	uint32_t blocks;
	uint32_t first_ino; /* of the part */
};

static bool find_part(const struct plan *plan, const struct filesystem *filesystem, uint32_t group,
                      struct table_part *part)
{
	const struct image_geometry *geometry = &filesystem->geometry;
	uint32_t inode_bytes = plan->format.inode_bytes, block_bytes = plan->format.block_bytes;
	uint64_t group_ino = (uint64_t)group * geometry->inodes_per_group + 1;

	part->first = first_at(plan, group_ino);
	part->end = first_at(plan, group_ino + geometry->inodes_per_group);
	if (part->first == part->end)
		return false;
	uint64_t first = plan_item_ino(plan, plan->items_by_inode[part->first]) - group_ino;
	uint64_t last = plan_item_ino(plan, plan->items_by_inode[part->end - 1]) - group_ino;
	/* A table that is not in use yet may contain any bytes, so it is written from its beginning. */
	uint64_t start_bytes = geometry->inodes_uninit[group] ? 0 : first * inode_bytes / block_bytes * block_bytes;
	uint64_t end_bytes = ((last + 1) * inode_bytes + block_bytes - 1) / block_bytes * block_bytes;

	part->start = geometry->inode_tables[group] + start_bytes / block_bytes;
	part->blocks = (uint32_t)((end_bytes - start_bytes) / block_bytes);
	part->first_ino = (uint32_t)(group_ino + start_bytes / inode_bytes);
	return true;
}

/* A group keeps the inodes that mke2fs has put into it. Any other table is overwritten, whatever it contained. */
static errcode_t load_part(const struct sealing *sealing, uint32_t group, const struct table_part *part, char *bytes)
{
	if (sealing->filesystem->geometry.inodes_uninit[group]) {
		memset(bytes, 0, (size_t)part->blocks << sealing->plan->format.block_bits);
		return 0;
	}
	return sink_read(sealing->sink, part->start, part->blocks, bytes);
}

static errcode_t write_group(void *context, unsigned int worker, size_t group, struct problem *problem)
{
	const struct sealing *sealing = context;
	const struct plan *plan = sealing->plan;
	struct inode_worker *own = &sealing->workers[worker];
	struct table_part part;

	if (interrupt_pending())
		return EINTR;
	if (!find_part(plan, sealing->filesystem, (uint32_t)group, &part))
		return 0;
	SCOPE_FREE char *bytes = malloc((size_t)part.blocks << plan->format.block_bits);
	errcode_t error = bytes ? load_part(sealing, (uint32_t)group, &part, bytes) : ENOMEM;

	if (error)
		return problem_set(problem, error, plan->options->image, "cannot read an inode table");
	for (uint32_t index = part.first; index < part.end; index++) {
		uint32_t item = plan->items_by_inode[index];
		size_t offset = (size_t)(plan_item_ino(plan, item) - part.first_ino) * plan->format.inode_bytes;

		error = write_item(sealing, item, bytes + offset, own, problem);
		if (error)
			return error;
	}
	error = sink_write(sealing->sink, part.start, part.blocks, bytes);
	progress_add(plan->options->progress, 0, part.end - part.first);
	return error ? problem_set(problem, error, plan->options->image, "cannot write") : 0;
}

static errcode_t open_worker(const struct plan *plan, struct inode_worker *own)
{
	errcode_t error = content_reader_create(plan->source->tree, &own->reader);

	if (error)
		return error;
	/* Even the largest value is shorter than the inode, and so is the xattr area, which small inodes lack. */
	own->inline_data = malloc(plan->format.inode_bytes);
	own->xattr_area = malloc(plan->format.inode_bytes);
	return own->inline_data && own->xattr_area ? 0 : ENOMEM;
}

errcode_t inodes_write(const struct plan *plan, const struct filesystem *filesystem, struct sink *sink,
                       const struct workplace *work, struct quota_usage *usage, struct populate_report *report)
{
	unsigned int count = pool_workers(work->pool);
	SCOPE_FREE struct inode_worker *workers = calloc(count, sizeof(*workers));
	struct sealing sealing = { plan, filesystem, sink, workers };
	struct flags_lost lost = { 0 };
	errcode_t error = workers ? 0 : ENOMEM;

	for (unsigned int worker = 0; !error && worker < count; worker++)
		error = open_worker(plan, &workers[worker]);
	if (!error)
		error = pool_run(work->pool, filesystem->geometry.group_count, write_group, &sealing, work->problem);
	if (!error && plan->format.inline_data)
		error = contents_check(plan->source->tree, work->problem);
	for (unsigned int worker = 0; workers && worker < count; worker++) {
		const struct counts *counts = &workers[worker].counts;

		flags_join_lost(&lost, &workers[worker].lost);
		if (!error)
			error = quota_usage_join(usage, &workers[worker].usage);
		quota_usage_free(&workers[worker].usage);
		report->regular_files += counts->regular_files;
		report->data_blocks += counts->data_blocks;
		report->data_extents += counts->data_extents;
		report->data_bytes += counts->inline_bytes;
		report->flagged_files += counts->flagged_files;
		free(workers[worker].inline_data);
		free(workers[worker].xattr_area);
		content_reader_destroy(workers[worker].reader);
	}
	if (!error)
		error = flags_warn(plan, &lost, &report->warnings);
	return workplace_result(work, error, "cannot write inodes");
}
