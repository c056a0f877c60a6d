/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ext2mb-run's options: all of them stand before the program. */
#include "ext2mb_run_options.h"

#include <string.h>

#include "command/tool.h"

static const char usage[] =
	"Usage: ext2mb-run [options] PROGRAM [ARGUMENT]...\n"
	"Runs a program that writes ext4 with libext2fs, and has libext2mb find its blocks and inodes.\n";

static const char examples[] =
	"\n"
	"Examples:\n"
	"  ext2mb-run --journal fuse2fs disk.img /mnt      a mount without the kernel that a crash does not harm\n"
	"  ext2mb-run --journal debugfs -w -f script disk.img\n"
	"  ext2mb-run mke2fs -t ext4 -d tree disk.img 2G\n";

static const struct option_row rows[] = {
	{ .heading = "Options" },
	{ .name = "journal",
	  .letter = 'j',
	  FIELD(journal),
	  .help = "fuse2fs and debugfs: what an operation, or a command, changes is on disk as a whole or not at all,\n"
	          "through the journal of the filesystem" },
	{ .name = "verbose",
	  .letter = 'v',
	  FIELD(is_verbose),
	  .help = "say on standard error which filesystems the program has opened, and what was done with them" },
	{ 0 },
};

static const struct command_line line = {
	.usage = usage,
	.tables = { rows },
	.epilogue = examples,
};

/* No option takes its argument as a separate word, so the first word without a dash is the program. */
static int count_own(int argument_count, char **arguments)
{
	int count = 1;

	while (count < argument_count && arguments[count][0] == '-' && arguments[count][1])
		if (strcmp(arguments[count++], "--") == 0)
			break;
	return count;
}

void command_parse(int argument_count, char **arguments, struct command *command)
{
	int own = count_own(argument_count, arguments);

	*command = (struct command){ .program = arguments + own };
	command_line_read(&line, own, arguments, command);
	if (own == argument_count)
		usage_error("the program to be run is missing" SEE_HELP);
}
