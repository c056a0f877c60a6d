// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/metadata/xattr_values.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "support/vector.h"

/* A million different values, which is a lot of 4 KiB each at least, are 16 to a bucket. */
#define BUCKETS 65536u
#define NONE UINT32_MAX

static uint32_t blocks_of(const struct build *build, const struct xattr_value *value)
{
	return (value->value_bytes + build->format.block_bytes - 1) >> build->format.block_bits;
}

static errcode_t make_buckets(struct build *build)
{
	build->xattr_value_buckets = malloc(BUCKETS * sizeof(*build->xattr_value_buckets));
	if (!build->xattr_value_buckets)
		return ENOMEM;
	for (uint32_t bucket = 0; bucket < BUCKETS; bucket++)
		build->xattr_value_buckets[bucket] = NONE;
	return 0;
}

static uint32_t find(const struct build *build, const struct xattr_value *wanted)
{
	uint32_t number = build->xattr_value_buckets[wanted->hash % BUCKETS];

	for (; number != NONE; number = build->xattr_values[number].next) {
		const struct xattr_value *value = &build->xattr_values[number];

		if (value->hash == wanted->hash && value->value_bytes == wanted->value_bytes &&
		    memcmp(value->bytes, wanted->bytes, wanted->value_bytes) == 0)
			break;
	}
	return number;
}

errcode_t xattr_values_add(struct build *build, const struct xattr *xattr, uint32_t *number, uint64_t *clusters)
{
	struct xattr_value value = { 0 };
	errcode_t error = build->xattr_value_buckets ? 0 : make_buckets(build);

	if (!error)
		error = xattr_value_measure(xattr, &value.value_bytes);
	if (error)
		return error;
	SCOPE_FREE void *bytes = malloc(value.value_bytes);

	if (!bytes)
		return ENOMEM;
	xattr_value_encode(xattr, bytes);
	value.bytes = bytes;
	value.hash = xattr_value_hash(&build->format, bytes, value.value_bytes);
	*clusters += build_clusters(build, blocks_of(build, &value));
	*number = find(build, &value);
	if (*number != NONE)
		return 0;
	error = vector_reserve(&build->xattr_values, &build->xattr_value_capacity, build->xattr_value_count + 1,
	                       sizeof(*build->xattr_values));
	if (error)
		return error;
	uint32_t *bucket = &build->xattr_value_buckets[value.hash % BUCKETS];

	value.bytes = TAKE(bytes);
	value.next = *bucket;
	*bucket = *number = (uint32_t)build->xattr_value_count;
	build->xattr_values[build->xattr_value_count++] = value;
	return 0;
}

uint64_t xattr_values_clusters(const struct build *build)
{
	uint64_t clusters = 0;

	for (size_t number = 0; number < build->xattr_value_count; number++) {
		struct file_extent extent = { .count = blocks_of(build, &build->xattr_values[number]), .physical = 1 };

		/* At most 64 blocks: they do not come in more pieces than an inode holds. */
		clusters += build_clusters(build, extent.count) + file_map_blocks(&build->format, &extent, 1);
	}
	return clusters;
}

static errcode_t place(const struct build *build, struct xattr_value *value, struct pack_range *range)
{
	uint32_t left = blocks_of(build, value);
	SCOPE_FREE struct file_extent *extents = calloc(left, sizeof(*extents));
	struct extent_list list = { .extents = extents };

	if (!extents)
		return ENOMEM;
	for (uint32_t logical = 0; left; list.count++) {
		struct ext2mb_extent taken;
		errcode_t error =
			pack_range_take(range, build_clusters(build, left) << build->format.cluster_bits, &taken);

		if (error)
			return error;
		uint32_t blocks = taken.count < left ? (uint32_t)taken.count : left;

		/* One extent for each that was taken, even where they touch. */
		extents[list.count] =
			(struct file_extent){ .logical = logical, .count = blocks, .physical = taken.start };
		logical += blocks;
		left -= blocks;
		value->clusters += build_clusters(build, blocks);
	}
	uint64_t map_blocks = file_map_blocks(&build->format, extents, list.count);

	value->clusters += map_blocks;
	value->map = extent_map_create(&list, (uint32_t)map_blocks);
	return value->map ? build_take_map_blocks(build, range, value->map) : ENOMEM;
}

errcode_t xattr_values_place(struct build *build, struct pack_range *range)
{
	errcode_t error = 0;

	for (size_t number = 0; !error && number < build->xattr_value_count; number++)
		error = place(build, &build->xattr_values[number], range);
	return error;
}

errcode_t xattr_values_write(const struct build *build, struct run_writer *writer)
{
	errcode_t error = 0;

	for (size_t number = 0; !error && number < build->xattr_value_count; number++) {
		const struct xattr_value *value = &build->xattr_values[number];

		error = run_writer_copy(writer, value->map->extents, value->map->extent_count, value->bytes,
		                        value->value_bytes);
	}
	return error;
}

errcode_t xattr_value_encode_inode(const struct build *build, uint32_t number, void *bytes)
{
	const struct xattr_value *value = &build->xattr_values[number];
	struct inode_value inode = {
		.mode = S_IFREG | 0600,
		.links = 1,
		.size_bytes = value->value_bytes,
		.flags = EXT4_EA_INODE_FL | (build->format.extents ? EXT4_EXTENTS_FL : 0),
		/* Such an inode has no times: they hold its hash, and how many name it, whose upper half is in ctime.
		 */
		.atime.seconds = (int32_t)value->hash,
		.version = value->references,
		.blocks = value->clusters << build->format.cluster_bits,
	};

	errcode_t error = build_write_map(build, value->ino, value->map->extents, value->map->extent_count, value->map,
	                                  &inode);

	return error ? error : inode_encode(&build->format, value->ino, &inode, NULL, bytes);
}

void xattr_values_release(struct build *build)
{
	for (size_t number = 0; number < build->xattr_value_count; number++) {
		free(build->xattr_values[number].bytes);
		free(build->xattr_values[number].map);
	}
	free(TAKE(build->xattr_values));
	free(TAKE(build->xattr_value_buckets));
	build->xattr_value_count = build->xattr_value_capacity = 0;
}
