/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2populate's command line: mke2fs(8)'s options are passed on, ours go where their rows say. */
#include "e2populate_options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "dm_verity_options.h"
#include "layer_cache_command.h"
#include "populate/format/mke2fs.h"
#include "source/sources.h"
#include "source_limits_option.h"
#include "support/run/memory.h"
#include "support/io/same_file.h"
#include "support/text/units.h"
#include "verity_options.h"

/* Few sources take more requests at once, and each reader takes memory and file descriptors. */
#define MOST_READERS 256

/* Inodes have 34 bits for times from 1901-12-13 to 2446-05-10. */
#define LAST_SECOND 0x37fffffffll
/* e2fsck(8) takes those from 2310-04-04 to 2378-04-22 for times before 1970 (ondisk/inode.c). */
#define FIRST_DOUBTED_SECOND 0x280000000ll
#define LAST_DOUBTED_SECOND 0x2ffffffffll

/* Bytes of ext2_super_block's s_last_mounted. */
#define MOUNT_POINT_BYTES 64

/* The largest filesystem with blocks of 4096 bytes; sums with larger values could overflow. */
#define MOST_FREE_BYTES (UINT64_C(1) << 60)

/* Percent of the memory available: an image in memory takes as much again. */
#define USUAL_MEMORY_PERCENT 25

static const char usage[] =
	"Usage: e2populate [mke2fs options] -d SOURCE [options] IMAGE [SIZE]\n"
	"Makes an ext2, ext3 or ext4 filesystem that holds SOURCE, with several threads.\n"
	"\n"
	"  IMAGE                a file, made anew under a temporary name and renamed when whole, or a block device;\n"
	"                       called as mke2fs or mkfs.ext4, a file that exists is written in place\n"
	"  SIZE                 as mke2fs(8) reads it; without it a new file becomes just large enough, and what is\n"
	"                       written in place keeps its size\n";

static const char epilogue[] =
	"\n"
	"-t is ext4 unless -t or -j says otherwise.\n"
	"SOURCE_DATE_EPOCH, if set, makes the image depend on SOURCE and options alone, its UUID included.\n"
	"\n"
	"Examples:\n"
	"  e2populate -d rootfs root.img                         ext4, just large enough for the folder rootfs\n"
	"  e2populate -L root -d rootfs.tar.zst root.img 2G      2 GiB, labelled root, from an archive\n"
	"  e2populate --free=10% --verify -d oci:image root.img  from an OCI image, a tenth free, compared\n"
	"  e2populate -d old.img new.img                         defragmented, and as small as it can be\n";

/* --- The source: what is taken, with which owners and metadata ----------------------------------------------- */

/* Ends the program with `status`: an error of the command line is wrong usage, but a file that it names may be at
 * fault, too. */
static void check(struct command *command, errcode_t error, int status)
{
	if (!error)
		return;
	print_problem(&command->problem);
	exit(status);
}

static void add_source(struct command *command, const struct taken_option *option)
{
	const char *argument = option->argument;
	bool is_input = source_is_standard_input(argument);

	if (!*argument)
		usage_error("-d \"\": no source is named");
	if (source_names_nothing(argument))
		usage_error("-d %s: no file is named", argument);
	for (size_t i = 0; i + 1 < command->sources.count; i++)
		if (is_input && source_is_standard_input(command->sources.list[i]))
			usage_error("-d %s: standard input can be read only once", argument);
}

static struct exclude *needed_patterns(struct exclude **patterns)
{
	if (!*patterns && exclude_create(patterns))
		exit_without_memory();
	return *patterns;
}

static void add_exclude(struct command *command, const struct taken_option *option)
{
	check(command,
	      exclude_add(needed_patterns(&command->exclude), option->argument, "--exclude", &command->problem),
	      EXIT_USAGE);
}

static void add_excludes_from(struct command *command, const struct taken_option *option)
{
	check(command, exclude_add_file(needed_patterns(&command->exclude), option->argument, &command->problem),
	      EXIT_FAILURE);
}

