/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands that allocate and free: open, close, alloc, free, commit, prealloc, sync. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocator/core/allocator.h"
#include "allocator/preallocation/file_search.h"
#include "allocator/preallocation/preallocation_register.h"
#include "listing.h"
#include "requests.h"
#include "words.h"

errcode_t request_open(struct shell *shell)
{
	enum filesystem_access access = FILESYSTEM_READ;
	int option;

	while ((option = getopt(shell->word_count, shell->words, "jw")) != -1) {
		if (option == '?')
			return WRONG_USAGE;
		if (access != FILESYSTEM_JOURNALLED)
			access = option == 'j' ? FILESYSTEM_JOURNALLED : FILESYSTEM_WRITE;
	}
	if (optind + 1 != shell->word_count)
		return WRONG_USAGE;
	if (filesystem_is_open(&shell->filesystem))
		return problem_set_reason(&shell->problem, EBUSY, place_shown(&shell->filesystem.place), "open",
		                          "it is open: close it first");
	/* The new allocator has counted nothing. */
	shell->counted = (struct ext2mb_stats){ .struct_bytes = sizeof(shell->counted) };
	errcode_t error = filesystem_open(&shell->filesystem, shell->words[optind], &shell->where, access,
	                                  &shell->policy, &shell->problem);

	if (!error)
		shell_tell_end(shell);
	return error;
}

errcode_t request_close(struct shell *shell)
{
	return filesystem_close(&shell->filesystem, &shell->problem);
}

errcode_t request_sync(struct shell *shell)
{
	return filesystem_sync(&shell->filesystem, &shell->problem);
}

errcode_t request_commit(struct shell *shell)
{
	return ext2mb_commit(shell->filesystem.mb);
}

/* --- alloc ------------------------------------------------------------------------------------------------------ */

/* The flags of alloc's options, with -i and without. */
static const struct {
	const char *name;
	uint64_t flag;
	uint64_t file_flag;
} flags[] = {
	{ "goal-only", EXT2MB_ALLOC_GOAL_ONLY, 0 }, { "stream", EXT2MB_ALLOC_STREAM, 0 },
	{ "pack", EXT2MB_ALLOC_PACK, 0 },           { "whole", EXT2MB_ALLOC_WHOLE, 0 },
	{ "unwritten", 0, EXT2MB_FILE_UNWRITTEN },
};

struct wish {
	uint64_t goal;
	uint64_t ino; /* 0: not for a file */
	uint64_t parent;
	uint64_t length;
	const char *flags;
};

static errcode_t read_wish(struct shell *shell, struct wish *wish)
{
	const struct geometry *geometry = &shell->filesystem.mb->geometry;
	uint64_t inodes = (uint64_t)geometry->inodes_per_group * geometry->groups;
	errcode_t error = 0;
	int option;

	*wish = (struct wish){ .flags = "" };
	while (!error && (option = getopt(shell->word_count, shell->words, "g:i:p:f:")) != -1) {
		if (option == 'g')
			error = words_number(optarg, 1, geometry->end_block - 1, &wish->goal, &shell->problem);
		else if (option == 'i' || option == 'p')
			error = words_number(optarg, 1, inodes, option == 'i' ? &wish->ino : &wish->parent,
			                     &shell->problem);
		else if (option == 'f')
			wish->flags = optarg;
		else
			return WRONG_USAGE;
	}
	if (error)
		return error;
	if (optind + 1 != shell->word_count)
		return WRONG_USAGE;
	if (wish->parent && !wish->ino)
		return words_refuse(&shell->problem, "-p", "it needs -i");
	return words_length(shell->words[optind], geometry_cluster_blocks(geometry), wish->ino ? UINT32_MAX : INT64_MAX,
	                    &wish->length, &shell->problem);
}

static errcode_t read_flags(const struct wish *wish, uint64_t *value, struct problem *problem)
{
	SCOPE_FREE char *text = strdup(wish->flags);
	char *rest = text;

	*value = 0;
	if (!text)
		return ENOMEM;
	for (char *word; (word = strsep(&rest, ",")) && *wish->flags;) {
		size_t index = 0;

		while (index < sizeof(flags) / sizeof(*flags) && strcmp(flags[index].name, word))
			index++;
		if (index == sizeof(flags) / sizeof(*flags))
			return words_refuse(problem, word, "it is not goal-only, stream, pack, whole or unwritten");
		uint64_t flag = wish->ino ? flags[index].file_flag : flags[index].flag;

		if (!flag)
			return words_refuse(problem, word, wish->ino ? "it goes without -i only" : "it needs -i");
		*value |= flag;
	}
	return 0;
}

