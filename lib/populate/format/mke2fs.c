/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/format/mke2fs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "populate/format/child.h"

#define OWN_ARGUMENTS 16

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
 * Makes the -E list: the offset, the user's list and the hash seed. It leaves out the user's options that mke2fs(8)
 * does not know before 1.47.2, which scan_sources() applies. The caller frees it.
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
	if (asprintf(ret, "%s%s%s", offset, list, seed) >= 0)
		return 0;
	*ret = NULL;
	return ENOMEM;
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

/* Makes an -O that includes verity; "" if there is nothing to add. The caller frees it. */
static errcode_t features_with_verity(const struct mke2fs_run *run, char **ret)
{
	const char *given = features_given(run->options);
	bool is_excluded = extended_has(given, "^verity");

	if (!run->wants_verity || is_excluded || extended_has(given, "verity"))
		*ret = strdup("");
	else if (asprintf(ret, "-O%s%sverity", given ? given : "", given && *given ? "," : "") < 0)
		*ret = NULL;
	return *ret ? 0 : ENOMEM;
}

/* features is an -O that comes after the user's own, or "". */
static errcode_t run_with(const struct mke2fs_run *run, const char *features, struct problem *problem)
{
	const struct populate_options *options = run->options;
	char inodes[32], block_bytes[32];
	SCOPE_FREE char *extended = NULL;
	size_t count = 0, next = 0;

	while (options->mke2fs && options->mke2fs[count])
		count++;
	SCOPE_FREE const char **arguments = calloc(count + OWN_ARGUMENTS, sizeof(*arguments));
	if (!arguments)
		return problem_set(problem, ENOMEM, options->image, "mke2fs failed");
	arguments[next++] = "mke2fs";
	for (size_t option = 0; option < count; option++)
		arguments[next++] = options->mke2fs[option];
	if (*features)
		arguments[next++] = features;
	/* In an empty file badblocks(8) would find all blocks bad, and it knows no offset. */
	if (run->is_device && !run->offset_bytes && options->bad_block_checks > 0)
		arguments[next++] = options->bad_block_checks > 1 ? "-cc" : "-c";
	arguments[next++] = options->mke2fs_output ? "-v" : "-q";
	errcode_t error = extended_list(run, &extended);
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
	SCOPE_FREE char *features = NULL;
	struct problem refusal = { 0 };
	errcode_t error = features_with_verity(run, &features);

	if (error)
		return problem_set(problem, error, run->options->image, "mke2fs failed");
	error = run_with(run, features, &refusal);
	/* mke2fs(8) from 1.47.2 on refuses verity in a filesystem without extents. */
	if (error == EINVAL && *features) {
		problem_clear(&refusal);
		error = run_with(run, "", &refusal);
	}
	if (error)
		problem_move(problem, &refusal);
	return error;
}
