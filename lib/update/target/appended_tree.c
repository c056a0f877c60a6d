/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/target/appended_tree.h"

#include <errno.h>
#include <nettle/base16.h>
#include <string.h>
#include <unistd.h>

#include "output/dm_verity_tree.h"
#include "support/io/whole_io.h"

#define ACTION "cannot make its hash tree anew"

static uint64_t end_of(const struct volume *volume)
{
	return volume->offset_bytes + (volume->geometry.end_block << volume->geometry.block_bits);
}

errcode_t appended_tree_find(const struct volume *volume, struct appended_tree *tree)
{
	uint8_t bytes[DM_VERITY_SUPERBLOCK_BYTES] = { 0 };

	*tree = (struct appended_tree){ 0 };
	/* A part of one refuses the update, too. */
	if (pread(volume->descriptor, bytes, sizeof(bytes), (off_t)end_of(volume)) <= 0 || !dm_verity_is_there(bytes))
		return 0;
	tree->is_there = true;
	return dm_verity_decode(bytes, &tree->value) ? 0 : EINVAL;
}

errcode_t appended_tree_cut(const struct volume *volume, int descriptor)
{
	return ftruncate(descriptor, (off_t)end_of(volume)) ? errno : 0;
}

static errcode_t lay_out(struct dm_verity_tree *layout, struct dm_verity_value *value, uint64_t data_bytes)
{
	const struct hash_tree_form form = {
		.hash = strcmp(value->algorithm, "sha512") ? &nettle_sha256 : &nettle_sha512,
		.data_block_bits = (unsigned int)__builtin_ctz(value->data_block_bytes),
		.hash_block_bits = (unsigned int)__builtin_ctz(value->hash_block_bytes),
		.salt = value->salt,
		.salt_bytes = value->salt_bytes,
	};

	value->data_blocks = data_bytes / value->data_block_bytes;
	return data_bytes % value->data_block_bytes ? EINVAL : dm_verity_tree_init(layout, &form, data_bytes);
}

static errcode_t write_superblock(const struct dm_verity_value *value, int descriptor, uint64_t offset,
                                  uint64_t tree_offset)
{
	SCOPE_FREE uint8_t *super = calloc(1, tree_offset - offset);

	if (!super)
		return ENOMEM;
	dm_verity_encode(value, super);
	return whole_write(descriptor, super, tree_offset - offset, offset);
}

static errcode_t write_tree(struct appended_tree *tree, struct dm_verity_tree *layout, uint64_t offset,
                            struct pool *pool, struct update_report *report, struct problem *problem)
{
	uint8_t root[HASH_TREE_MOST_DIGEST_BYTES];
	uint64_t tree_offset = layout->hashes.offset_bytes;
	int descriptor = layout->hashes.descriptor;

	if (ftruncate(descriptor, (off_t)(tree_offset + hash_tree_bytes(&layout->tree))))
		return errno;
	errcode_t error = dm_verity_tree_write(layout, pool, NULL, root, problem);

	if (!error)
		error = write_superblock(&tree->value, descriptor, offset, tree_offset);
	base16_encode_update(report->root_hash, layout->tree.hash->digest_size, root);
	return error;
}

errcode_t appended_tree_write(const struct update_options *options, const struct appended_tree *tree, const char *path,
                              int descriptor, struct pool *pool, struct update_report *report, struct problem *problem)
{
	struct appended_tree made = *tree;
	struct dm_verity_tree layout = { 0 };
	struct volume volume;

	if (!tree->is_there)
		return 0;
	errcode_t error = volume_open(path, options->offset_bytes, &volume, problem);

	if (error)
		return error;
	uint64_t end = end_of(&volume);

	volume_close(&volume);
	error = lay_out(&layout, &made.value, end - options->offset_bytes);
	layout.data = (struct file_part){ descriptor, options->offset_bytes, options->image };
	layout.hashes = (struct file_part){ descriptor, dm_verity_tree_offset(end, made.value.hash_block_bytes),
		                            options->image };
	layout.has_holes = true;
	if (!error)
		error = write_tree(&made, &layout, end, pool, report, problem);
	return error ? problem_set(problem, error, options->image, ACTION) : 0;
}