static errcode_t alloc_blocks(struct shell *shell, const struct wish *wish, uint64_t value,
                              struct ext2mb_extent *extent)
{
	const struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.goal = wish->goal,
		.count = wish->length,
		.flags = value,
	};

	return ext2mb_alloc(shell->filesystem.worker, &request, extent);
}

/* Allocates the file's next blocks, as if it grew. */
static errcode_t alloc_for_file(struct shell *shell, const struct wish *wish, uint64_t value,
                                struct ext2mb_extent *extent)
{
	struct open_file *file;
	errcode_t error = filesystem_file(&shell->filesystem, (ext2_ino_t)wish->ino, (ext2_ino_t)wish->parent, &file);

	if (error)
		return error;
	const struct ext2mb_file_request request = {
		.struct_bytes = sizeof(request),
		.logical = file->blocks,
		.count = wish->length,
		.hole_start = file->blocks,
		.hole_end = wish->goal ? UINT32_MAX : 0,
		.left_physical = wish->goal,
		.flags = value,
	};
	error = ext2mb_file_alloc(shell->filesystem.worker, file->file, &request, extent);
	if (!error)
		file->blocks += extent->count;
	return error;
}

errcode_t request_alloc(struct shell *shell)
{
	static const struct column columns[] = { { "start", 12 }, { "blocks", 12 }, { "group", 10 }, { 0 } };
	const struct geometry *geometry = &shell->filesystem.mb->geometry;
	struct ext2mb_extent extent;
	struct listing listing;
	struct wish wish;
	uint64_t value;
	errcode_t error = read_wish(shell, &wish);

	if (!error)
		error = read_flags(&wish, &value, &shell->problem);
	if (!error)
		error = wish.ino ? alloc_for_file(shell, &wish, value, &extent) :
		                   alloc_blocks(shell, &wish, value, &extent);
	if (error)
		return error;
	shell->filesystem.is_changed = true;
	listing_begin(&listing, shell->is_json, columns);
	listing_row(&listing,
	            (const struct cell[]){
			    NUMBER_CELL(extent.start),
			    NUMBER_CELL(extent.count),
			    NUMBER_CELL(geometry_position(geometry, extent.start) / geometry->clusters_per_group),
		    });
	return listing_end(&listing);
}

errcode_t request_free(struct shell *shell)
{
	uint64_t start, length;
	errcode_t error = words_number(shell->words[1], 0, INT64_MAX, &start, &shell->problem);

	if (!error)
		error = words_number(shell->words[2], 1, INT64_MAX, &length, &shell->problem);
	if (!error)
		error = ext2mb_free(shell->filesystem.worker, start, length);
	if (!error)
		shell->filesystem.is_changed = true;
	return error;
}

/* --- prealloc --------------------------------------------------------------------------------------------------- */

/* Returns the inode number of the file whose preallocation begins there; 0: small files share it. */
static ext2_ino_t inode_of(const struct open_file *file, uint64_t position)
{
	for (; file; file = file->next) {
		const struct preallocation_list *list = &file->file->owner.list;

		for (uint32_t index = 0; index < list->count; index++)
			if (list->items[index].position == position)
				return file->ino;
	}
	return 0;
}

errcode_t request_prealloc(struct shell *shell)
{
	static const struct column columns[] = {
		{ "start", 12 }, { "blocks", 12 }, { "group", 10 }, { "inode", 10 }, { 0 },
	};
	const struct ext2mb *mb = shell->filesystem.mb;
	const struct geometry *geometry = &mb->geometry;
	size_t found_count = preallocation_register_list(mb, NULL);
	SCOPE_FREE struct preallocation *found = calloc(found_count + 1, sizeof(*found));
	struct listing listing;

	if (!found)
		return ENOMEM;
	preallocation_register_list(mb, found);
	listing_begin(&listing, shell->is_json, columns);
	for (size_t index = 0; index < found_count; index++)
		listing_row(&listing, (const struct cell[]){
					      NUMBER_CELL(geometry_block_at(geometry, found[index].position)),
					      NUMBER_CELL(geometry_to_blocks(geometry, found[index].count)),
					      NUMBER_CELL(found[index].position / geometry->clusters_per_group),
					      NUMBER_CELL(inode_of(shell->filesystem.files, found[index].position)),
				      });
	return listing_end(&listing);
}
