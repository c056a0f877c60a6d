/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "directory_names.h"

#include <stdlib.h>
#include <string.h>

struct name_set name_set_start(void)
{
	return (struct name_set){ .first_ino = 100, .ino_count = UINT32_MAX, .file_type = EXT2_FT_REG_FILE };
}

/* Doubles at every power of two. */
static struct directory_name *new_name(struct name_set *set, uint32_t length_bytes, char **bytes)
{
	if ((set->count & (set->count - 1)) == 0) {
		set->names = realloc(set->names, (2 * (size_t)set->count + 1) * sizeof(*set->names));
		if (!set->names)
			abort();
	}
	*bytes = malloc(length_bytes);
	if (!*bytes)
		abort();
	set->names[set->count] = (struct directory_name){ .name = *bytes, .length_bytes = length_bytes };
	return &set->names[set->count++];
}

void name_set_add(struct name_set *set, const char *name, uint32_t length_bytes)
{
	char *bytes;

	new_name(set, length_bytes, &bytes);
	memcpy(bytes, name, length_bytes);
}

/* One of the 253 bytes that are neither NUL nor '/' nor '.': so no name is "." or "..". */
static char name_byte(uint32_t value)
{
	const uint32_t byte = 1 + value % 253;

	return byte < '.' ? byte : byte + 2;
}

void name_set_add_random(struct name_set *set, struct random *random, uint32_t count, uint32_t shortest,
                         uint32_t longest)
{
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t length = shortest + random_below(random, longest - shortest + 1);
		uint32_t number = set->count;
		char *bytes;

		new_name(set, length, &bytes);
		for (uint32_t at = 0; at < length; at++, number /= 253)
			bytes[at] = name_byte(at < 4 ? number : (uint32_t)random_next(random));
	}
}

/* Found by trying all of [a-zA-Z0-9]{6} behind 249 times 'a', in a minute and a half: one in 2^31 meets a hash. */
static const char middle_names[][7] = { "DR9aHH", "JSbGEE", "dDc5hG", "kTNSZn", "kTNSnZ", "knJS8z", "knJSz8", "n4gJU4",
	                                "sCcWIX", "sCcWXI", "sKuZ3X", "sKuZX3", "y2CxlQ", "yEgm7P", "yEgmP7" };
static const char end_names[][7] = { "aSVLlA", "gTYcGV", "ghwMHY", "ghwMn3", "ghwMp1", "pULaQ6", "thQ7Vt", "uIuv3D" };
static const char folded_names[][7] = {
	"JQW9Ab", "JQW9bA", "bSjy8H", "bSjyH8", "sF1f4r", "sF1fr4", "ur99MO", "ur99OM"
};

static void add_behind_prefix(struct name_set *set, const char (*tails)[7], size_t count)
{
	char name[255];

	memset(name, 'a', 249);
	for (size_t i = 0; i < count; i++) {
		memcpy(name + 249, tails[i], 6);
		name_set_add(set, name, sizeof(name));
	}
}

void name_set_add_colliding(struct name_set *set, enum colliding_names which)
{
	if (which == COLLIDING_IN_THE_MIDDLE) {
		add_behind_prefix(set, middle_names, sizeof(middle_names) / 7);
		return;
	}
	for (size_t i = 0; i < sizeof(end_names) / 7; i++) {
		add_behind_prefix(set, end_names + i, 1);
		if (which == COLLIDING_FOLDED)
			add_behind_prefix(set, folded_names + i, 1);
	}
}

void name_set_free(struct name_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		free((char *)set->names[i].name);
	free(set->names);
	*set = (struct name_set){ 0 };
}

static struct directory_name name_of(const void *context, uint32_t entry)
{
	return ((const struct name_set *)context)->names[entry];
}

static struct directory_target target_of(const void *context, uint32_t entry)
{
	const struct name_set *set = context;

	return (struct directory_target){ set->first_ino + entry % set->ino_count, set->file_type };
}

struct directory_source name_set_source(const struct name_set *set)
{
	return (struct directory_source){ .context = set, .count = set->count, .name = name_of, .target = target_of };
}
