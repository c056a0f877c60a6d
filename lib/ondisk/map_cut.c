/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/map_cut.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <ext2fs/ext3_extents.h>

#include "ondisk/map_parts.h"
#include "ondisk/views.h"
#include "support/crc32c.h"
#include "support/vector.h"

#define UNWRITTEN_LENGTH 32768 /* ee_len of an unwritten extent is larger by that */

/* --- lists of blocks ------------------------------------------------------------------------------------------ */

errcode_t block_list_add(struct block_list *list, const struct ondisk_format *format, uint64_t first_block,
                         uint64_t start, uint64_t count)
{
	const uint64_t in_cluster = (UINT64_C(1) << format->cluster_bits) - 1;
	uint64_t from = first_block + ((start - first_block) & ~in_cluster);
	uint64_t end = first_block + ((start - first_block + count + in_cluster) & ~in_cluster);
	struct block_span *last = list->count ? &list->spans[list->count - 1] : NULL;

	if (last && last->start + last->count == from) {
		last->count += end - from;
		return 0;
	}
	errcode_t error = vector_reserve(&list->spans, &list->capacity, list->count + 1, sizeof(*list->spans));

	if (!error)
		list->spans[list->count++] = (struct block_span){ from, end - from };
	return error;
}

static int compare_spans(const void *left, const void *right)
{
	const struct block_span *one = left, *other = right;

	return (one->start > other->start) - (one->start < other->start);
}

errcode_t block_list_finish(struct block_list *list, const struct ondisk_format *format)
{
	size_t kept = 0;

	list->blocks = 0;
	if (list->count)
		qsort(list->spans, list->count, sizeof(*list->spans), compare_spans);
	for (size_t index = 0; index < list->count; index++) {
		struct block_span span = list->spans[index];
		struct block_span *last = kept ? &list->spans[kept - 1] : NULL;
		uint64_t last_end = last ? last->start + last->count : 0;

		if (!last || span.start > last_end) {
			list->spans[kept++] = span;
			list->blocks += span.count;
			continue;
		}
		if (span.start < last_end && !format->cluster_bits)
			return EUCLEAN;
		if (span.start + span.count > last_end) {
			list->blocks += span.start + span.count - last_end;
			last->count = span.start + span.count - last->start;
		}
	}
	list->count = kept;
	return 0;
}

void block_list_free(struct block_list *list)
{
	free(list->spans);
	*list = (struct block_list){ 0 };
}

uint64_t block_list_groups(const struct block_list *list, uint64_t first_block, uint64_t blocks_per_group)
{
	uint64_t groups = 0, next = 0;

	for (size_t index = 0; index < list->count; index++) {
		const struct block_span *span = &list->spans[index];
		uint64_t first = (span->start - first_block) / blocks_per_group;
		uint64_t last = (span->start + span->count - 1 - first_block) / blocks_per_group;

		first = first < next ? next : first;
		if (last >= first)
			groups += last - first + 1;
		next = last + 1;
	}
	return groups;
}

/* --- collecting ------------------------------------------------------------------------------------------------ */

struct collecting {
	struct map_scan scan;
	struct block_list *list;
	/* With bigalloc: the last block that stays in the map, whose cluster stays, too. */
	uint64_t kept_logical;
	bool has_kept;
};

static errcode_t collect(struct collecting *collecting, uint64_t start, uint64_t count)
{
	struct block_access *access = collecting->scan.access;

	return block_list_add(collecting->list, access->format, access->first_block, start, count);
}

static errcode_t collect_extent(struct map_scan *scan, uint64_t logical, uint64_t physical, uint32_t count,
                                bool is_unwritten)
{
	struct collecting *collecting = (struct collecting *)scan;
	unsigned int cluster_bits = scan->access->format->cluster_bits;
	uint64_t left_out = 0;

	(void)is_unwritten;
	if (collecting->has_kept && logical >> cluster_bits == collecting->kept_logical >> cluster_bits)
		left_out = (((logical >> cluster_bits) + 1) << cluster_bits) - logical;
	return left_out >= count ? 0 : collect(collecting, physical + left_out, count - left_out);
}

