/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How readers of an image tell what of it cannot be read, or is wrong: they leave it out and go on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct image_damage {
	bool is_of_group; /* "its block bitmap ..." of this group; neither inode nor block */
	uint32_t group;
	uint32_t ino;     /* 0: none is concerned */
	uint64_t block;   /* 0: none */
	const char *what; /* a literal: "extent tree", "inode table" */
};

/* Is told of each damage, in the thread that met it. *damage is valid during the call. */
struct damage_listener {
	void (*hear)(void *context, const struct image_damage *damage); /* NULL: nobody listens */
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
