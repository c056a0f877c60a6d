/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contents/protection.h"

#include <errno.h>
#include <string.h>

#include "ondisk/file_map.h"
#include "support/bisect.h"
#include "support/vector.h"

static const struct tree_verity *verity_of(const struct protection *protection, uint32_t node)
{
	return tree_detail(protection->tree, &protection->tree->nodes[node])->verity;
}

struct verity_value protection_value(const struct protection *protection, uint32_t node)
{
	const struct tree_verity *verity = verity_of(protection, node);
	unsigned int usual_bits = protection->format->block_bits < PROTECTION_USUAL_BLOCK_BITS ?
	                                  protection->format->block_bits :
	                                  PROTECTION_USUAL_BLOCK_BITS;
	struct verity_value value = {
		.algorithm = verity->algorithm,
		.block_bits = verity->block_bits ? verity->block_bits : (uint8_t)usual_bits,
		.salt_bytes = verity->salt_bytes,
		.signature_bytes = verity->signature_bytes,
		.data_bytes = protection->tree->nodes[node].size_bytes,
	};

	memcpy(value.salt, verity->salt, sizeof(value.salt));
	return value;
}

struct hash_tree_form protection_form(const struct verity_value *value)
{
	return (struct hash_tree_form){
		.hash = tree_verity_hash(value->algorithm),
		.data_block_bits = value->block_bits,
		.hash_block_bits = value->block_bits,
		.salt = value->salt,
		.salt_bytes = value->salt_bytes,
		.pads_salt = true,
	};
}

static errcode_t place_of(const struct protection *protection, uint32_t node, struct verity_place *place)
{
	const struct verity_value value = protection_value(protection, node);
	const struct hash_tree_form form = protection_form(&value);
	unsigned int block_bits = protection->format->block_bits, levels;
	uint64_t tree_bytes = hash_tree_measure(&form, value.data_bytes, &levels) << value.block_bits;

	if (levels > VERITY_MOST_LEVELS)
		return EFBIG;
	if (!verity_place(block_bits, value.data_bytes, tree_bytes, VERITY_DESCRIPTOR_BYTES + value.signature_bytes,
	                  place))
		return EFBIG;
	return place->first_block + place->blocks <= file_map_max_bytes(protection->format) >> block_bits ? 0 : EFBIG;
}

struct verity_place protection_place(const struct protection *protection, uint32_t node)
{
	struct verity_place place;

	/* The place has already been checked. */
	(void)!place_of(protection, node, &place);
	return place;
}

static bool may_have_usual_blocks(const struct protection *protection, const struct tree_verity *verity)
{
	return verity->block_bits <= PROTECTION_USUAL_BLOCK_BITS && protection->may_choose_blocks;
}

errcode_t protection_decide(const struct protection *protection, uint32_t node, bool *is_protected)
{
	const struct tree_verity *verity = verity_of(protection, node);
	const struct ondisk_format *format = protection->format;
	struct verity_place place;
	errcode_t error = 0;

	*is_protected = false;
	/* The hashes are of the plain contents, which are not known. */
	if (!verity || protection->tree->nodes[node].is_encrypted)
		return 0;
	if (!format->verity || !format->extents)
		error = ENOTSUP;
	else if (verity->block_bits > format->block_bits ||
	         (format->block_bits < PROTECTION_USUAL_BLOCK_BITS && may_have_usual_blocks(protection, verity)))
		error = E2BIG;
	else
		error = place_of(protection, node, &place);
	*is_protected = !error;
	/*
	 * After E2BIG the size is chosen again, with blocks of 4 KiB (populate/size/size.c). Linux before 6.3 mounts no
	 * filesystem with the feature verity and smaller blocks.
	 */
	if (verity->is_inherited && !(error == E2BIG && may_have_usual_blocks(protection, verity)))
		return 0;
	return error;
}

char *protection_reason(const struct protection *protection, uint32_t node, errcode_t error)
{
	const struct ondisk_format *format = protection->format;
	const struct tree_verity *verity = verity_of(protection, node);
	char *reason = NULL;
	int length = -1;

	if (error == ENOTSUP)
		length = asprintf(&reason, "the filesystem lacks the feature %s",
		                  format->extents ? "verity" : "extents, which fs-verity needs");
	else if (error == E2BIG && verity)
		length = asprintf(&reason, "fs-verity's blocks of %u bytes are larger than the filesystem's, of %u",
		                  1u << verity->block_bits, format->block_bytes);
	else if (error == EFBIG)
		length = asprintf(&reason, "with the hashes of fs-verity after its data it is too large");
	return length < 0 ? NULL : reason;
}

errcode_t protection_add(struct protection *protection, uint32_t node)
{
	size_t capacity = protection->capacity;
	errcode_t error =
		vector_reserve(&protection->files, &capacity, protection->count + 1ul, sizeof(*protection->files));

	if (error)
		return error;
	protection->capacity = (uint32_t)capacity;
	struct protected_file *file = &protection->files[protection->count++];

	memset(file, 0, sizeof(*file));
	file->node = node;
	return 0;
}

struct protected_file *protection_find(const struct protection *protection, uint32_t node)
{
	size_t index = BISECT(protection->count, n, protection->files[n].node >= node);

	return index < protection->count && protection->files[index].node == node ? &protection->files[index] : NULL;
}

void protection_release(struct protection *protection)
{
	free(TAKE(protection->files));
	protection->count = protection->capacity = 0;
}