static errcode_t collect_map_block(struct map_scan *scan, uint64_t block)
{
	return collect((struct collecting *)scan, block, 1);
}

static struct collecting begin_collecting(struct block_access *access, struct block_list *list)
{
	return (struct collecting){
		.scan = { .access = access, .extent = collect_extent, .map_block = collect_map_block },
		.list = list,
	};
}

errcode_t map_collect(struct block_access *access, uint32_t ino, const struct inode_decoded *inode,
                      struct block_list *list)
{
	struct collecting collecting = begin_collecting(access, list);
	errcode_t error = map_scan(&collecting.scan, ino, inode);

	return error ? error : block_list_finish(list, access->format);
}

/* --- finding ---------------------------------------------------------------------------------------------------- */

struct finding {
	struct map_scan scan;
	uint64_t logical, physical;
	uint64_t last; /* mapped before logical */
	bool has_last;
};

static errcode_t find_extent(struct map_scan *scan, uint64_t logical, uint64_t physical, uint32_t count,
                             bool is_unwritten)
{
	struct finding *finding = (struct finding *)scan;

	if (finding->logical < logical)
		return 0;
	if (finding->logical - logical < count && !is_unwritten)
		finding->physical = physical + (finding->logical - logical);
	if (finding->logical > logical) {
		finding->last = (logical + count < finding->logical ? logical + count : finding->logical) - 1;
		finding->has_last = true;
	}
	return 0;
}

static errcode_t find_nothing(struct map_scan *scan, uint64_t block)
{
	(void)scan, (void)block;
	return 0;
}

static struct finding begin_finding(struct block_access *access, uint64_t logical)
{
	return (struct finding){
		.scan = { .access = access, .extent = find_extent, .map_block = find_nothing },
		.logical = logical,
	};
}

errcode_t map_find(struct block_access *access, uint32_t ino, const struct inode_decoded *inode, uint64_t logical,
                   uint64_t *physical)
{
	struct finding finding = begin_finding(access, logical);
	errcode_t error = map_scan(&finding.scan, ino, inode);

	*physical = finding.physical;
	return error;
}

/* With bigalloc the cluster of the last block that stays must stay. */
static errcode_t find_last_kept(struct collecting *cut, uint32_t ino, const struct inode_decoded *inode, uint64_t first)
{
	struct finding finding = begin_finding(cut->scan.access, first);

	if (!cut->scan.access->format->cluster_bits || !first)
		return 0;
	errcode_t error = map_scan(&finding.scan, ino, inode);

	cut->kept_logical = finding.last;
	cut->has_kept = finding.has_last;
	return error;
}

/* --- cutting --------------------------------------------------------------------------------------------------- */

static void write_extent_checksum(const struct collecting *cut, uint8_t *bytes)
{
	struct ext3_extent_header header;

	if (!cut->scan.access->format->checksums)
		return;
	memcpy(&header, bytes, sizeof(header));
	size_t offset = sizeof(header) + (size_t)le16toh(header.eh_max) * sizeof(struct ext3_extent);
	const struct ext3_extent_tail tail = { .et_checksum = htole32(crc32c(cut->scan.seed, bytes, offset)) };

	memcpy(bytes + offset, &tail, sizeof(tail));
}

/* Keeps the first entries of a node; an empty root is a leaf. */
static void keep_entries(uint8_t *bytes, unsigned int count, unsigned int kept, bool is_root)
{
	struct ext3_extent_header header;

	memcpy(&header, bytes, sizeof(header));
	header.eh_entries = htole16((uint16_t)kept);
	if (is_root && !kept)
		header.eh_depth = 0;
	memcpy(bytes, &header, sizeof(header));
	memset(bytes + sizeof(header) + kept * sizeof(struct ext3_extent), 0,
	       (count - kept) * sizeof(struct ext3_extent));
}

