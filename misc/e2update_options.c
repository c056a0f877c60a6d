/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2update's options, and what cannot be combined. */
#include "e2update_options.h"

#include <stdlib.h>
#include <string.h>

#include "keep_links_option.h"
#include "list_inputs_option.h"
#include "platform_option.h"
#include "share_option.h"
#include "source_option.h"
#include "disk/source_limits_option.h"
#include "strip_components_option.h"
#include "source/reading.h"
#include "support/io/same_file.h"
#include "support/run/memory.h"
#include "support/text/units.h"
#include "update/build/plain_path.h"

/* Inodes have 34 bits for times from 1901-12-13 to 2446-05-10. */
#define LAST_SECOND 0x37fffffffll
/* Percent of the memory available. */
#define USUAL_METADATA_PERCENT 25

static const char usage[] = "Usage: e2update [options] [-d SOURCE]... [--remove PATH]... IMAGE\n"
			    "Lays SOURCE over the files of an ext2, ext3 or ext4 image, in place and without a mount. "
			    "What is the same is not\n"
			    "touched, and after a crash the image is whole: its files are old or new.\n"
			    "\n"
			    "  IMAGE                a file or a block device; nothing may have it mounted\n";

static const char epilogue[] =
	"\n"
	"SOURCE_DATE_EPOCH, if set, is the latest time that a file gets.\n"
	"\n"
	"Examples:\n"
	"  e2update -d changes.tar root.img               add and replace what is in the archive\n"
	"  e2update --mirror -d rootfs root.img           make it the same as the directory\n"
	"  e2update --into /root/.ssh -d keys root.img    into one of its directories\n"
	"  e2update --remove /etc/machine-id root.img     only remove\n";

/* Ends the program with `status`. */
static void check(struct command *command, errcode_t error, int status)
{
	if (!error)
		return;
	print_problem(&command->problem);
	exit(status);
}

static void add_source(struct command *command, const struct taken_option *option)
{
	(void)option;
	source_option_check(&command->sources);
}

static struct exclude *needed_exclude(struct command *command)
{
	if (!command->exclude && exclude_create(&command->exclude))
		exit_without_memory();
	return command->exclude;
}

static void add_exclude(struct command *command, const struct taken_option *option)
{
	check(command, exclude_add(needed_exclude(command), option->argument, "--exclude", &command->problem),
	      EXIT_USAGE);
}

/* Adds a file that an option names, before it is read. */
static void name_file(struct command *command, const struct taken_option *option, const char *role)
{
	if (run_files_read(&command->files, role, option->argument, 0))
		exit_without_memory();
}

static void set_list_inputs(struct command *command, const struct taken_option *option)
{
	(void)option;
	command->lists_inputs = true;
}

static void add_excludes_from(struct command *command, const struct taken_option *option)
{
	name_file(command, option, "exclude");
	check(command, exclude_add_file(needed_exclude(command), option->argument, &command->problem), EXIT_FAILURE);
}