static void add_verity(struct command *command, const struct taken_option *option)
{
	check(command, exclude_add(needed_patterns(&command->verity), option->argument, "--verity", &command->problem),
	      EXIT_USAGE);
}

static void set_verity_option(struct command *command, const struct taken_option *option)
{
	verity_option_take(&command->options.verity, option);
}

static void set_owner_map(struct command *command, const struct taken_option *option)
{
	check(command, owner_map_add_file(&command->owners, option->argument, &command->problem), EXIT_FAILURE);
}

static void set_id_map(struct command *command, const struct taken_option *option)
{
	bool is_user = strcmp(option->row->name, "uid-map") == 0;

	check(command,
	      owner_map_add_range(&command->owners, is_user ? ACCOUNT_USER : ACCOUNT_GROUP, option->argument,
	                          is_user ? "--uid-map" : "--gid-map", &command->problem),
	      EXIT_USAGE);
}

static const struct {
	const char *name;
	struct source_layering layering;
} whiteouts[] = {
	{ "none", { .whiteouts = WHITEOUTS_NONE, .keeping = WHITEOUTS_DROPPED } },
	{ "oci", { .whiteouts = WHITEOUTS_OCI, .keeping = WHITEOUTS_DROPPED } },
	{ "overlayfs", { .whiteouts = WHITEOUTS_OVERLAYFS, .keeping = WHITEOUTS_DROPPED } },
	{ "to-overlayfs", { .whiteouts = WHITEOUTS_OCI, .keeping = WHITEOUTS_AS_OVERLAYFS } },
};

static const char *whiteouts_name(unsigned int index)
{
	return index < sizeof(whiteouts) / sizeof(*whiteouts) ? whiteouts[index].name : NULL;
}

static void set_whiteouts(struct command *command, const struct taken_option *option)
{
	command->options.layering = whiteouts[option->value].layering;
}

static void set_metadata(struct command *command, const struct taken_option *option)
{
	if (command->options.metadata)
		usage_error("--metadata is given twice: put all lines into one file");
	command->options.metadata = option->argument;
}

/* "64M" or "10%". Returns the percentage; 0 for a size, which *bytes gets. */
static uint64_t read_share(const struct taken_option *option, unsigned int most_percent, uint64_t most_bytes,
                           uint64_t *bytes)
{
	const char *argument = option->argument, *name = option->row->name;
	size_t length = strlen(argument);
	SCOPE_FREE char *number = strndup(argument, length ? length - 1 : 0);
	uint64_t percent = 0;

	*bytes = 0;
	if (length && argument[length - 1] == '%') {
		if (!number || units_parse_number(number, 0, most_percent, &percent))
			usage_error("--%s: %s is not a percentage from 0%% to %u%%", name, argument, most_percent);
	} else if (units_parse_bytes(argument, 1, bytes) || *bytes > most_bytes) {
		usage_error("--%s: %s is neither a size nor a percentage", name, argument);
	}
	return percent;
}

static void set_free(struct command *command, const struct taken_option *option)
{
	struct populate_options *options = &command->options;

	options->free_percent = (unsigned int)read_share(option, 99, MOST_FREE_BYTES, &options->free_bytes);
}

static void set_memory(struct command *command, const struct taken_option *option)
{
	uint64_t bytes, percent = read_share(option, 100, UINT64_MAX, &bytes);

	command->memory_given = true;
	command->options.memory_bytes = percent ? memory_available() / 100 * percent : bytes;
}

static void set_limit(struct command *command, const struct taken_option *option)
{
	command->metadata_limit_given |= source_limits_read(option->argument, &command->options.limits);
}

static void set_zeros(struct command *command, const struct taken_option *option)
{
	(void)option;
	command->zeros_given = true;
}

static void set_reflink(struct command *command, const struct taken_option *option)
{
	command->reflink_given = option->argument;
}