static void shorten_extent(uint8_t *bytes, unsigned int index, uint32_t count, bool is_unwritten)
{
	uint8_t *at = bytes + sizeof(struct ext3_extent_header) + index * sizeof(struct ext3_extent);
	struct ext3_extent raw;

	memcpy(&raw, at, sizeof(raw));
	raw.ee_len = htole16((uint16_t)(count + (is_unwritten ? UNWRITTEN_LENGTH : 0)));
	memcpy(at, &raw, sizeof(raw));
}

/* Returns in *kept how many entries of a leaf stay. */
static errcode_t cut_leaf(struct collecting *cut, uint8_t *bytes, const struct extent_node *node, uint64_t first,
                          unsigned int *kept)
{
	errcode_t error = 0;

	*kept = 0;
	for (unsigned int index = 0; !error && index < node->count; index++) {
		const struct extent_node_leaf leaf = extent_node_leaf(node, index);
		uint32_t stays = leaf.logical >= first              ? 0 :
		                 first - leaf.logical >= leaf.count ? leaf.count :
		                                                      (uint32_t)(first - leaf.logical);

		*kept += stays > 0;
		if (stays == leaf.count)
			continue;
		error = collect_extent(&cut->scan, leaf.logical + stays, leaf.physical + stays, leaf.count - stays,
		                       leaf.is_unwritten);
		if (stays)
			shorten_extent(bytes, index, stays, leaf.is_unwritten);
	}
	return error;
}

static errcode_t cut_node(struct collecting *cut, uint8_t *bytes, size_t byte_count, uint64_t first, bool is_root,
                          unsigned int *kept);

/* A child whose first block stays. *is_left: something of it does, as when its first extent begins later. */
static errcode_t cut_child(struct collecting *cut, uint64_t block, uint64_t first, bool *is_left)
{
	struct block_access *access = cut->scan.access;
	SCOPE_FREE uint8_t *bytes = malloc(access->format->block_bytes);
	unsigned int kept;

	if (!bytes)
		return ENOMEM;
	errcode_t error = map_scan_read_node(&cut->scan, block, bytes);

	if (!error)
		error = cut_node(cut, bytes, access->format->block_bytes, first, false, &kept);
	if (error)
		return error;
	*is_left = kept;
	if (!kept)
		return collect(cut, block, 1);
	write_extent_checksum(cut, bytes);
	return access->write(access, block, bytes);
}

static errcode_t collect_child(struct collecting *cut, const struct extent_node_index *entry, unsigned int depth)
{
	size_t block_bytes = cut->scan.access->format->block_bytes;
	SCOPE_FREE uint8_t *bytes = malloc(block_bytes);

	if (!bytes)
		return ENOMEM;
	errcode_t error = map_scan_read_node(&cut->scan, entry->block, bytes);

	if (!error)
		error = collect(cut, entry->block, 1);
	cut->scan.next = entry->logical;
	return error ? error : map_scan_node(&cut->scan, bytes, block_bytes, (int)depth, MAP_LOGICAL_END);
}

/* Children that end before the cut are not read. */
static errcode_t cut_index(struct collecting *cut, const struct extent_node *node, uint64_t first, unsigned int *kept)
{
	errcode_t error = 0;

	*kept = 0;
	for (unsigned int index = 0; !error && index < node->count; index++) {
		const struct extent_node_index entry = extent_node_index(node, index);
		uint64_t next = index + 1 < node->count ? extent_node_index(node, index + 1).logical : MAP_LOGICAL_END;
		bool is_left = true;

		if (entry.logical >= first) {
			error = collect_child(cut, &entry, node->depth - 1);
			continue;
		}
		if (next > first)
			error = cut_child(cut, entry.block, first, &is_left);
		*kept += is_left;
	}
	return error;
}

