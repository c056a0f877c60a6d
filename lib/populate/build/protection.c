/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/build/protection.h"

#include <errno.h>
#include <string.h>

#include "support/bisect.h"
#include "support/vector.h"

static const struct tree_verity *verity_of(const struct plan *plan, uint32_t node)
{
	return tree_detail(plan->source->tree, plan_node(plan, node))->verity;
}

struct verity_value protection_value(const struct plan *plan, uint32_t node)
{
	const struct tree_verity *verity = verity_of(plan, node);
	unsigned int usual_bits = plan->format.block_bits < PROTECTION_USUAL_BLOCK_BITS ? plan->format.block_bits :
	                                                                                  PROTECTION_USUAL_BLOCK_BITS;
	struct verity_value value = {
		.algorithm = verity->algorithm,
		.block_bits = verity->block_bits ? verity->block_bits : (uint8_t)usual_bits,
		.salt_bytes = verity->salt_bytes,
		.signature_bytes = verity->signature_bytes,
		.data_bytes = plan_node(plan, node)->size_bytes,
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

static errcode_t place_of(const struct plan *plan, uint32_t node, struct verity_place *place)
{
	const struct verity_value value = protection_value(plan, node);
	const struct hash_tree_form form = protection_form(&value);
	unsigned int block_bits = plan->format.block_bits, levels;
	uint64_t tree_bytes = hash_tree_measure(&form, value.data_bytes, &levels) << value.block_bits;

	if (levels > VERITY_MOST_LEVELS)
		return EFBIG;
	if (!verity_place(block_bits, value.data_bytes, tree_bytes, VERITY_DESCRIPTOR_BYTES + value.signature_bytes,
	                  place))
		return EFBIG;
	return place->first_block + place->blocks <= file_map_max_bytes(&plan->format) >> block_bits ? 0 : EFBIG;
}

struct verity_place protection_place(const struct plan *plan, uint32_t node)
{
	struct verity_place place;

	/* The place has already been checked. */
	(void)!place_of(plan, node, &place);
	return place;
}

static bool may_have_usual_blocks(const struct plan *plan, const struct tree_verity *verity)
{
	return verity->block_bits <= PROTECTION_USUAL_BLOCK_BITS && !plan->options->block_size_given &&
	       !plan->options->usage_given && !plan->source->base;
}

errcode_t protection_decide(const struct plan *plan, uint32_t node, bool *is_protected)
{
	const struct tree_verity *verity = verity_of(plan, node);
	const struct ondisk_format *format = &plan->format;
	struct verity_place place;
	errcode_t error = 0;

	*is_protected = false;
	/* The hashes are of the plain contents, which are not known. */
	if (!verity || plan_node(plan, node)->is_encrypted)
		return 0;
	if (!format->verity || !format->extents)
		error = ENOTSUP;
	else if (verity->block_bits > format->block_bits ||
	         (format->block_bits < PROTECTION_USUAL_BLOCK_BITS && may_have_usual_blocks(plan, verity)))
		error = E2BIG;
	else
		error = place_of(plan, node, &place);
	*is_protected = !error;
	/*
	 * After E2BIG the size is chosen again, with blocks of 4 KiB (populate/size/size.c). Linux before 6.3 mounts no
	 * filesystem with the feature verity and smaller blocks.
	 */
	if (verity->is_inherited && !(error == E2BIG && may_have_usual_blocks(plan, verity)))
		return 0;
	return error;
}

char *protection_reason(const struct plan *plan, uint32_t node, errcode_t error)
{
	const struct ondisk_format *format = &plan->format;
	const struct tree_verity *verity = verity_of(plan, node);
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

errcode_t protection_list(struct plan *plan)
{
	const struct tree *tree = plan->source->tree;
	size_t capacity = 0;

	protection_release(plan);
	if (!plan->format.verity || !tree->details)
		return 0;
	for (uint32_t node = 0; node < tree->node_count; node++) {
		if (!plan->placements[node].is_protected || tree_node_is_link(tree, node))
			continue;
		errcode_t error = vector_reserve(&plan->protected_files, &capacity, plan->protected_count + 1ul,
		                                 sizeof(*plan->protected_files));

		if (error)
			return error;
		struct protected_file *file = &plan->protected_files[plan->protected_count++];

		memset(file, 0, sizeof(*file));
		file->node = node;
	}
	return 0;
}

struct protected_file *protection_find(const struct plan *plan, uint32_t node)
{
	size_t index = BISECT(plan->protected_count, n, plan->protected_files[n].node >= node);

	return index < plan->protected_count && plan->protected_files[index].node == node ?
	               &plan->protected_files[index] :
	               NULL;
}

void protection_release(struct plan *plan)
{
	free(TAKE(plan->protected_files));
	plan->protected_count = 0;
}