/* In the order of the option's words. */
static void set_labels(struct command *command, const struct taken_option *option)
{
	static const enum label_choice choices[] = { LABELS_OF_RULES, LABELS_OF_SOURCE, LABELS_LEFT_OUT };

	command->options.labels.choice = choices[option->value];
}

static void choose_labels(const struct command *command)
{
	const struct label_options *labels = &command->options.labels;

	if (labels->choice == LABELS_OF_RULES && !labels->file_contexts)
		usage_error("--labels=rules: the rules are missing: --file-contexts=FILE");
	if (labels->choice == LABELS_LEFT_OUT && labels->file_contexts)
		usage_error("--labels=none leaves nothing for --file-contexts");
	if (labels->prefix && !labels->file_contexts)
		usage_error("--context-prefix works only with --file-contexts");
}

static void choose_against(struct command *command)
{
	against_check(&command->against);
	if (command->against.old && command->options.size_only)
		usage_error("--size-only makes no image that --against could compare");
	const char *const others[] = { command->options.image, command->against.old, command->options.dm_verity.target,
		                       command->options.dm_verity.root_hash_path };

	for (size_t i = 0; command->against.ranges && i < sizeof(others) / sizeof(*others); i++)
		if (others[i] && would_be_same_file(command->against.ranges, others[i]))
			usage_error("--against-ranges: %s is another file of this run", command->against.ranges);
	command->options.against = command->against.old;
	command->options.against_chunk_bytes = command->against.chunk_bytes;
}

static void set_layout(struct command *command, const struct taken_option *option)
{
	(void)option;
	command->layout_given = true;
}

/* Layers are placed so that they can be shared, and what is shared is not read to look for zeros. */
static void choose_layout(struct command *command)
{
	struct populate_options *options = &command->options;

	if (options->layer_cache && !command->layout_given)
		options->layout = LAYOUT_LAYERS;
	if (options->layout == LAYOUT_LAYERS && !command->zeros_given)
		options->zeros_of_source = true;
	if (options->keeps_hidden && !options->layer_cache)
		usage_error("--keep-hidden works only with --layer-cache: elsewhere nothing knows what is hidden");
	if (options->keeps_hidden && options->layout != LAYOUT_LAYERS)
		usage_error("--keep-hidden works only with --layout=layers");
	if (options->keeps_hidden && options->stable_from)
		usage_error("--keep-hidden: with --stable-from blocks keep other distances than in the layers");
}

/* Sharing saves nothing if every byte is read anyway. */
static void choose_reflink(struct command *command)
{
	struct populate_options *options = &command->options;

	if (!options->zeros_of_source && command->reflink_given && options->reflink != REFLINK_NEVER)
		usage_error("--reflink=%s: it works only with --zeros=source: otherwise all data are read",
		            command->reflink_given);
	if (!options->zeros_of_source)
		options->reflink = REFLINK_NEVER;
	if (options->reflink == REFLINK_ALWAYS && options->android_sparse)
		usage_error("--reflink=always: an Android sparse image shares no blocks");
}

/* --- Options of mke2fs(8) ----------------------------------------------------------------------------------------- */

/* mke2fs obeys only its last -E: here they add up. */
static void add_extended(struct command *command, const char *argument)
{
	char *joined = NULL;

	if (asprintf(&joined, "%s%s%s", command->extended ? command->extended : "", command->extended ? "," : "",
	             argument) < 0)
		exit_without_memory();
	free(command->extended);
	command->extended = joined;
}

/* mke2fs truncates them, with a warning that is not shown here, or without one. */
static void check_length(const struct command *command, int option, const char *argument, size_t most_bytes)
{
	if (strlen(argument) <= most_bytes)
		return;
	if (!is_stand_in(command))
		usage_error("-%c: %s is longer than %zu bytes", option, argument, most_bytes);
	fprintf(stderr, "%s: -%c: longer than %zu bytes, and cut there\n", tool_name, option, most_bytes);
}