static void set_owner_map(struct command *command, const struct taken_option *option)
{
	name_file(command, option, "owner-map");
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

static void set_limit(struct command *command, const struct taken_option *option)
{
	command->metadata_limit_given |= source_limits_read(option->argument, &command->options.limits);
}

static void set_tree(struct command *command, const struct taken_option *option)
{
	if (strcmp(option->argument, "append") != 0)
		usage_error("--dm-verity=%s: only what follows the filesystem is made anew (append)", option->argument);
	command->options.renews_tree = true;
}

static void set_free(struct command *command, const struct taken_option *option)
{
	command->options.free_percent = share_option_read_free(option, &command->options.free_bytes);
}

static const struct option_row options[] = {
	{ .heading = "What is changed" },
	{ .letter = 'd',
	  .argument = "SOURCE",
	  .kind = ARGUMENT_FILE,
	  FIELD(sources),
	  .set = add_source,
	  .help = "a directory, an archive, a manifest, a container image or an image of ext2, ext3 or ext4, as for\n"
	          "e2populate(8); several are laid over each other, the last one on top" },
	{ .name = "mirror", FIELD(options.mirrors), .help = "remove what no SOURCE has" },
	{ .name = "remove",
	  .argument = "PATH",
	  .kind = ARGUMENT_TEXT,
	  FIELD(removed),
	  .help = "remove this file or directory of IMAGE, unless a SOURCE has it" },
	{ .name = "into",
	  .argument = "DIR",
	  .kind = ARGUMENT_TEXT,
	  FIELD(options.into),
	  .help = "lay SOURCE over this directory of IMAGE, and not over its root" },
	{ .name = "checksum",
	  FIELD(options.compares_bytes),
	  .help = "compare the contents of files of equal size, not only their time of modification" },
	{ .name = "whiteouts",
	  .argument = "none|oci|overlayfs",
	  .kind = ARGUMENT_WORDS,
	  .words = "none|oci|overlayfs",
	  FIELD(options.layering.whiteouts),
	  .help = "how a SOURCE removes files of IMAGE and of those before it (oci: .wh.NAME)" },
	STRIP_COMPONENTS_ROW(options.layering.strip_components),
	KEEP_LINKS_ROW(options.layering.follows_links),
	{ .heading = "What is taken from SOURCE" },
	PLATFORM_ROW(options.platform),
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
	{ .name = "times",
	  .argument = "mtime|all",
	  .kind = ARGUMENT_WORDS,
	  .words = "mtime|all",
	  FIELD(options.all_times),
	  .help = "all times of a new file are that of its modification (the default), or those of SOURCE" },
	{ .name = "zeros",
	  .argument = "contents|source",
	  .kind = ARGUMENT_WORDS,
	  .words = "contents|source",
	  FIELD(options.zeros_of_source),
	  .help = "what becomes holes: holes of SOURCE and long zeros that its data hold (the default),\n"
	          "or only holes of SOURCE" },
	{ .name = "limit",
	  .argument = "LIST",
	  .kind = ARGUMENT_TEXT,
	  .words = SOURCE_LIMITS_WORDS,
	  .set = set_limit,
	  .help = "how much archives, manifests, layers and images may hold, as for e2populate(8)" },
	{ .name = "owner-map",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  .set = set_owner_map,
	  .help = "other owners by rules, as for e2populate(8)" },
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
	{ .name = "root-owned", FIELD(owners.root_owned), .help = "everything belongs to 0:0" },
	{ .name = "metadata",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  FIELD(options.metadata),
	  .help = "an mtree(5) manifest: owners, modes, times, xattrs of single files" },
	LAYER_CACHE_ROWS,
	{ .heading = "How it is written" },
	{ .name = "atomic",
	  FIELD(options.is_atomic),
	  .help = "in one transaction: all of it or nothing, after a crash too" },
	{ .name = "new-file",
	  FIELD(options.makes_new_file),
	  .help = "change a copy, which shares blocks where the host can do that, and rename it; needed\n"
	          "for a filesystem without a journal" },
	{ .name = "dm-verity",
	  .argument = "append",
	  .kind = ARGUMENT_TEXT,
	  .words = "append",
	  .set = set_tree,
	  .help = "make the hash tree that follows the filesystem anew; in a copy, as --new-file does" },
	{ .name = "free",
	  .argument = "SIZE|N%",
	  .kind = ARGUMENT_TEXT,
	  .set = set_free,
	  .help = "space that is left for anyone afterwards, as df shows it: else a file grows, and a device is\n"
	          "refused" },
	{ .name = "dry-run", .letter = 'n', FIELD(options.is_dry_run), .help = "only say what would be changed" },
	{ .name = "offset",
	  .argument = "BYTES",
	  .kind = ARGUMENT_SIZE,
	  .maximum = INT64_MAX,
	  FIELD(options.offset_bytes),
	  .help = "the filesystem begins there in IMAGE" },
	AGAINST_ROWS,
	{ .heading = "Work and messages" },
	THREADS_ROW(options.threads),
	PROGRESS_ROW(progress),
	{ .name = "report",
	  .argument = "FORM",
	  .kind = ARGUMENT_WORDS,
	  .words = "text|json",
	  FIELD(is_json),
	  .help = "text or json: what was done, on standard output" },
	LIST_INPUTS_ROW,
	{ .name = "quiet", .letter = 'q', FIELD(is_quiet), .help = "print no report" },
	{ .name = "verbose", .letter = 'v', FIELD(is_verbose), .help = "print each name that changes" },
	{ 0 },
};

static const struct command_line command_line = { .usage = usage, .tables = { options }, .epilogue = epilogue };

static void read_epoch(struct command *command)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	uint64_t epoch;

	if (!text || !*text)
		return;
	if (units_parse_number(text, 0, LAST_SECOND, &epoch))
		usage_error("SOURCE_DATE_EPOCH: %s is not a number of seconds that ext4 can store", text);
	command->options.has_epoch = true;
	command->options.epoch = (int64_t)epoch;
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

static void check_path(const char *option, const char *path)
{
	if (plain_path_climbs(path))
		usage_error("%s %s: the path leads upwards (..)", option, path);
}

static void choose_against(struct command *command)
{
	const struct against *against = &command->against;

	against_check(&command->against);
	if (against->old && command->options.is_dry_run)
		usage_error("--dry-run changes nothing that --against could compare");
	if (against->ranges && (would_be_same_file(against->ranges, command->options.image) ||
	                        would_be_same_file(against->ranges, against->old)))
		usage_error("--against-ranges: %s is another file of this run", against->ranges);
	command->options.against = against->old;
	command->options.against_chunk_bytes = against->chunk_bytes;
}

static void check_command(const struct command *command)
{
	if (command->options.into)
		check_path("--into", command->options.into);
	for (size_t i = 0; i < command->removed.count; i++)
		check_path("--remove", command->removed.list[i]);
	bool wants_room = command->options.free_bytes || command->options.free_percent;

	if (!command->sources.count && !command->removed.count && !wants_room)
		usage_error("neither -d SOURCE nor --remove PATH nor --free=SIZE is given: nothing would be changed");
	if (command->options.mirrors && !command->sources.count)
		usage_error("--mirror without -d SOURCE would remove everything");
	if (command->options.mirrors && command->options.layering.follows_links)
		usage_error("--mirror removes links that no SOURCE has, and --keep-directory-links keeps them");
	if (command->is_quiet && command->is_verbose)
		usage_error("-q and -v contradict each other");
}

void command_parse(int argument_count, char **arguments, struct command *command)
{
	struct update_options *made = &command->options;

	*command = (struct command){
		.progress = PROGRESS_AUTO,
		.options.threads = default_threads(),
		.options.layering.keeping = WHITEOUTS_AS_MARKS,
		.options.limits = { .path_bytes = SOURCE_LIMITS_PATH_BYTES,
		                    .names = SOURCE_LIMITS_NAMES,
		                    .unpacked_bytes = SOURCE_LIMITS_UNPACKED_BYTES },
	};
	int next = command_line_read(&command_line, argument_count, arguments, command);

	check_command(command);
	if (next >= argument_count || !*arguments[next])
		usage_error("IMAGE is missing" SEE_HELP);
	made->image = arguments[next++];
	if (next < argument_count)
		usage_error("%s: nothing may follow IMAGE", arguments[next]);
	choose_owners(command);
	choose_against(command);
	layer_cache_option_complete(&command->layer_cache, &made->layer_cache);
	made->memory_bytes = source_usual_memory();
	if (!command->metadata_limit_given)
		made->limits.metadata_bytes = memory_available() / 100 * USUAL_METADATA_PERCENT;
	made->sources = (const char *const *)command->sources.list;
	made->source_count = (uint32_t)command->sources.count;
	made->removed = (const char *const *)command->removed.list;
	made->removed_count = (uint32_t)command->removed.count;
	made->exclude = command->exclude;
	read_epoch(command);
	if (command->is_quiet && command->progress == PROGRESS_AUTO)
		command->progress = PROGRESS_NONE;
}

void command_free(struct command *command)
{
	run_files_clear(&command->files);
	free(command->sources.list);
	free(command->removed.list);
	exclude_destroy(command->exclude);
	owner_map_destroy(&command->owners);
	free(command->layer_cache.path);
	problem_clear(&command->problem);
}
