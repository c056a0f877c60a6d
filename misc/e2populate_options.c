// SPDX-License-Identifier: GPL-2.0-or-later
/* The options that e2populate has in addition to those of mke2fs(8), and the rest of those. */
#include "e2populate_options.h"

#include <stdlib.h>
#include <string.h>

#include "support/text/units.h"

/* With blocks of 4096 bytes no filesystem is larger; sums with more could overflow. */
#define MOST_FREE_BYTES (UINT64_C(1) << 60)

static void take_free(struct command *command, const struct taken_option *option)
{
	const char *argument = option->argument;
	struct populate_options *options = &command->options;
	size_t length = strlen(argument);
	SCOPE_FREE char *number = strndup(argument, length ? length - 1 : 0);
	uint64_t percent = 0;

	options->free_bytes = 0;
	options->free_percent = 0;
	if (length && argument[length - 1] == '%') {
		if (!number || units_parse_number(number, 0, 99, &percent))
			usage_error("--free: %s is not a percentage from 0%% to 99%%", argument);
		options->free_percent = (unsigned int)percent;
	} else if (units_parse_bytes(argument, 1, &options->free_bytes) || options->free_bytes > MOST_FREE_BYTES) {
		usage_error("--free: %s is neither a size nor a percentage", argument);
	}
}