void set_mke2fs_option(struct command *command, const struct taken_option *option)
{
	const char letter = option->row->letter;
	const char *argument = option->argument;

	switch (letter) {
	case 'z':
		usage_error("-z records what mke2fs writes and no more, so it cannot be combined with -d");
	case 'n':
	case 'S':
		usage_error("-%c makes no filesystem, so it cannot be combined with -d", letter);
	case 'E':
		add_extended(command, argument);
		return;
	case 'F':
		command->force = true;
		break;
	case 'L':
		check_length(command, letter, argument, EXT2_LABEL_LEN);
		break;
	case 'M':
		check_length(command, letter, argument, MOUNT_POINT_BYTES);
		break;
	case 'U':
		command->options.uuid = argument;
		return;
	case 'c':
		command->options.bad_block_checks++;
		return;
	case 'b':
		command->options.block_size_given = true;
		break;
	case 't':
	case 'j':
	case 'J':
		command->type_given = true;
		break;
	case 'N':
		/* 0, which is Buildroot's default, asks mke2fs for its usual number. */
		if (strcmp(argument, "0") == 0)
			return;
		command->options.inodes_fixed = true;
		break;
	case 'T':
		command->options.usage_given = true;
		command->options.inodes_given = true;
		break;
	case 'i':
		command->options.inodes_given = true;
		break;
	}
	mke2fs_arguments_add(&command->mke2fs, letter, argument);
}

/* --- The tables --------------------------------------------------------------------------------------------------- */

