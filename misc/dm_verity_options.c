/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dm_verity_options.h"

#include <ctype.h>
#include <string.h>
#include <uuid/uuid.h>

/* veritysetup's own limits; Linux takes blocks of a page at most. */
#define LEAST_BLOCK_BYTES 512
#define MOST_BLOCK_BYTES 65536

static void set_target(struct command *command, const struct taken_option *option)
{
	struct dm_verity_options *own = &command->options.dm_verity;

	if (!*option->argument)
		usage_error("--dm-verity: give a FILE, or append");
	own->target = option->argument;
	own->is_appended = !strcmp(option->argument, "append");
}

static void set_root_hash(struct command *command, const struct taken_option *option)
{
	if (!*option->argument)
		usage_error("--dm-verity-root-hash: give a FILE");
	command->options.dm_verity.root_hash_path = option->argument;
}

static int digit_of(char character)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = character ? strchr(digits, tolower((unsigned char)character)) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* - is no salt, as for veritysetup. */
static void set_salt(struct command *command, const struct taken_option *option)
{
	struct dm_verity_options *own = &command->options.dm_verity;
	const char *text = option->argument;
	size_t digits = strcmp(text, "-") ? strlen(text) : 0;
	bool is_salt = *text && digits % 2 == 0 && digits / 2 <= sizeof(own->salt);

	for (size_t i = 0; is_salt && i < digits / 2; i++) {
		int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);

		is_salt = high >= 0 && low >= 0;
		own->salt[i] = (uint8_t)(high * 16 + low);
	}
	if (!is_salt)
		usage_error("--dm-verity-salt: %s is neither - nor 1 to %zu bytes in hexadecimal digits",
		            *text ? text : "\"\"", sizeof(own->salt));
	own->salt_bytes = (uint32_t)digits / 2;
	own->has_salt = true;
}

static void set_uuid(struct command *command, const struct taken_option *option)
{
	struct dm_verity_options *own = &command->options.dm_verity;

	if (uuid_parse(option->argument, own->uuid))
		usage_error("--dm-verity-uuid: %s is not a UUID", *option->argument ? option->argument : "\"\"");
	own->has_uuid = true;
}

static void set_block_size(struct command *command, const struct taken_option *option)
{
	struct dm_verity_options *own = &command->options.dm_verity;
	const char *name = option->row->name;

	if (option->value & (option->value - 1))
		usage_error("--%s: %s is not a power of two", name, option->argument);
	if (strcmp(name, "dm-verity-data-block-size") == 0)
		own->data_block_bytes = (uint32_t)option->value;
	else
		own->hash_block_bytes = (uint32_t)option->value;
}

const struct option_row dm_verity_rows[] = {
	{ .heading = "A hash tree for dm-verity" },
	{ .name = "dm-verity",
	  .argument = "FILE|append",
	  .kind = ARGUMENT_FILE,
	  .set = set_target,
	  .help = "write the hash tree of the filesystem, as veritysetup(8) format does, into FILE,\n"
	          "or append it to the filesystem" },
	{ .name = "dm-verity-root-hash",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  .set = set_root_hash,
	  .help = "write the root hash, which the report shows, into FILE, too" },
	{ .name = "dm-verity-salt",
	  .argument = "HEX|-",
	  .kind = ARGUMENT_TEXT,
	  .set = set_salt,
	  .help = "up to 256 bytes, or none (default: 32, derived from the filesystem's UUID)" },
	{ .name = "dm-verity-uuid",
	  .argument = "UUID",
	  .kind = ARGUMENT_TEXT,
	  .set = set_uuid,
	  .help = "of the hash tree (default: derived from the filesystem's)" },
	{ .name = "dm-verity-hash",
	  .argument = "sha256|sha512",
	  .kind = ARGUMENT_WORDS,
	  .words = "sha256|sha512",
	  FIELD(options.dm_verity.algorithm),
	  .help = "the hash (sha256)" },
	{ .name = "dm-verity-data-block-size",
	  .argument = "SIZE",
	  .kind = ARGUMENT_SIZE,
	  .minimum = LEAST_BLOCK_BYTES,
	  .maximum = MOST_BLOCK_BYTES,
	  .set = set_block_size,
	  .help = "what one hash is of: 512 up to the filesystem's blocks (4096, or those)" },
	{ .name = "dm-verity-hash-block-size",
	  .argument = "SIZE",
	  .kind = ARGUMENT_SIZE,
	  .minimum = LEAST_BLOCK_BYTES,
	  .maximum = MOST_BLOCK_BYTES,
	  .set = set_block_size,
	  .help = "blocks of the tree (4096)" },
	{ 0 },
};

static bool is_given(const struct dm_verity_options *own)
{
	return own->root_hash_path || own->has_salt || own->has_uuid || own->algorithm || own->data_block_bytes ||
	       own->hash_block_bytes;
}

void dm_verity_options_check(const struct command *command)
{
	const struct dm_verity_options *own = &command->options.dm_verity;

	if (!own->target && is_given(own))
		usage_error("options that begin with --dm-verity- need --dm-verity=FILE or --dm-verity=append");
	if (!own->target)
		return;
	if (command->options.android_sparse)
		usage_error("--dm-verity: an Android sparse image leaves out blocks that are free, so its hashes would "
		            "be wrong");
	if (own->is_appended && command->options.offset_bytes)
		usage_error("--dm-verity=append: with -E offset, what follows the filesystem belongs to others; use "
		            "--dm-verity=FILE");
}
