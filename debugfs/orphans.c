/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "allocator/core/allocator.h"
#include "listing.h"
#include "requests.h"
#include "words.h"

static errcode_t list(struct shell *shell)
{
	static const struct column columns[] = {
		{ "inode", 10 }, { "links", 5 }, { "where", -5 }, { "slot", 10 }, { 0 },
	};
	struct filesystem *filesystem = &shell->filesystem;
	struct listing listing;
	errcode_t error = 0;
	ext2_ino_t ino;

	listing_begin(&listing, shell->is_json, columns);
	for (uint32_t index = 0; !error && (ino = ext2mb_orphan_next(filesystem->orphans, &index)); index++) {
		unsigned int links;
		bool is_in_use;

		error = filesystem_inode_links(filesystem, ino, &links, &is_in_use);
		if (!error)
			listing_row(&listing, (const struct cell[]){
						      NUMBER_CELL(ino),
						      NUMBER_CELL(links),
						      TEXT_CELL(index & EXT2MB_ORPHAN_ON_LIST ? "list" : "file"),
						      NUMBER_CELL(index & ~EXT2MB_ORPHAN_ON_LIST),
					      });
	}
	errcode_t output_error = listing_end(&listing);

	return error ? error : output_error;
}

static errcode_t add(struct filesystem *filesystem, ext2_ino_t ino, struct problem *problem)
{
	unsigned int links;
	bool is_in_use;
	uint32_t index;

	if (ino < filesystem->mb->geometry.first_inode)
		return problem_set_reason(problem, EINVAL, NULL, "orphans", "inode %u is the filesystem's own", ino);
	errcode_t error = filesystem_inode_links(filesystem, ino, &links, &is_in_use);
	if (error)
		return error;
	if (!is_in_use)
		return problem_set_reason(problem, ENOENT, NULL, "orphans", "inode %u is not in use", ino);
	index = 0;
	for (ext2_ino_t next; (next = ext2mb_orphan_next(filesystem->orphans, &index)); index++)
		if (next == ino)
			return problem_set_reason(problem, EEXIST, NULL, "orphans", "inode %u is one already", ino);
	return ext2mb_orphan_add(filesystem->orphans, 0, ino, &index);
}

static errcode_t delete (struct filesystem *filesystem, ext2_ino_t ino)
{
	uint32_t index = 0;

	for (ext2_ino_t next; (next = ext2mb_orphan_next(filesystem->orphans, &index)); index++)
		if (next == ino)
			return ext2mb_orphan_delete(filesystem->orphans, index, ino);
	return EXT2MB_ET_ORPHAN_ABSENT;
}

errcode_t request_orphans(struct shell *shell)
{
	struct filesystem *filesystem = &shell->filesystem;
	bool is_to_add = shell->word_count == 3 && strcmp(shell->words[1], "add") == 0;
	uint64_t ino = 0;

	if (shell->word_count == 2 || (shell->word_count == 3 && !is_to_add && strcmp(shell->words[1], "del")))
		return WRONG_USAGE;
	if (shell->word_count == 3 && !filesystem->is_writable)
		return problem_set_reason(&shell->problem, EROFS, NULL, "orphans",
		                          "the filesystem was not opened with -w");
	errcode_t error =
		shell->word_count == 3 ? words_number(shell->words[2], 1, UINT32_MAX, &ino, &shell->problem) : 0;

	if (!error)
		error = filesystem_read_orphans(filesystem, &shell->problem);
	if (error || shell->word_count == 1)
		return error ? error : list(shell);
	error = is_to_add ? add(filesystem, (ext2_ino_t)ino, &shell->problem) : delete (filesystem, (ext2_ino_t)ino);
	if (!error)
		filesystem->is_changed = true;
	return error;
}