/* In the order of --help. */
static const struct option_row own_rows[] = {
	{ .heading = "What is taken from SOURCE" },
	{ .letter = 'd',
	  .argument = "SOURCE",
	  .kind = ARGUMENT_FILE,
	  FIELD(sources),
	  .set = add_source,
	  .help = "the directory, the archive (tar, cpio, zip, also compressed; -: standard input; others\n"
	          "as KIND:FILE: 7z, ar, cab, iso, lha, rar, rpm, warc, xar), the manifest (FILE.mtree,\n"
	          "mtree:FILE), the OCI image (oci:DIR[:REF]) or the image or device with ext2, ext3 or\n"
	          "ext4 (image:FILE[?offset=N,noload] where it is not told by itself) to put into the\n"
	          "filesystem; several are laid over each other, the last one on top" },
	{ .name = "exclude",
	  .argument = "PATTERN",
	  .kind = ARGUMENT_TEXT,
	  .set = add_exclude,
	  .help = "leave out what matches, as in .gitignore; repeatable" },
	{ .name = "exclude-from",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  .set = add_excludes_from,
	  .help = "the same for each line of FILE" },
	{ .name = "one-file-system",
	  FIELD(options.one_file_system),
	  .help = "directories on which something is mounted stay empty" },
	{ .name = "no-xattrs", FIELD(options.without_xattrs), .help = "no extended attributes, ACLs or capabilities" },
	{ .name = "flags",
	  .argument = "keep|none",
	  .kind = ARGUMENT_WORDS,
	  .words = "keep|none",
	  FIELD(options.without_flags),
	  .help = "keep file flags, which chattr(1) sets (the default), or leave them out" },
	{ .name = "times",
	  .argument = "mtime|all",
	  .kind = ARGUMENT_WORDS,
	  .words = "mtime|all",
	  FIELD(options.all_times),
	  .help = "all times of a file are that of its modification (the default), or access,\n"
	          "change and creation are those of SOURCE where it has them" },
	{ .name = "zeros",
	  .argument = "contents|source",
	  .kind = ARGUMENT_WORDS,
	  .words = "contents|source",
	  FIELD(options.zeros_of_source),
	  .set = set_zeros,
	  .help = "what becomes holes: holes of SOURCE and zeros that its data hold (the\n"
	          "default), or only holes of SOURCE, and its data are not looked at" },
	{ .name = "limit",
	  .argument = "LIST",
	  .kind = ARGUMENT_TEXT,
	  .words = SOURCE_LIMITS_WORDS,
	  .set = set_limit,
	  .help = "how much archives, manifests, layers and images may hold together: names=N\n"
	          "(20000000), unpacked=SIZE (1T), metadata=SIZE (25% of the memory available);\n"
	          "and path=N, bytes of one path (4095); none for a limit takes it away" },
	{ .name = "whiteouts",
	  .argument = "FORM",
	  .kind = ARGUMENT_WORDS,
	  .word = whiteouts_name,
	  .set = set_whiteouts,
	  .help = "how a SOURCE removes files of those before it (oci: .wh.NAME; to-overlayfs: oci,\n"
	          "kept as overlayfs's own): " },
	{ .heading = "Owners and metadata" },
	{ .name = "owner-map",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  .set = set_owner_map,
	  .help = "other owners by rules, lines of FROM TO, each USER, USER:GROUP or\n"
	          ":GROUP; names are those of SOURCE/etc/passwd and group" },
	{ .name = "uid-map",
	  .argument = "FROM:TO:COUNT",
	  .kind = ARGUMENT_TEXT,
	  .set = set_id_map,
	  .help = "users by ranges, as in a user namespace; repeatable" },
	{ .name = "gid-map",
	  .argument = "FROM:TO:COUNT",
	  .kind = ARGUMENT_TEXT,
	  .set = set_id_map,
	  .help = "the same for groups" },
	{ .name = "root-owned", FIELD(owners.root_owned), .help = "everything belongs to 0:0 (also --all-root)" },
	{ .name = "all-root", FIELD(owners.root_owned) },
	{ .name = "metadata",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  .set = set_metadata,
	  .help = "an mtree(5) manifest: owners, modes, times, xattrs of single files;\n"
	          "devices, directories and links that SOURCE lacks are made" },
	{ .name = "file-contexts",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  FIELD(options.labels.file_contexts),
	  .help = "SELinux labels by the rules of a policy's file_contexts; as mkfs.erofs(1)" },
	{ .name = "context-prefix",
	  .argument = "PATH",
	  .kind = ARGUMENT_TEXT,
	  FIELD(options.labels.prefix),
	  .help = "what stands before each path when it is looked up there: where the image\n"
	          "will be mounted" },
	{ .name = "labels",
	  .argument = "rules|source|none",
	  .kind = ARGUMENT_WORDS,
	  .words = "rules|source|none",
	  .set = set_labels,
	  .help = "which SELinux labels files get: by --file-contexts alone (rules, the default\n"
	          "with it), those of SOURCE and by --file-contexts only where it has none\n"
	          "(source), or none" },
	{ .name = "casefold",
	  .argument = "DIRECTORY",
	  .kind = ARGUMENT_TEXT,
	  FIELD(casefolded),
	  .help = "DIRECTORY of the source (/ is all of it) and what is below become\n"
	          "case-insensitive, as with chattr +F; needs -O casefold" },
	{ .name = "verity",
	  .argument = "PATTERN",
	  .kind = ARGUMENT_TEXT,
	  .set = add_verity,
	  .help = "protect the files that match, as in .gitignore, with fs-verity (with -O verity);\n"
	          "repeatable" },
	{ .name = "verity-hash-alg",
	  .argument = "sha256|sha512",
	  .kind = ARGUMENT_WORDS,
	  .words = VERITY_ALGORITHM_WORDS,
	  .set = set_verity_option,
	  .help = "their hash (sha256)" },
	{ .name = "verity-block-size",
	  .argument = "SIZE",
	  .kind = ARGUMENT_SIZE,
	  .minimum = 1 << VERITY_LEAST_BLOCK_BITS,
	  .maximum = 1 << VERITY_MOST_BLOCK_BITS,
	  .set = set_verity_option,
	  .help = "their blocks: 1024 up to the filesystem's (4096, or the filesystem's)" },
	{ .name = "verity-salt",
	  .argument = "HEX",
	  .kind = ARGUMENT_TEXT,
	  .set = set_verity_option,
	  .help = "their salt, up to 32 bytes in hexadecimal digits" },
	{ .name = "verity-signature",
	  .argument = "DIRECTORY",
	  .kind = ARGUMENT_DIRECTORY,
	  FIELD(options.verity.signatures),
	  .help = "DIRECTORY/PATH.sig, where it exists, is the signature of PATH" },
	{ .heading = "Size" },
	{ .name = "free",
	  .argument = "SIZE|N%",
	  .kind = ARGUMENT_TEXT,
	  .set = set_free,
	  .help = "space that is left for anyone (as df shows it), in bytes, with a\n"
	          "suffix K, M, G, T, or in percent of the filesystem" },
	{ .name = "free-inodes",
	  .argument = "N",
	  .kind = ARGUMENT_NUMBER,
	  .maximum = UINT32_MAX,
	  FIELD(options.free_inodes),
	  .help = "inodes that are left" },
	{ .name = "size-like",
	  FIELD(size_like),
	  .help = "as large as the filesystem of the first SOURCE that is an image of ext2, ext3 or ext4" },
	{ .name = "size-only", FIELD(options.size_only), .help = "print how large it would be, and write nothing" },
	{ .heading = "Work and output" },
	{ .letter = 'F', .set = set_mke2fs_option, .help = "do not ask before what IMAGE holds is lost" },
	{ .name = "in-place",
	  FIELD(options.in_place),
	  .help = "write into IMAGE if it is a file that exists, as mke2fs does, instead of\nmaking a new one" },
	THREADS_ROW(options.threads),
	{ .name = "readers",
	  .argument = "N",
	  .kind = ARGUMENT_NUMBER,
	  .maximum = MOST_READERS,
	  FIELD(options.readers),
	  .help = "how many threads read directories and files of SOURCE (default, or 0: as\n"
	          "many as work, and up to 64 while they wait for it)" },
	{ .name = "memory",
	  .argument = "SIZE|N%",
	  .kind = ARGUMENT_TEXT,
	  .set = set_memory,
	  .help = "how much of what an archive unpacks to stays in memory, in bytes, with a\n"
	          "suffix, or in percent of the memory available (25%); the rest goes\n"
	          "to a temporary file" },
	{ .name = "stable-from",
	  .argument = "OLD",
	  .kind = ARGUMENT_IMAGE,
	  FIELD(options.stable_from),
	  .help = "what did not change since the image OLD keeps its blocks, so that\n"
	          "the two differ in few; UUID and sizes are OLD's unless given" },
	AGAINST_ROWS,
	PROGRESS_ROW(progress),
	{ .name = "layout",
	  .argument = "tree|layers",
	  .kind = ARGUMENT_WORDS,
	  .words = "tree|layers",
	  FIELD(options.layout),
	  .set = set_layout,
	  .help = "where contents are placed: with what lies beside them in the tree (the default),\n"
	          "or with all that is of the same SOURCE or layer, so that images can share the\n"
	          "blocks of layers (the default with --layer-cache; implies --zeros=source)" },
	{ .name = "keep-hidden",
	  FIELD(options.keeps_hidden),
	  .help = "with --layer-cache: what later layers hide keeps its place in IMAGE, as free blocks,\n"
	          "so each layer is shared in one piece; what it held can be read there" },
	{ .name = "reflink",
	  .argument = "auto|always|never",
	  .kind = ARGUMENT_WORDS,
	  .words = "auto|always|never",
	  FIELD(options.reflink),
	  .set = set_reflink,
	  .help = "with --zeros=source, IMAGE shares blocks with SOURCE where both are on\n"
	          "one filesystem that can do this, as XFS and btrfs (auto, the default);\n"
	          "always fails where it cannot" },
	{ .name = "verify",
	  FIELD(options.verify),
	  .help = "check the image with e2fsck(8) and compare everything in it with\n"
	          "SOURCE before it gets its name" },
	{ .name = "report",
	  .argument = "FORM",
	  .kind = ARGUMENT_WORDS,
	  .words = "text|json",
	  FIELD(json),
	  .help = "text or json: what was built, on standard output" },
	{ .letter = 'q', FIELD(quiet), .help = "print no report" },
	{ .letter = 'v', FIELD(verbose), .help = "also print what mke2fs(8) says of the filesystem" },
	{ 0 },
};

