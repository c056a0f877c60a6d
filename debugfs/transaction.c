/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "listing.h"
#include "requests.h"

static const char *const kinds[] = {
	[PREVIEW_DESCRIPTOR] = "descriptor block",
	[PREVIEW_COMMIT_BLOCK] = "commit block",
	[PREVIEW_SUPERBLOCK] = "superblock",
	[PREVIEW_DESCRIPTORS] = "group descriptors",
	[PREVIEW_BLOCK_BITMAP] = "block bitmap",
	[PREVIEW_INODE_BITMAP] = "inode bitmap",
	[PREVIEW_INODE_TABLE] = "inode table",
	[PREVIEW_OTHER] = "file or directory",
	[PREVIEW_BACKUP] = "backup",
};

static struct cell number_or_none(uint64_t number, bool is_there)
{
	return is_there ? (struct cell)NUMBER_CELL(number) : (struct cell)TEXT_CELL("-");
}

static errcode_t show_block(void *context, const struct preview_block *block)
{
	bool is_in_log = block->journal_block;
	bool is_logs_own = block->kind == PREVIEW_DESCRIPTOR || block->kind == PREVIEW_COMMIT_BLOCK;
	bool is_of_group = block->kind >= PREVIEW_BLOCK_BITMAP && block->kind <= PREVIEW_INODE_TABLE;

	listing_row(context, (const struct cell[]){
				     number_or_none(block->journal_block, is_in_log),
				     number_or_none(block->log_block, is_in_log),
				     number_or_none(block->block, !is_logs_own),
				     number_or_none(block->group, is_of_group),
				     TEXT_CELL(kinds[block->kind]),
			     });
	return 0;
}

errcode_t request_transaction(struct shell *shell)
{
	static const struct column columns[] = {
		{ "journal", 8 }, { "at", 12 }, { "block", 12 }, { "group", 8 }, { "what", -17 }, { 0 },
	};
	struct listing listing;

	if (!shell->filesystem.is_journalled)
		return problem_set_reason(&shell->problem, EINVAL, NULL, "transaction",
		                          "the filesystem was not opened with -j");
	listing_begin(&listing, shell->is_json, columns);
	errcode_t error = filesystem_preview(&shell->filesystem, show_block, &listing, &shell->problem);
	errcode_t output_error = listing_end(&listing);

	return error ? error : output_error;
}