static errcode_t cut_node(struct collecting *cut, uint8_t *bytes, size_t byte_count, uint64_t first, bool is_root,
                          unsigned int *kept)
{
	struct extent_node node;

	if (!extent_node_read(bytes, byte_count, &node))
		return EUCLEAN;
	errcode_t error = node.depth ? cut_index(cut, &node, first, kept) : cut_leaf(cut, bytes, &node, first, kept);

	if (!error)
		keep_entries(bytes, node.count, *kept, is_root);
	return error;
}

static errcode_t cut_number(struct collecting *cut, uint32_t *number, unsigned int level, uint64_t logical,
                            uint64_t first);

/* A block of numbers of which some stay. */
static errcode_t cut_numbers(struct collecting *cut, uint32_t *number, unsigned int level, uint64_t logical,
                             uint64_t first)
{
	struct block_access *access = cut->scan.access;
	const uint32_t count = access->format->block_bytes / sizeof(uint32_t);
	SCOPE_FREE uint32_t *numbers = malloc(access->format->block_bytes);
	uint64_t block = le32toh(*number);
	bool is_changed = false, is_left = false;

	if (!numbers)
		return ENOMEM;
	errcode_t error = map_scan_read(&cut->scan, block, numbers);

	for (uint32_t index = 0; !error && index < count; index++) {
		uint32_t before = numbers[index];

		error = cut_number(cut, &numbers[index], level - 1,
		                   logical + index * map_indirect_span(access->format, level - 1), first);
		is_changed |= numbers[index] != before;
		is_left |= numbers[index] != 0;
	}
	if (error)
		return error;
	if (!is_left) {
		*number = 0;
		return collect(cut, block, 1);
	}
	return is_changed ? access->write(access, block, numbers) : 0;
}

static errcode_t cut_number(struct collecting *cut, uint32_t *number, unsigned int level, uint64_t logical,
                            uint64_t first)
{
	uint64_t block = le32toh(*number);

	if (!block || logical + map_indirect_span(cut->scan.access->format, level) <= first)
		return 0;
	if (logical < first)
		return cut_numbers(cut, number, level, logical, first);
	*number = 0;
	cut->scan.next = logical;
	return map_scan_indirect(&cut->scan, block, level, logical);
}

static errcode_t cut_root_numbers(struct collecting *cut, uint8_t *root, uint64_t first)
{
	uint32_t numbers[MAP_DIRECT_BLOCKS + MAP_INDIRECT_LEVELS];
	uint64_t logical = 0;
	errcode_t error = 0;

	memcpy(numbers, root, sizeof(numbers));
	for (unsigned int index = 0; !error && index < MAP_DIRECT_BLOCKS + MAP_INDIRECT_LEVELS; index++) {
		unsigned int level = index < MAP_DIRECT_BLOCKS ? 0 : index - MAP_DIRECT_BLOCKS + 1;

		error = cut_number(cut, &numbers[index], level, logical, first);
		logical += map_indirect_span(cut->scan.access->format, level);
	}
	memcpy(root, numbers, sizeof(numbers));
	return error;
}

errcode_t map_cut(struct block_access *access, uint32_t ino, struct inode_decoded *inode, uint64_t first,
                  struct block_list *freed)
{
	struct inode_value *value = &inode->value;
	struct collecting cut = begin_collecting(access, freed);
	unsigned int kept;

	if (!map_is_in_inode(inode))
		return 0;
	errcode_t error = find_last_kept(&cut, ino, inode, first);

	if (error)
		return error;
	cut.scan.seed = ondisk_inode_seed(access->format, ino, value->generation);
	if (value->flags & EXT4_EXTENTS_FL)
		error = cut_node(&cut, value->root, INODE_ROOT_BYTES, first, true, &kept);
	else
		error = cut_root_numbers(&cut, value->root, first);
	if (!error)
		error = block_list_finish(freed, access->format);
	if (!error)
		value->blocks -= value->blocks < freed->blocks ? value->blocks : freed->blocks;
	return error;
}