#define OTHER(character, what, words)                                                                                  \
	{                                                                                                              \
		.letter = (character), .argument = (what), .kind = (what) ? ARGUMENT_TEXT : ARGUMENT_NONE,             \
		.set = set_mke2fs_option, .help = (words)                                                              \
	}

/* Without words: refused. */
static const struct option_row other_mke2fs_rows[] = {
	{ .heading = "Also of mke2fs(8)", .is_brief = true },
	OTHER('M', "MOUNT-POINT", "where it was last mounted"),
	OTHER('c', NULL, "check for bad blocks"),
	OTHER('l', "FILE", "bad blocks from a file"),
	{ .letter = 'e',
	  .argument = "ERRORS",
	  .kind = ARGUMENT_TEXT,
	  .words = "continue|remount-ro|panic",
	  .set = set_mke2fs_option,
	  .help = "what the kernel does on errors" },
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

static const struct command_line command_line = {
	.usage = usage,
	.tables = { own_rows, layer_cache_rows, dm_verity_rows, mke2fs_options, other_mke2fs_rows },
	.epilogue = epilogue,
};

/* --- The command line --------------------------------------------------------------------------------------------- */

static bool is_ours(const struct option_row *row, bool is_by_name)
{
	return is_by_name || row->letter == 'd';
}

bool command_is_ours(int argument_count, char **arguments)
{
	return command_line_has(&command_line, argument_count, arguments, is_ours);
}

static void read_epoch(struct command *command)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	uint64_t epoch;

	if (!text || !*text)
		return;
	errcode_t error = units_parse_number(text, 0, LAST_SECOND, &epoch);

	if (error == ERANGE)
		usage_error("SOURCE_DATE_EPOCH: %s is after the last second that ext4 can store, %lld", text,
		            LAST_SECOND);
	if (error)
		usage_error("SOURCE_DATE_EPOCH: %s is not a number of seconds", text);
	if (epoch >= FIRST_DOUBTED_SECOND && epoch <= LAST_DOUBTED_SECOND)
		usage_error("SOURCE_DATE_EPOCH: %s is one of the seconds from %lld to %lld, which e2fsck(8) takes for "
		            "times "
		            "before 1970",
		            text, FIRST_DOUBTED_SECOND, LAST_DOUBTED_SECOND);
	command->options.has_epoch = true;
	command->options.epoch = (int64_t)epoch;
}

