/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/format/mke2fs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "support/run/child.h"
#include "support/text/units.h"

#define OWN_ARGUMENTS 24

static bool is_named(const char *option, const char *name)
{
	size_t bytes = strcspn(option, ",=");

	return bytes == strlen(name) && memcmp(option, name, bytes) == 0;
}

static const char *next_option(const char *option)
{
	option += strcspn(option, ",");
	return option + (*option == ',');
}

bool mke2fs_is_told_not(const struct populate_options *options, const char *feature)
{
	bool is_told = false;

	for (char *const *option = options->mke2fs; option && *option; option++) {
		if (strncmp(*option, "-O", 2) != 0)
			continue;
		for (const char *name = *option + 2; *name; name = next_option(name)) {
			bool is_not = *name == '^';

			if (is_named(name + is_not, feature))
				is_told = is_not;
		}
	}
	return is_told;
}

/* Returns the last -O, since mke2fs obeys only that one; NULL if there is none. */
static const char *features_given(const struct populate_options *options)
{
	const char *last = NULL;

	for (char *const *option = options->mke2fs; option && *option; option++)
		if (!strncmp(*option, "-O", 2))
			last = *option + 2;
	return last;
}

const char *mke2fs_argument(const struct populate_options *options, const char *word)
{
	const char *last = NULL;

	for (char *const *option = options->mke2fs; option && *option; option++)
		if (!strncmp(*option, word, strlen(word)))
			last = *option + strlen(word);
	return last;
}

bool mke2fs_is_told_none(const struct populate_options *options)
{
	const char *given = features_given(options);

	return extended_has(given, "none") || extended_has(given, "clear");
}

bool extended_has(const char *list, const char *name)
{
	for (; list && *list; list = next_option(list))
		if (is_named(list, name))
			return true;
	return false;
}

errcode_t extended_value(const char *list, const char *name, char **ret)
{
	const char *value = "";

	for (; list && *list; list = next_option(list)) {
		if (!is_named(list, name))
			continue;
		value = list + strcspn(list, ",=");
		value += *value == '=';
	}
	*ret = strndup(value, strcspn(value, ","));
	return *ret ? 0 : ENOMEM;
}

errcode_t extended_without(const char *list, const char *name, char **ret)
{
	char *to = malloc(strlen(list) + 2);

	*ret = to;
	if (!to)
		return ENOMEM;
	for (; *list; list = next_option(list)) {
		size_t bytes = strcspn(list, ",");

		if (is_named(list, name))
			continue;
		if (to > *ret)
			*to++ = ',';
		memcpy(to, list, bytes);
		to += bytes;
	}
	*to = '\0';
	return 0;
}

/*
 * Makes the -E list: the offset, the user's list, the hash seed and the words'. It leaves out the user's options that
 * mke2fs(8) does not know before 1.47.2, which scan_sources() applies. The caller frees it.
 */
static errcode_t extended_list(const struct mke2fs_run *run, char **ret)
{
	const char *given = run->options->extended ? run->options->extended : "";
	SCOPE_FREE char *without_permissions = NULL, *list = NULL;
	char offset[32] = "", seed[16 + IDENTITY_TEXT_BYTES] = "";

	*ret = NULL;
	errcode_t error = extended_without(given, "root_perms", &without_permissions);
	if (!error)
		error = extended_without(without_permissions, "root_selinux", &list);
	if (error)
		return error;
	if (run->offset_bytes)
		snprintf(offset, sizeof(offset), "offset=%" PRIu64 ",", run->offset_bytes);
	if (!extended_has(list, "hash_seed"))
		snprintf(seed, sizeof(seed), "%shash_seed=%s", *list ? "," : "", run->identity->hash_seed);
	/* Each of the words' options begins with a comma. */
	const char *words = run->words.extended + (!*offset && !*list && !*seed && *run->words.extended);

	if (asprintf(ret, "%s%s%s%s", offset, list, seed, words) >= 0)
		return 0;
	*ret = NULL;
	return ENOMEM;
}

/* True if verity is to be added to the user's features. */
static bool adds_verity(const struct mke2fs_run *run)
{
	const char *given = features_given(run->options);

	return run->wants_verity && !extended_has(given, "^verity") && !extended_has(given, "verity");
}

/*
 * Makes an -O with the words' features, the user's own, and verity if that is to be added; "" if there is nothing to
 * add to the user's. The caller frees it.
 */
