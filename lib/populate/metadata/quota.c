/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/metadata/quota.h"

#include <errno.h>
#include <string.h>

#include "populate/build/run_writer.h"

static errcode_t charge(const struct build *build, const uint32_t owners[QUOTA_TYPES], uint64_t inodes, uint64_t blocks,
                        struct quota_usage *usage)
{
	errcode_t error = 0;

	for (int type = 0; !error && type < QUOTA_TYPES; type++)
		if (build->quota_inodes[type])
			error = usage_by_id_add(&usage->types[type], owners[type], inodes,
			                        blocks << build->format.block_bits);
	return error;
}

errcode_t quota_charge(const struct build *build, uint32_t node, const struct inode_value *value,
                       struct quota_usage *usage)
{
	const struct xattr_store *xattrs = &build->xattrs[build_node(build, node)->xattrs];
	const uint32_t owners[QUOTA_TYPES] = { value->uid, value->gid, value->project };

	return charge(build, owners, 1 + (uint64_t)__builtin_popcountll(xattrs->layout.in_value_inode), value->blocks,
	              usage);
}

errcode_t quota_usage_join(struct quota_usage *all, const struct quota_usage *more)
{
	errcode_t error = 0;

	for (int type = 0; !error && type < QUOTA_TYPES; type++)
		error = usage_by_id_join(&all->types[type], &more->types[type]);
	return error;
}

void quota_usage_free(struct quota_usage *usage)
{
	for (int type = 0; type < QUOTA_TYPES; type++)
		usage_by_id_free(&usage->types[type]);
}

/* Writes bytes into blocks that are taken for them. *map: where they are; the caller frees it, also after an error. */
static errcode_t write_contents(const struct build *build, const void *bytes, uint64_t count, struct extent_map **map,
                                uint64_t *clusters)
{
	uint64_t blocks = (count + build->format.block_bytes - 1) >> build->format.block_bits;
	struct pack_range range = { .worker = build->workers[0] };
	struct run_writer writer = run_writer_create(build->sink);
	struct extent_list list = { 0 };
	errcode_t error = build_alloc_blocks(build, &range, &list, 0, blocks);

	if (!error) {
		uint64_t map_blocks = file_map_blocks(&build->format, list.extents, list.count);

		*clusters = map_blocks;
		for (size_t extent = 0; extent < list.count; extent++)
			*clusters += build_clusters(build, list.extents[extent].count);
		*map = extent_map_create(&list, (uint32_t)map_blocks);
		error = *map ? build_alloc_clusters(build, &range, (*map)->map_blocks, map_blocks) : ENOMEM;
	}
	if (!error)
		error = run_writer_copy(&writer, list.extents, (uint32_t)list.count, bytes, count);
	if (!error)
		error = run_writer_flush(&writer);
	run_writer_free(&writer);
	free(list.extents);
	return error;
}

/* The inode that mke2fs made gets another size and map. */
static errcode_t rewrite_inode(const struct build *build, uint32_t ino, uint64_t size_bytes, uint64_t clusters,
                               const struct extent_map *map)
{
	const struct ondisk_format *format = &build->format;
	uint32_t group = (ino - 1) / build->geometry.inodes_per_group;
	uint64_t offset = (uint64_t)((ino - 1) % build->geometry.inodes_per_group) * format->inode_bytes;
	uint64_t block = build->geometry.inode_tables[group] + (offset >> format->block_bits);
	SCOPE_FREE char *bytes = malloc(format->block_bytes);
	struct inode_decoded inode;

	if (!bytes)
		return ENOMEM;
	char *raw = bytes + offset % format->block_bytes;
	errcode_t error = sink_read(build->sink, block, 1, bytes);

	if (error)
		return error;
	inode_decode(format, raw, &inode);
	inode.value.size_bytes = size_bytes;
	inode.value.blocks = clusters << format->cluster_bits;
	memset(inode.value.root, 0, sizeof(inode.value.root));
	error = build_write_map(build, ino, map->extents, map->extent_count, map, &inode.value);
	if (!error)
		error = inode_encode(format, ino, &inode.value, NULL, raw);
	return error ? error : sink_write(build->sink, block, 1, bytes);
}

static errcode_t write_file(const struct build *build, enum quota_type type, const struct usage_by_id *usage)
{
	uint64_t size_bytes = quota_file_bytes(usage->entries, usage->count), clusters;
	SCOPE_FREE void *bytes = malloc(size_bytes);
	SCOPE_FREE struct extent_map *map = NULL;

	if (!bytes)
		return ENOMEM;
	quota_file_encode(type, usage->entries, usage->count, bytes);
	errcode_t error = write_contents(build, bytes, size_bytes, &map, &clusters);

	return error ? error : rewrite_inode(build, build->quota_inodes[type], size_bytes, clusters, map);
}

errcode_t quota_write(struct build *build, struct quota_usage *usage)
{
	const struct kept_directory *kept = &build->lost_found;
	errcode_t error = kept->ino ? charge(build, kept->owners, 1, kept->blocks, usage) : 0;

	for (int type = 0; !error && type < QUOTA_TYPES; type++) {
		if (!build->quota_inodes[type])
			continue;
		usage_by_id_sort(&usage->types[type]);
		error = write_file(build, (enum quota_type)type, &usage->types[type]);
	}
	return build_result(build, error, "cannot write quotas");
}
