/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "command/mke2fs_options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/text/units.h"

/* Numbers and sizes are passed on unchanged; mke2fs checks them. */
#define PASSED_ON(character, what, words)                                                                              \
	{                                                                                                              \
		.letter = (character), .argument = (what), .kind = ARGUMENT_TEXT, .set = set_mke2fs_option,            \
		.help = (words)                                                                                        \
	}

const struct option_row mke2fs_options[] = {
	{ .heading = "Passed on to mke2fs(8)", .is_brief = true },
	{ .letter = 't',
	  .argument = "TYPE",
	  .kind = ARGUMENT_TEXT,
	  .words = "ext2|ext3|ext4",
	  .set = set_mke2fs_option,
	  .help = "ext2, ext3 or ext4" },
	PASSED_ON('b', "BLOCK-SIZE", "in bytes"),
	PASSED_ON('I', "INODE-SIZE", "in bytes"),
	PASSED_ON('N', "INODES", "how many"),
	PASSED_ON('i', "BYTES-PER-INODE", "how many bytes of the filesystem for each inode"),
	PASSED_ON('m', "RESERVED-PERCENT", "of the blocks, for the super-user"),
	PASSED_ON('L', "LABEL", "the volume's name"),
	PASSED_ON('U', "UUID", "the filesystem's"),
	PASSED_ON('O', "FEATURES", "features to be set, or with ^ not to be set"),
	PASSED_ON('E', "EXTENDED-OPTIONS", "extended options"),
	PASSED_ON('J', "JOURNAL-OPTIONS", "options of the journal"),
	PASSED_ON('T', "USAGE-TYPE", "what the filesystem is for"),
	PASSED_ON('g', "BLOCKS-PER-GROUP", "how many blocks a group has"),
	PASSED_ON('G', "GROUPS", "how many groups a flex group has"),
	{ 0 },
};

void mke2fs_arguments_add(struct argument_list *arguments, char letter, const char *argument)
{
	char *text = NULL, *empty = NULL;

	if (asprintf(&text, "-%c%s", letter, argument ? argument : "") < 0)
		exit_without_memory();
	argument_list_add(arguments, text);
	if (!argument || *argument)
		return;
	/* Attached to its letter, nothing would be the next word. */
	empty = strdup("");
	if (!empty)
		exit_without_memory();
	argument_list_add(arguments, empty);
}

void mke2fs_arguments_free(struct argument_list *arguments)
{
	for (size_t index = 0; index < arguments->count; index++)
		free(arguments->list[index]);
	free(arguments->list);
}

const char *mke2fs_size(const char *size, char text[MKE2FS_SIZE_BYTES])
{
	uint64_t bytes;
	char *end;

	errno = 0;
	strtoull(size, &end, 0);
	bool has_unit = *end && strchr("sSkKmMgGtT", *end);

	if (isdigit((unsigned char)*size) && !errno && !end[has_unit])
		return size;
	/* Only with a letter: mke2fs counts blocks without one. */
	if (units_parse_bytes(size, 1, &bytes) || isdigit((unsigned char)size[strlen(size) - 1]))
		return NULL;
	snprintf(text, MKE2FS_SIZE_BYTES, "%" PRIu64 "K", bytes / 1024);
	return text;
}