static void drop_extended(struct command *command, const char *name)
{
	char *others;

	if (extended_without(command->extended, name, &others))
		exit_without_memory();
	free(command->extended);
	command->extended = others;
	if (!*others)
		free(TAKE(command->extended));
}

/* -E offset concerns mke2fs only when the image itself is formatted, and not where sizes are tried. */
static void set_offset(struct command *command)
{
	SCOPE_FREE char *value = NULL;

	if (!extended_has(command->extended, "offset"))
		return;
	if (extended_value(command->extended, "offset", &value))
		exit_without_memory();
	if (units_parse_bytes(value, 1, &command->options.offset_bytes) || command->options.offset_bytes > INT64_MAX)
		usage_error("-E offset: %s is not a number of bytes", value);
	drop_extended(command, "offset");
}

/* We write that format ourselves, because Debian's mke2fs cannot. */
static void set_android_sparse(struct command *command)
{
	if (!extended_has(command->extended, "android_sparse"))
		return;
	if (command->options.offset_bytes)
		usage_error("-E android_sparse: there is no offset in a sparse image");
	if (command->options.in_place)
		usage_error("--in-place: an Android sparse image is always a new file");
	command->options.android_sparse = true;
	drop_extended(command, "android_sparse");
}

/*
 * Reads sizes as mke2fs(8) does, octal and hexadecimal numbers included. mke2fs would refuse a wrong one only after
 * the source has been read. Under mke2fs's own names the check is left to it.
 */
