/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/metadata/quota.h"

#include <errno.h>
#include <string.h>

#include "image/run_writer.h"

static errcode_t charge(const struct plan *plan, const struct filesystem *filesystem,
                        const uint32_t owners[QUOTA_TYPES], uint64_t inodes, uint64_t blocks, struct quota_usage *usage)
{
	errcode_t error = 0;

	for (int type = 0; !error && type < QUOTA_TYPES; type++)
		if (filesystem->quota_inodes[type])
			error = usage_by_id_add(&usage->types[type], owners[type], inodes,
			                        blocks << plan->format.block_bits);
	return error;
}

errcode_t quota_charge(const struct plan *plan, const struct filesystem *filesystem, uint32_t node,
                       const struct inode_value *value, struct quota_usage *usage)
{
	const struct xattr_store *xattrs = &plan->xattrs.stores[plan_node(plan, node)->xattrs];
	const uint32_t owners[QUOTA_TYPES] = { value->uid, value->gid, value->project };

	return charge(plan, filesystem, owners, 1 + (uint64_t)__builtin_popcountll(xattrs->layout.in_value_inode),
	              value->blocks, usage);
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

/* A file's contents as its inode counts them. */
struct stored_file {
	uint64_t size_bytes;
	uint64_t clusters;      /* with the map's clusters */
	struct extent_map *map; /* owned */
};

/* Takes blocks for size_bytes, writes the bytes and fills in the rest of *file; the map also after an error. */
static errcode_t write_contents(const struct plan *plan, const struct filesystem *filesystem, struct sink *sink,
                                const void *bytes, struct stored_file *file)
{
	uint64_t blocks = (file->size_bytes + plan->format.block_bytes - 1) >> plan->format.block_bits;
	struct pack_range range = { .worker = filesystem->workers[0] };
	struct run_writer writer = run_writer_create(sink);
	struct extent_list list = { 0 };
	errcode_t error = plan_alloc_blocks(plan, &range, &list, 0, blocks);

	if (!error) {
		uint64_t map_blocks = file_map_blocks(&plan->format, list.extents, list.count);

		file->clusters = map_blocks;
		for (size_t extent = 0; extent < list.count; extent++)
			file->clusters += plan_clusters(plan, list.extents[extent].count);
		file->map = extent_map_create(&list, (uint32_t)map_blocks);
		error = file->map ? plan_alloc_clusters(plan, &range, file->map->map_blocks, map_blocks) : ENOMEM;
	}
	if (!error)
		error = run_writer_copy(&writer, list.extents, (uint32_t)list.count, bytes, file->size_bytes);
	if (!error)
		error = run_writer_flush(&writer);
	run_writer_free(&writer);
	free(list.extents);
	return error;
}

/* Gives the inode that mke2fs made another size and map. */
static errcode_t rewrite_inode(const struct plan *plan, const struct filesystem *filesystem, struct sink *sink,
                               uint32_t ino, const struct stored_file *file)
{
	const struct ondisk_format *format = &plan->format;
	uint32_t group = (ino - 1) / filesystem->geometry.inodes_per_group;
	uint64_t offset = (uint64_t)((ino - 1) % filesystem->geometry.inodes_per_group) * format->inode_bytes;
	uint64_t block = filesystem->geometry.inode_tables[group] + (offset >> format->block_bits);
	SCOPE_FREE char *bytes = malloc(format->block_bytes);
	struct inode_decoded inode;

	if (!bytes)
		return ENOMEM;
	char *raw = bytes + offset % format->block_bytes;
	errcode_t error = sink_read(sink, block, 1, bytes);

	if (error)
		return error;
	inode_decode(format, raw, &inode);
	inode.value.size_bytes = file->size_bytes;
	inode.value.blocks = file->clusters << format->cluster_bits;
	memset(inode.value.root, 0, sizeof(inode.value.root));
	error = plan_write_map(plan, sink, ino, file->map->extents, file->map->extent_count, file->map, &inode.value);
	if (!error)
		error = inode_encode(format, ino, &inode.value, NULL, raw);
	return error ? error : sink_write(sink, block, 1, bytes);
}

static errcode_t write_quota_file(const struct plan *plan, const struct filesystem *filesystem, struct sink *sink,
                                  enum quota_type type, const struct usage_by_id *usage)
{
	struct stored_file file = { .size_bytes = quota_file_bytes(usage->entries, usage->count) };
	SCOPE_FREE void *bytes = malloc(file.size_bytes);

	if (!bytes)
		return ENOMEM;
	quota_file_encode(type, usage->entries, usage->count, bytes);
	errcode_t error = write_contents(plan, filesystem, sink, bytes, &file);

	if (!error)
		error = rewrite_inode(plan, filesystem, sink, filesystem->quota_inodes[type], &file);
	free(file.map);
	return error;
}

errcode_t quota_write(const struct plan *plan, const struct filesystem *filesystem, struct sink *sink,
                      const struct workplace *work, struct quota_usage *usage)
{
	const struct kept_directory *kept = &filesystem->lost_found;
	errcode_t error = kept->ino ? charge(plan, filesystem, kept->owners, 1, kept->blocks, usage) : 0;

	for (int type = 0; !error && type < QUOTA_TYPES; type++) {
		if (!filesystem->quota_inodes[type])
			continue;
		usage_by_id_sort(&usage->types[type]);
		error = write_quota_file(plan, filesystem, sink, (enum quota_type)type, &usage->types[type]);
	}
	return workplace_result(work, error, "cannot write quotas");
}
