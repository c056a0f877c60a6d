/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A quota file (vfsv1) is a tree of blocks of 1 KiB: four levels of 256 references, one for each byte of the id, and
 * blocks of entries below.
 */
#include "populate/metadata/quota.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/quota.h>

#include "ext2fs/fs_errors.h"
#include "populate/format/filesystem.h"
#include "support/vector.h"

#define QUOTA_BLOCK_BYTES 1024
#define TREE_LEVELS 4
#define ENTRY_BLOCK_HEADER_BYTES 16

static errcode_t run_tune2fs(const struct build *build, const char *option, const char *value)
{
	/* -f: with mmp it would wait for 11 s whether another host has mounted the image. */
	const char *arguments[] = { "tune2fs", "-f", option, value, build->filesystem_path, NULL };

	return filesystem_run(build, arguments, "tune2fs failed");
}

errcode_t quota_rebuild(const struct build *build)
{
	unsigned int types = build->quota_types;
	char list[64];

	if (!types)
		return 0;
	snprintf(list, sizeof(list), "%s%s%s", types & 1u << USRQUOTA ? "usrquota," : "",
	         types & 1u << GRPQUOTA ? "grpquota," : "", types & 1u << PRJQUOTA ? "prjquota" : "");
	errcode_t error = run_tune2fs(build, "-O", "^quota");

	return error ? error : run_tune2fs(build, "-Q", list);
}

struct entry { /* struct v2r1_disk_dqblk */
	uint32_t id;
	uint32_t unused;
	uint64_t inode_hard, inode_soft, inodes;
	uint64_t space_hard, space_soft, space_bytes;
	uint64_t space_time, inode_time;
};

_Static_assert(sizeof(struct entry) == 72, "as on disk");

/* What an owner's usage changes by. */
struct charge {
	uint32_t id;
	uint64_t inodes, space_bytes; /* modulo 2^64 */
};

struct charge_list {
	struct charge *charges;
	size_t count, capacity;
};

static errcode_t add_charge(struct charge_list *list, uint32_t id, uint64_t inodes, uint64_t space_bytes)
{
	errcode_t error = vector_reserve(&list->charges, &list->capacity, list->count + 1, sizeof(*list->charges));
	if (!error)
		list->charges[list->count++] = (struct charge){ id, inodes, space_bytes };
	return error;
}

static uint32_t owner_of(const struct build *build, uint32_t node, int type)
{
	const struct tree_node *source = build_node(build, node);

	return type == USRQUOTA ? source->uid : type == GRPQUOTA ? source->gid : build_project(build, node);
}