static void check_size(const struct command *command, const char *size)
{
	char *end;

	errno = 0;
	strtoull(size, &end, 0);
	bool has_unit = *end && strchr("sSkKmMgGtT", *end);
	bool is_size = isdigit((unsigned char)*size) && !errno && !end[has_unit];

	if (!is_size && !is_stand_in(command))
		usage_error("SIZE: %s is not a size: a number, with s, K, M, G or T after it", *size ? size : "\"\"");
}

/* The old size in KiB, as mke2fs takes it: blocks have at least one. */
static void choose_size(struct command *command)
{
	uint64_t bytes;

	if (command->options.size)
		check_size(command, command->options.size);
	if (!command->size_like)
		return;
	if (command->options.size)
		usage_error("--size-like and SIZE exclude each other");
	check(command,
	      sources_image_bytes((const char *const *)command->sources.list, (uint32_t)command->sources.count, &bytes,
	                          &command->problem),
	      EXIT_FAILURE);
	snprintf(command->size_text, sizeof(command->size_text), "%" PRIu64 "K", bytes / 1024);
	command->options.size = command->size_text;
}

static void choose_owners(struct command *command)
{
	struct owner_map *owners = &command->owners;
	bool has_rules = owners->rule_count || owners->ids[ACCOUNT_USER].count || owners->ids[ACCOUNT_GROUP].count;

	if (owners->root_owned && has_rules)
		usage_error("--root-owned leaves nothing for --owner-map, --uid-map and --gid-map");
	if (owners->root_owned || has_rules)
		command->options.owners = owners;
}

void command_parse(int argument_count, char **arguments, struct command *command)
{
	int next = command_line_read(&command_line, argument_count, arguments, command);

	layer_cache_options_check(command);
	if (layer_cache_is_all(command))
		return;
	if (!command->sources.count)
		usage_error("-d SOURCE is missing (mke2fs(8) makes empty filesystems)");
	set_offset(command);
	set_android_sparse(command);
	dm_verity_options_check(command);
	if (is_stand_in(command))
		command->options.in_place = true;
	else
		command->options.own_defaults = true;
	/* mke2fs's own default is ext2, which is hardly what users want. */
	if (!command->type_given && !command->is_mke2fs)
		mke2fs_arguments_add(&command->mke2fs, 't', command->type ? command->type : "ext4");
	if (command->quiet && command->progress == PROGRESS_AUTO)
		command->progress = PROGRESS_NONE;
	choose_owners(command);
	choose_labels(command);
	choose_layout(command);
	choose_reflink(command);
	const uint64_t usual_bytes = memory_available() / 100 * USUAL_MEMORY_PERCENT;

	if (!command->memory_given)
		command->options.memory_bytes = usual_bytes;
	if (!command->metadata_limit_given)
		command->options.limits.metadata_bytes = usual_bytes;
	if (next >= argument_count)
		usage_error("IMAGE is missing");
	command->options.image = arguments[next++];
	if (!*command->options.image)
		usage_error("IMAGE is \"\"");
	choose_against(command);
	if (next < argument_count)
		command->options.size = arguments[next++];
	choose_size(command);
	if (next < argument_count)
		usage_error("%s: nothing may follow SIZE", arguments[next]);
	command->options.sources = (const char *const *)command->sources.list;
	command->options.source_count = (uint32_t)command->sources.count;
	command->options.exclude = command->exclude;
	command->options.verity.patterns = command->verity;
	verity_options_check(&command->options.verity);
	command->options.mke2fs = command->mke2fs.list;
	command->options.casefolded = command->casefolded.list;
	command->options.extended = command->extended;
	read_epoch(command);
}

void command_free(struct command *command)
{
	mke2fs_arguments_free(&command->mke2fs);
	free(command->sources.list);
	free(command->casefolded.list);
	free(command->extended);
	free(command->layer_cache.path);
	exclude_destroy(command->exclude);
	exclude_destroy(command->verity);
	owner_map_destroy(&command->owners);
}
