/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads e2populate's command line: what options do not say is chosen, and what cannot be combined is refused. */
#include "e2populate_options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "dm_verity_options.h"
#include "e2populate_rows.h"
#include "e2populate_set.h"
#include "layer_cache_command.h"
#include "oci_config_option.h"
#include "populate/format/mke2fs.h"
#include "source/sources.h"
#include "source/reading.h"
#include "support/run/memory.h"
#include "support/io/same_file.h"
#include "support/text/units.h"
#include "verity_options.h"

/* Inodes have 34 bits for times from 1901-12-13 to 2446-05-10. */
#define LAST_SECOND 0x37fffffffll
/* e2fsck(8) takes those from 2310-04-04 to 2378-04-22 for times before 1970 (ondisk/inode.c). */
#define FIRST_DOUBTED_SECOND 0x280000000ll
#define LAST_DOUBTED_SECOND 0x2ffffffffll

/* Percent of the memory available. */
#define USUAL_METADATA_PERCENT 25

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

/* Layers are placed so that they can be shared, and what is shared is not read to look for zeros. */
static void choose_layout(struct command *command)
{
	struct populate_options *options = &command->options;

	if (options->layer_cache.path && !command->layout_given)
		options->layout = LAYOUT_LAYERS;
	if (options->layout == LAYOUT_LAYERS && !command->zeros_given)
		options->zeros_of_source = true;
	if (options->keeps_hidden && !options->layer_cache.path)
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

static bool is_ours(const struct option_row *row, bool is_by_name)
{
	return is_by_name || row->letter == 'd';
}

bool command_is_ours(int argument_count, char **arguments)
{
	return command_line_has(&e2populate_line, argument_count, arguments, is_ours);
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
 * mke2fs would refuse a wrong size only after the source has been read. Under mke2fs's own names the size is left to
 * it.
 */
static void read_size(struct command *command, const char *size)
{
	if (is_stand_in(command))
		return;
	command->options.size = mke2fs_size(size, command->size_text);
	if (!command->options.size)
		usage_error("SIZE: %s is not a size, as 64M, 1.5GiB or 10MB is", *size ? size : "\"\"");
}

/* The old size in KiB, as mke2fs takes it: blocks have at least one. */
static void choose_size(struct command *command)
{
	uint64_t bytes;

	if (command->options.size)
		read_size(command, command->options.size);
	if (!command->size_like)
		return;
	if (command->options.size)
		usage_error("--size-like and SIZE exclude each other");
	command_check(command,
	              sources_image_bytes((const char *const *)command->sources.list, (uint32_t)command->sources.count,
	                                  command->options.limits.unpacked_bytes, &bytes, &command->problem),
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

/* IMAGE may be a folder, or left out. */
static void choose_examined(struct command *command, int count, char **arguments)
{
	if (count > 1)
		usage_error("%s: with --doctor nothing may follow IMAGE", arguments[1]);
	command->options.image = count ? arguments[0] : NULL;
	if (count && !*arguments[0])
		usage_error("IMAGE is \"\"");
}

void command_parse(int argument_count, char **arguments, struct command *command)
{
	int next = command_line_read(&e2populate_line, argument_count, arguments, command);

	layer_cache_options_check(command);
	if (layer_cache_is_all(command))
		return;
	if (command->is_examination) {
		choose_examined(command, argument_count - next, arguments + next);
		return;
	}
	if (!command->sources.count)
		usage_error("-d SOURCE is missing (mke2fs(8) makes empty filesystems)");
	set_offset(command);
	set_android_sparse(command);
	dm_verity_options_check(command);
	if (is_stand_in(command))
		command->options.in_place = true;
	else
		command->options.own_defaults = true;
	/* Under mke2fs's names all is as mke2fs makes it. */
	if (is_stand_in(command) && !command->like_given)
		command->options.like = LIKE_NONE;
	/* mke2fs's own default is ext2, which is hardly what users want. */
	if (!command->type_given && !command->is_mke2fs)
		mke2fs_arguments_add(&command->mke2fs, 't', command->type ? command->type : "ext4");
	if (command->quiet && command->progress == PROGRESS_AUTO)
		command->progress = PROGRESS_NONE;
	choose_owners(command);
	choose_labels(command);
	choose_layout(command);
	choose_reflink(command);
	if (!command->memory_given)
		command->options.memory_bytes = source_usual_memory();
	if (!command->metadata_limit_given)
		command->options.limits.metadata_bytes = memory_available() / 100 * USUAL_METADATA_PERCENT;
	if (next >= argument_count)
		usage_error("IMAGE is missing" SEE_HELP);
	command->options.image = arguments[next++];
	if (!*command->options.image)
		usage_error("IMAGE is \"\"");
	choose_against(command);
	oci_config_check(&command->options);
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
	run_files_clear(&command->files);
	mke2fs_arguments_free(&command->mke2fs);
	free(command->sources.list);
	free(command->casefolded.list);
	free(command->extended);
	free(command->layer_cache.path);
	exclude_destroy(command->exclude);
	exclude_destroy(command->verity);
	owner_map_destroy(&command->owners);
}
