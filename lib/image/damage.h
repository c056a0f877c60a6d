/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of an image report damage this way: they leave out the part that is unreadable or wrong, and go on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct image_damage {
	bool is_of_group; /* "its block bitmap ..." of this group; neither inode nor block */
	uint32_t group;
	uint32_t ino;     /* 0: the damage is not of an inode */
	uint64_t block;   /* 0: none */
	const char *what; /* a literal: "extent tree", "inode table" */
};

/* Gets each damage, in the thread that found it. *damage is valid during the call. */
struct damage_listener {
	void (*hear)(void *context, const struct image_damage *damage); /* NULL: damage is not reported */
	void *context;
};

static inline void damage_tell(const struct damage_listener *listener, uint32_t ino, uint64_t block, const char *what)
{
	if (listener->hear)
		listener->hear(listener->context, &(struct image_damage){ .ino = ino, .block = block, .what = what });
}

static inline void damage_tell_group(const struct damage_listener *listener, uint32_t group, const char *what)
{
	if (listener->hear)
		listener->hear(listener->context,
		               &(struct image_damage){ .is_of_group = true, .group = group, .what = what });
}