static errcode_t features_list(const struct mke2fs_run *run, bool has_verity, char **ret)
{
	const char *given = features_given(run->options);
	const char *const parts[] = { run->words.features, given ? given : "", has_verity ? "verity" : "" };
	char *list = NULL;

	if (!has_verity && !*parts[0]) {
		*ret = strdup("");
		return *ret ? 0 : ENOMEM;
	}
	if (asprintf(&list, "-O%s%s%s%s%s", parts[0], *parts[0] && *parts[1] ? "," : "", parts[1],
	             (*parts[0] || *parts[1]) && *parts[2] ? "," : "", parts[2]) < 0)
		list = NULL;
	*ret = list;
	return list ? 0 : ENOMEM;
}

/*
 * mke2fs asks whether blocks larger than pages are meant, of a standard input that answers no. A second -F would have
 * it write to what is mounted.
 */
static bool asks_for_blocks(const struct populate_options *options)
{
	uint64_t block_bytes = 0;

	for (char *const *option = options->mke2fs; option && *option; option++) {
		if (strcmp(*option, "-F") == 0)
			return false;
		if (strncmp(*option, "-b", 2) == 0 && units_parse_bytes(*option + 2, 1, &block_bytes))
			block_bytes = 0;
	}
	return block_bytes > (uint64_t)sysconf(_SC_PAGESIZE);
}

static errcode_t run_with(const struct mke2fs_run *run, bool has_verity, struct problem *problem)
{
	const struct populate_options *options = run->options;
	char inodes[32], block_bytes[32];
	SCOPE_FREE char *extended = NULL, *features = NULL;
	size_t count = 0, next = 0;

	while (options->mke2fs && options->mke2fs[count])
		count++;
	SCOPE_FREE const char **arguments = calloc(count + OWN_ARGUMENTS, sizeof(*arguments));
	if (!arguments)
		return problem_set(problem, ENOMEM, options->image, "mke2fs failed");
	arguments[next++] = "mke2fs";
	for (size_t option = 0; option < count; option++)
		arguments[next++] = options->mke2fs[option];
	if (asks_for_blocks(options))
		arguments[next++] = "-F";
	errcode_t error = features_list(run, has_verity, &features);

	if (error)
		return problem_set(problem, error, options->image, "mke2fs failed");
	if (*features)
		arguments[next++] = features;
	for (size_t option = 0; option < run->words.option_count; option++)
		arguments[next++] = run->words.options[option];
	/* In an empty file badblocks(8) would find all blocks bad, and it knows no offset. */
	if (run->is_device && !run->offset_bytes && options->bad_block_checks > 0)
		arguments[next++] = options->bad_block_checks > 1 ? "-cc" : "-c";
	arguments[next++] = options->mke2fs_output ? "-v" : "-q";
	error = extended_list(run, &extended);
	if (error)
		return problem_set(problem, error, options->image, "mke2fs failed");
	arguments[next++] = "-E";
	arguments[next++] = extended;
	arguments[next++] = "-U";
	arguments[next++] = options->uuid ? options->uuid : run->identity->uuid;
	if (run->inodes) {
		snprintf(inodes, sizeof(inodes), "-N%" PRIu64, run->inodes);
		arguments[next++] = inodes;
	}
	if (run->block_bytes) {
		snprintf(block_bytes, sizeof(block_bytes), "-b%" PRIu32, run->block_bytes);
		arguments[next++] = block_bytes;
	}
	arguments[next++] = run->path;
	if (run->size)
		arguments[next++] = run->size;

	/* The last run's output was about a filesystem that this run replaces. */
	if (options->mke2fs_output &&
	    (ftruncate(options->mke2fs_output, 0) < 0 || lseek(options->mke2fs_output, 0, SEEK_SET) < 0))
		return problem_set(problem, errno, options->image, "mke2fs failed");

	const struct child child = {
		.arguments = arguments,
		.path = run->path,
		.image_path = options->image,
		.has_epoch = options->has_epoch,
		.epoch = populate_clock(options),
		.output = options->mke2fs_output,
	};
	return child_run(&child, "mke2fs failed", problem);
}

errcode_t mke2fs_run(const struct mke2fs_run *run, struct problem *problem)
{
	const bool has_verity = adds_verity(run);
	struct problem refusal = { 0 };
	errcode_t error = run_with(run, has_verity, &refusal);

	/* mke2fs(8) from 1.47.2 on refuses verity in a filesystem without extents. */
	if (error == EINVAL && has_verity) {
		problem_clear(&refusal);
		error = run_with(run, false, &refusal);
	}
	if (error)
		problem_move(problem, &refusal);
	return error;
}