/* In the order of --help. */
const struct option_row e2populate_options[] = {
	{ .heading = "What is taken from SOURCE" },
	{ .letter = 'd', .argument = "SOURCE", .kind = ARGUMENT_FILE, .take = take_source,
	  .help = "the directory, the archive (tar, cpio, zip, also compressed; -: standard input; others\n"
	          "as KIND:FILE: 7z, ar, cab, iso, lha, rar, rpm, warc, xar), the manifest (FILE.mtree,\n"
	          "mtree:FILE) or the OCI image (oci:DIR[:REF]) to put into the filesystem; several are\n"
	          "laid over each other, the last one on top" },
	{ .name = "exclude", .argument = "PATTERN", .kind = ARGUMENT_TEXT, .take = take_exclude,
	  .help = "leave out what matches, as in .gitignore; repeatable" },
	{ .name = "exclude-from", .argument = "FILE", .kind = ARGUMENT_FILE, .take = take_exclude_from,
	  .help = "the same for each line of FILE" },
	{ .name = "one-file-system", FIELD(options.one_file_system),
	  .help = "directories on which something is mounted stay empty" },
	{ .name = "no-xattrs", FIELD(options.without_xattrs),
	  .help = "no extended attributes, ACLs or capabilities" },
	{ .name = "flags", .argument = "keep|none", .kind = ARGUMENT_WORDS, .words = "keep|none",
	  FIELD(options.without_flags),
	  .help = "keep file flags, which chattr(1) sets (the default), or leave them out" },
	{ .name = "whiteouts", .argument = "FORM", .kind = ARGUMENT_WORDS, .word = whiteouts_name,
	  .take = take_whiteouts,
	  .help = "how a SOURCE removes files of those before it (oci: .wh.NAME; to-overlayfs: oci,\n"
	          "kept as overlayfs's own): " },
	{ .heading = "Owners and metadata" },
	{ .name = "owner-map", .argument = "FILE", .kind = ARGUMENT_FILE, .take = take_owner_map,
	  .help = "other owners by rules, lines of FROM TO, each USER, USER:GROUP or\n"
	          ":GROUP; names are those of SOURCE/etc/passwd and group" },
	{ .name = "uid-map", .argument = "FROM:TO:COUNT", .kind = ARGUMENT_TEXT, .take = take_uid_map,
	  .help = "users by ranges, as in a user namespace; repeatable" },
	{ .name = "gid-map", .argument = "FROM:TO:COUNT", .kind = ARGUMENT_TEXT, .take = take_gid_map,
	  .help = "the same for groups" },
	{ .name = "root-owned", FIELD(owners.root_owned), .take = take_root_owned,
	  .help = "everything belongs to 0:0 (also --all-root)" },
	{ .name = "all-root", FIELD(owners.root_owned), .take = take_root_owned },
	{ .name = "metadata", .argument = "FILE", .kind = ARGUMENT_FILE, .take = take_metadata,
	  .help = "an mtree(5) manifest: owners, modes, times, xattrs of single files;\n"
	          "devices, directories and links that SOURCE lacks are made" },
	{ .name = "casefold", .argument = "DIRECTORY", .kind = ARGUMENT_TEXT, .take = take_casefold,
	  .help = "DIRECTORY of the source (/ is all of it) and what is below become\n"
	          "case-insensitive, as with chattr +F; needs -O casefold" },
	{ .heading = "Size" },
	{ .name = "free", .argument = "SIZE|N%", .kind = ARGUMENT_TEXT, .take = take_free,
	  .help = "space that is left for anyone (as df shows it), in bytes, with a\n"
	          "suffix K, M, G, T, or in percent of the filesystem" },
	{ .name = "free-inodes", .argument = "N", .kind = ARGUMENT_NUMBER, .maximum = UINT32_MAX,
	  FIELD(options.free_inodes), .help = "inodes that are left" },
	{ .name = "size-only", FIELD(options.size_only), .help = "print how large it would be, and write nothing" },
	{ .heading = "Work and output" },
	{ .letter = 'F', .take = take_mke2fs_option, .help = "do not ask before what IMAGE holds is lost" },
	{ .name = "in-place", FIELD(options.in_place),
	  .help = "write into IMAGE if it is a file that exists, as mke2fs does, instead of\nmaking a new one" },
	THREADS_ROW(options.threads),
	{ .name = "stable-from", .argument = "OLD", .kind = ARGUMENT_IMAGE, FIELD(options.stable_from),
	  .help = "what did not change since the image OLD keeps its blocks, so that\n"
	          "the two differ in few; UUID and sizes are OLD's unless given" },
	PROGRESS_ROW(progress),
	{ .name = "verify", FIELD(options.verify),
	  .help = "check the image with e2fsck(8) and compare everything in it with\n"
	          "SOURCE before it gets its name" },
	{ .name = "report", .argument = "FORM", .kind = ARGUMENT_WORDS, .words = "text|json", FIELD(json),
	  .help = "text or json: what was built, on standard output" },
	{ .letter = 'q', FIELD(quiet), .help = "print no report" },
	{ .letter = 'v', FIELD(verbose), .help = "also print what mke2fs(8) says of the filesystem" },
	{ 0 },
};

#define OTHER(character, what, words)                                                                        \
	{ .letter = (character), .argument = (what), .kind = (what) ? ARGUMENT_TEXT : ARGUMENT_NONE,         \
	  .take = take_mke2fs_option, .help = (words) }

/* Without words: refused. */
const struct option_row other_mke2fs_options[] = {
	{ .heading = "Also of mke2fs(8)", .is_brief = true },
	OTHER('M', "MOUNT-POINT", "where it was last mounted"),
	OTHER('c', NULL, "check for bad blocks"),
	OTHER('l', "FILE", "bad blocks from a file"),
	OTHER('e', "ERRORS", "what the kernel does on errors"),
	OTHER('j', NULL, "with a journal"),
	OTHER('r', "REVISION", "of the filesystem's format"),
	OTHER('s', "SPARSE", "few copies of the superblock"),
	OTHER('o', "CREATOR", "the operating system that made it"),
	OTHER('C', "CLUSTER-SIZE", "in bytes, with bigalloc"),
	OTHER('D', NULL, "direct I/O"),
	OTHER('K', NULL, "do not discard"),
	OTHER('n', NULL, NULL),
	OTHER('S', NULL, NULL),
	OTHER('z', "UNDO-FILE", NULL),
	{ 0 },
};
