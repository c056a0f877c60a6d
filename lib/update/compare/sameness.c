/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/compare/sameness.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "image/contents.h"
#include "support/bisect.h"
#include "tree/file_flags.h"

#define COMPARED_BYTES (256u << 10)

static int compare_names(const void *one, const void *other)
{
	return strcmp(((const struct volume_xattr *)one)->name, ((const struct volume_xattr *)other)->name);
}

/* Keeps the xattrs that a tree holds, in the order of the tree's sets. */
static void sort_kept(struct volume_xattrs *xattrs)
{
	size_t kept = 0;

	for (size_t i = 0; i < xattrs->count; i++)
		if (xattrs->items[i].name && tree_xattr_is_kept(xattrs->items[i].name))
			xattrs->items[kept++] = xattrs->items[i];
	xattrs->count = kept;
	if (kept > 1)
		qsort(xattrs->items, kept, sizeof(*xattrs->items), compare_names);
}

static errcode_t judge_xattrs(struct sameness_judge *judge, const struct tree_node *node,
                              const struct volume_inode *inode, bool *is_same)
{
	const struct tree_xattr_set *set = &judge->tree->xattr_sets[node->xattrs];
	errcode_t error = volume_xattrs_read(judge->walker, inode, &judge->xattrs);

	if (error)
		return error;
	sort_kept(&judge->xattrs);
	*is_same = set->count == judge->xattrs.count;
	for (uint32_t i = 0; *is_same && i < set->count; i++) {
		const struct tree_xattr *wanted = &set->list[i];
		const struct volume_xattr *there = &judge->xattrs.items[i];

		*is_same = !strcmp(wanted->name, there->name) && wanted->value_bytes == there->value_bytes &&
		           !memcmp(wanted->value, there->value, wanted->value_bytes);
	}
	return 0;
}

static bool has_same_mtime(const struct update_options *options, const struct volume *volume,
                           const struct tree_node *node, const struct volume_inode *inode)
{
	struct tree_time mtime = { node->mtime_seconds, node->mtime_nanoseconds, true };

	mtime = update_time(options, mtime);
	struct inode_time stored =
		inode_stored_time(&volume->format, (struct inode_time){ mtime.seconds, mtime.nanoseconds });
	const struct inode_time *there = &inode->all.value.mtime;

	return stored.seconds == there->seconds && stored.nanoseconds == there->nanoseconds;
}

bool sameness_needs_bytes(const struct update_options *options, const struct volume *volume,
                          const struct tree_node *node, const struct volume_inode *inode)
{
	return options->compares_bytes ||
	       (update_time_is_cut(options, node->mtime_seconds) && has_same_mtime(options, volume, node, inode));
}

static bool has_same_attributes(const struct sameness_judge *judge, const struct tree_node *node,
                                const struct volume_inode *inode)
{
	const struct inode_value *value = &inode->all.value;
	uint32_t kept = FILE_FLAGS_KEPT & file_flags_of_type(node->mode);
	uint32_t project = tree_detail(judge->tree, node)->project;

	return node->mode == value->mode && node->uid == value->uid && node->gid == value->gid &&
	       has_same_mtime(judge->options, judge->volume, node, inode) &&
	       (!node->has_flags || !((node->flags ^ value->flags) & kept)) &&
	       (!judge->volume->format.project || !project || project == value->project);
}

static errcode_t judge_target(const struct sameness_judge *judge, const struct tree_node *node,
                              const struct volume_inode *inode, bool *is_same)
{
	SCOPE_FREE char *target = NULL;
	size_t bytes;

	*is_same = false;
	if (inode->all.value.size_bytes != node->size_bytes || inode->view.flags & EXT4_ENCRYPT_FL)
		return 0;
	errcode_t error = symlink_read(judge->walker, inode, &target, &bytes);

	*is_same = !error && bytes == node->size_bytes && !memcmp(target, node->target, bytes);
	return error;
}

static bool has_same_data(const struct sameness_judge *judge, const struct tree_node *node,
                          const struct volume_inode *inode, bool has_same_bytes)
{
	return sameness_needs_bytes(judge->options, judge->volume, node, inode) ?
	               has_same_bytes :
	               has_same_mtime(judge->options, judge->volume, node, inode);
}