static int compare_charges(const void *left, const void *right)
{
	const struct charge *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static errcode_t list_charges(const struct build *build, int type, struct charge_list *list)
{
	unsigned int cluster_bits = build->format.block_bits + build->format.cluster_bits;
	const struct tree *tree = build->tree;
	uint64_t own_clusters = 0;
	errcode_t error = 0;

	for (uint32_t node = 0; !error && node < tree->node_count; node++) {
		const struct xattr_store *store = &build->xattrs[tree->nodes[node].xattrs];

		/* The space is in the file's own number of blocks, which tune2fs has counted. */
		if (store->values && !tree_node_is_link(tree, node))
			error = add_charge(list, owner_of(build, node, type),
			                   (uint64_t)__builtin_popcountll(store->layout.in_value_inode), 0);
	}
	for (size_t value = 0; value < build->xattr_value_count; value++)
		own_clusters += build->xattr_values[value].clusters;
	if (!error)
		error = add_charge(list, 0, -(uint64_t)build->xattr_value_count, -(own_clusters << cluster_bits));
	if (!error)
		qsort(list->charges, list->count, sizeof(*list->charges), compare_charges);
	return error;
}

static errcode_t read_block(ext2_file_t file, uint32_t number, void *bytes)
{
	unsigned int got = 0;
	errcode_t error = ext2fs_file_llseek(file, (uint64_t)number * QUOTA_BLOCK_BYTES, EXT2_SEEK_SET, NULL);

	if (!error)
		error = FS_ERROR_OF(ext2fs_file_read(file, bytes, QUOTA_BLOCK_BYTES, &got));
	return error ? error : got == QUOTA_BLOCK_BYTES ? 0 : EIO;
}

/* Walks down to the block with an owner's entry, and to the entry in it. ENOENT: there is none. */
static errcode_t find_entry(ext2_file_t file, uint32_t id, uint64_t *offset_bytes, struct entry *entry)
{
	uint32_t references[QUOTA_BLOCK_BYTES / 4], number = 1;
	uint8_t bytes[QUOTA_BLOCK_BYTES];

	for (int level = 0; level < TREE_LEVELS; level++) {
		errcode_t error = read_block(file, number, references);

		if (error)
			return error;
		number = le32toh(references[id >> (8 * (TREE_LEVELS - 1 - level)) & 0xff]);
		if (!number)
			return ENOENT;
	}
	errcode_t error = read_block(file, number, bytes);
	if (error)
		return error;
	for (size_t at = ENTRY_BLOCK_HEADER_BYTES; at + sizeof(*entry) <= sizeof(bytes); at += sizeof(*entry)) {
		static const struct entry unused;

		memcpy(entry, bytes + at, sizeof(*entry));
		*offset_bytes = (uint64_t)number * QUOTA_BLOCK_BYTES + at;
		if (le32toh(entry->id) == id && memcmp(entry, &unused, sizeof(unused)) != 0)
			return 0;
	}
	return ENOENT;
}

static errcode_t charge_owner(ext2_file_t file, const struct charge *charge)
{
	struct entry entry;
	uint64_t offset_bytes;
	errcode_t error = find_entry(file, charge->id, &offset_bytes, &entry);

	if (error)
		return error;
	entry.inodes = htole64(le64toh(entry.inodes) + charge->inodes);
	entry.space_bytes = htole64(le64toh(entry.space_bytes) + charge->space_bytes);
	error = ext2fs_file_llseek(file, offset_bytes, EXT2_SEEK_SET, NULL);
	return error ? error : FS_ERROR_OF(ext2fs_file_write(file, &entry, sizeof(entry), NULL));
}

static errcode_t charge_file(const struct build *build, ext2_filsys fs, int type)
{
	const ext2_ino_t inodes[] = { fs->super->s_usr_quota_inum, fs->super->s_grp_quota_inum,
		                      fs->super->s_prj_quota_inum };
	struct charge_list list = { 0 };
	ext2_file_t file = NULL;
	errcode_t error = list_charges(build, type, &list);

	if (!error)
		error = FS_ERROR_OF(ext2fs_file_open(fs, inodes[type], EXT2_FILE_WRITE, &file));
	for (size_t number = 0; !error && number < list.count; number++) {
		struct charge charge = list.charges[number];

		for (; number + 1 < list.count && list.charges[number + 1].id == charge.id; number++) {
			charge.inodes += list.charges[number + 1].inodes;
			charge.space_bytes += list.charges[number + 1].space_bytes;
		}
		error = charge_owner(file, &charge);
	}
	free(list.charges);
	if (file) {
		errcode_t closing = ext2fs_file_close(file);

		error = error ? error : closing;
	}
	return error;
}

errcode_t quota_charge_values(const struct build *build)
{
	ext2_filsys fs;
	errcode_t error;

	if (!build->quota_types || !build->xattr_value_count)
		return 0;
	error = filesystem_open_image(build, &fs);
	for (int type = USRQUOTA; !error && type < QUOTA_TYPES; type++)
		if (build->quota_types & 1u << type)
			error = charge_file(build, fs, type);
	if (!error)
		error = ext2fs_flush2(fs, EXT2_FLAG_FLUSH_NO_SYNC);
	if (fs)
		ext2fs_free(fs);
	return build_result(build, error, "cannot charge quotas");
}
