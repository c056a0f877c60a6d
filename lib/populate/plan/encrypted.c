/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/plan/encrypted.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <uuid/uuid.h>

#include "populate/format/mke2fs.h"

static errcode_t add_node(struct scanned *scanned, uint32_t number, const struct workplace *work)
{
	const struct tree *tree = scanned->tree;
	const struct tree_node *node = &tree->nodes[number];
	const uint32_t block_bytes = tree->origins[node->origin].encryption->block_bytes;
	const uint32_t inode_number = tree_detail(tree, node)->inode_number;
	struct scanned_encrypted *found = &scanned->encrypted;

	if (!found->first_node) {
		found->first_node = number;
		found->block_bytes = block_bytes;
	}
	if (inode_number && !found->first_keeper)
		found->first_keeper = number;
	if (inode_number > found->highest_number)
		found->highest_number = inode_number;
	if (block_bytes == found->block_bytes)
		return 0;
	SCOPE_FREE char *path = tree_path(tree, number);
	SCOPE_FREE char *other = tree_path(tree, found->first_node);

	return problem_set_reason(work->problem, EINVAL, path, "cannot be stored",
	                          "it is encrypted in blocks of %" PRIu32 " bytes, and %s in blocks of %" PRIu32,
	                          block_bytes, other ? other : "another file", found->block_bytes);
}

static bool has_encryption(const struct tree *tree)
{
	for (uint32_t origin = 0; origin < tree->origin_count; origin++)
		if (tree->origins[origin].encryption)
			return true;
	return false;
}

errcode_t encrypted_find(struct scanned *scanned, const struct workplace *work)
{
	const struct tree *tree = scanned->tree;
	errcode_t error = 0;

	scanned->encrypted = (struct scanned_encrypted){ 0 };
	/* Most trees have no encrypted files, and are not searched. */
	for (uint32_t node = 1; has_encryption(tree) && !error && node < tree->node_count; node++)
		if (tree->nodes[node].is_encrypted)
			error = add_node(scanned, node, work);
	if (error || !scanned->encrypted.first_node || !mke2fs_is_told_not(work->options, "encrypt"))
		return error;
	SCOPE_FREE char *path = tree_path(tree, scanned->encrypted.first_node);

	return problem_set_reason(
		work->problem, EINVAL, path, "cannot be stored",
		"it is encrypted, and -O ^encrypt refuses that: leave out this option, or the file (--exclude)");
}

/* True if the new filesystem gets this UUID. */
static bool keeps_uuid(const struct plan *plan, const uint8_t uuid[16])
{
	const struct populate_options *options = plan->options;
	uuid_t given;

	return !uuid_parse(options->uuid ? options->uuid : plan->source->identity.uuid, given) &&
	       !uuid_compare(given, uuid);
}

/*
 * Refuses files whose encryption depends on a UUID that the new filesystem does not get. So all such files come from
 * one filesystem, or from several with one UUID.
 */
static errcode_t check_uuid(const struct plan *plan, const struct workplace *work)
{
	const struct tree *tree = plan->source->tree;

	for (uint32_t number = plan->source->encrypted.first_keeper; number && number < tree->node_count; number++) {
		const struct tree_node *node = &tree->nodes[number];
		char text[37];

		if (!node->is_encrypted || !tree_detail(tree, node)->inode_number)
			continue;
		const uint8_t *uuid = tree->origins[node->origin].encryption->filesystem_id;

		if (keeps_uuid(plan, uuid))
			continue;
		SCOPE_FREE char *path = tree_path(tree, number);

		uuid_unparse_lower(uuid, text);
		return problem_set_reason(
			work->problem, EINVAL, path, "cannot be stored",
			"its policy (IV_INO_LBLK) encrypts it with the filesystem's UUID and its inode "
			"number: -U %s keeps the UUID",
			text);
	}
	return 0;
}

errcode_t encrypted_check(const struct plan *plan, const struct workplace *work)
{
	const struct scanned_encrypted *encrypted = &plan->source->encrypted;

	if (!encrypted->first_node)
		return 0;
	if (plan->format.block_bytes == encrypted->block_bytes)
		return check_uuid(plan, work);
	SCOPE_FREE char *path = tree_path(plan->source->tree, encrypted->first_node);

	return problem_set_reason(work->problem, EINVAL, path, "cannot be stored",
	                          "it is encrypted in blocks of %" PRIu32
	                          " bytes, and the new filesystem has blocks of "
	                          "%" PRIu32 ": -b %" PRIu32 " makes them as large, --exclude leaves it out",
	                          encrypted->block_bytes, plan->format.block_bytes, encrypted->block_bytes);
}