static errcode_t judge_contents(const struct sameness_judge *judge, const struct tree_node *node,
                                const struct volume_inode *inode, bool has_same_bytes, bool *is_same)
{
	uint32_t major, minor;

	*is_same = true;
	switch (node->mode & S_IFMT) {
	case S_IFREG:
		*is_same = inode->all.value.size_bytes == node->size_bytes && !(inode->view.flags & EXT4_ENCRYPT_FL) &&
		           (inode->view.flags & EXT4_VERITY_FL ||
		            !protected_nodes_has(judge->protection, (uint32_t)(node - judge->tree->nodes))) &&
		           has_same_data(judge, node, inode, has_same_bytes);
		return 0;
	case S_IFLNK:
		return judge_target(judge, node, inode, is_same);
	case S_IFCHR:
	case S_IFBLK:
		inode_root_read_device(inode->all.value.root, &major, &minor);
		*is_same = major == node->device.major && minor == node->device.minor;
		return 0;
	default:
		return 0;
	}
}

errcode_t sameness_judge(struct sameness_judge *judge, uint32_t number, const struct volume_inode *inode,
                         bool has_same_bytes, enum sameness *sameness)
{
	const struct tree_node *node = &judge->tree->nodes[number];
	bool is_same = (node->mode & S_IFMT) == (inode->view.mode & S_IFMT);
	errcode_t error = 0;

	*sameness = SAME_NOTHING;
	if (is_same)
		error = judge_contents(judge, node, inode, has_same_bytes, &is_same);
	if (error || !is_same)
		return error;
	error = judge_xattrs(judge, node, inode, &is_same);
	if (!error && !is_same)
		*sameness = SAME_BUT_XATTRS;
	else if (!error)
		*sameness = has_same_attributes(judge, node, inode) ? SAME : SAME_CONTENTS;
	return error;
}

/* The first byte from `at` on that the tree's file has not in a hole. */
static uint64_t next_data(const struct tree_node *node, uint64_t at)
{
	if (!node->is_sparse)
		return at;
	const struct tree_segment *segments = node->data_map->segments;
	size_t index = BISECT(node->data_map->count, n, segments[n].start_bytes + segments[n].length_bytes > at);

	if (index < node->data_map->count)
		return segments[index].start_bytes > at ? segments[index].start_bytes : at;
	return UINT64_MAX;
}

/* The same of the image's file. */
static uint64_t next_mapped(struct map_walker *walker, const struct volume_inode *inode, uint64_t at)
{
	const unsigned int block_bits = walker->volume->format.block_bits;
	struct map_record record;

	if (!volume_inode_has_map(inode))
		return at;
	if (!map_records(walker, inode->ino, &inode->view, at >> block_bits, &record, 1))
		return UINT64_MAX;
	return record.logical << block_bits > at ? record.logical << block_bits : at;
}

/*
 * Holes of both are left out: a sparse file may be far longer than the filesystem. The map is read again for each
 * piece, so the walker's limit is that of one piece.
 */
errcode_t sameness_of_bytes(struct map_walker *walker, struct content_reader *reader, const struct tree *tree,
                            uint32_t node, const struct volume_inode *inode, bool *is_same, struct problem *problem)
{
	const struct tree_node *file = &tree->nodes[node];
	uint64_t size = file->size_bytes, at = 0;
	SCOPE_FREE char *bytes = malloc(2 * COMPARED_BYTES);
	errcode_t error = bytes ? content_reader_open(reader, node, problem) : ENOMEM;

	*is_same = true;
	while (!error && *is_same && at < size) {
		uint64_t losses = walker->losses, data = next_data(file, at);

		*walker->blocks_read = 0;
		if (data > at) {
			uint64_t mapped = next_mapped(walker, inode, at);

			if (walker->losses != losses)
				return EUCLEAN;
			at = data < mapped ? data : mapped;
		}
		if (at >= size)
			break;
		size_t count = size - at < COMPARED_BYTES ? (size_t)(size - at) : COMPARED_BYTES;

		error = content_reader_read(reader, bytes, count, at, problem);
		if (!error)
			error = contents_read(walker, inode, at, bytes + COMPARED_BYTES, count);
		*is_same = !error && !memcmp(bytes, bytes + COMPARED_BYTES, count);
		at += count;
	}
	return error;
}

void sameness_end(struct sameness_judge *judge)
{
	volume_xattrs_free(&judge->xattrs);
}
