/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/details.h"

#include <errno.h>
#include <string.h>

#include "support/vector.h"

const struct tree_detail tree_no_detail;

static bool says_something(const struct tree_detail *detail)
{
	return detail->atime.is_known || detail->ctime.is_known || detail->crtime.is_known || detail->project ||
	       detail->inode_number || detail->generation || detail->verity || detail->unwritten || detail->is_unloaded;
}

static bool are_equal_times(const struct tree_time *one, const struct tree_time *other)
{
	return one->seconds == other->seconds && one->nanoseconds == other->nanoseconds &&
	       one->is_known == other->is_known;
}

static bool are_equal(const struct tree_detail *one, const struct tree_detail *other)
{
	return are_equal_times(&one->atime, &other->atime) && are_equal_times(&one->ctime, &other->ctime) &&
	       are_equal_times(&one->crtime, &other->crtime) && one->project == other->project &&
	       one->inode_number == other->inode_number && one->generation == other->generation &&
	       one->verity == other->verity && one->unwritten == other->unwritten &&
	       one->is_unloaded == other->is_unloaded;
}

errcode_t tree_add_detail(struct tree *tree, const struct tree_detail *detail, uint32_t *number)
{
	size_t count = tree->detail_count ? tree->detail_count : 1;

	*number = 0;
	if (!says_something(detail))
		return 0;
	if (count > 1 && are_equal(detail, &tree->details[count - 1])) {
		*number = (uint32_t)count - 1;
		return 0;
	}
	if (count > UINT32_MAX)
		return EOVERFLOW;
	errcode_t error = vector_reserve(&tree->details, &tree->detail_capacity, count + 1, sizeof(*tree->details));

	if (error)
		return error;
	tree->details[0] = tree_no_detail;
	tree->details[count] = *detail;
	*number = (uint32_t)count;
	tree->detail_count = count + 1;
	return 0;
}

static bool are_equal_verities(const struct tree_verity *one, const struct tree_verity *other)
{
	return one->algorithm == other->algorithm && one->block_bits == other->block_bits &&
	       one->salt_bytes == other->salt_bytes && !memcmp(one->salt, other->salt, one->salt_bytes) &&
	       one->is_inherited == other->is_inherited && one->has_digest == other->has_digest &&
	       (!one->has_digest || !memcmp(one->digest, other->digest, verity_digest_bytes(one->algorithm))) &&
	       one->signature_bytes == other->signature_bytes &&
	       (!one->signature_bytes || !memcmp(one->signature, other->signature, one->signature_bytes));
}

const struct tree_verity *tree_keep_verity(struct tree *tree, const struct tree_verity *verity)
{
	const struct tree_verity *last = tree->detail_count ? tree->details[tree->detail_count - 1].verity : NULL;

	if (last && are_equal_verities(last, verity))
		return last;
	struct tree_verity *kept = arena_alloc(&tree->memory, sizeof(*kept) + verity->signature_bytes);

	if (!kept)
		return NULL;
	*kept = *verity;
	memset(kept->salt + kept->salt_bytes, 0, sizeof(kept->salt) - kept->salt_bytes);
	kept->signature = verity->signature_bytes ? kept + 1 : NULL;
	if (verity->signature_bytes)
		memcpy(kept + 1, verity->signature, verity->signature_bytes);
	return kept;
}
