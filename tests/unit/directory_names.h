/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of names for the directory tests. Out of memory ends the test program. */
#pragma once

#include "ondisk/directory.h"
#include "seeded_random.h"

struct name_set {
	struct directory_name *names; /* each owned */
	uint32_t count;
	uint32_t first_ino, ino_count; /* entry n is a link to first_ino + n % ino_count */
	uint8_t file_type;
};

/* An empty set, of which every entry has an inode of its own. */
struct name_set name_set_start(void);

void name_set_add(struct name_set *set, const char *name, uint32_t length_bytes);

/* Adds `count` different names (less than 2^31) of 4 to 255 bytes: any but '/' and NUL. */
void name_set_add_random(struct name_set *set, struct random *random, uint32_t count, uint32_t shortest,
                         uint32_t longest);

/* Names whose legacy hashes, signed and unsigned, are equal. */
enum colliding_names {
	COLLIDING_IN_THE_MIDDLE, /* 15 of 0x80000000 */
	COLLIDING_AT_THE_END,    /* 8 of 0xfffffffc */
	COLLIDING_FOLDED,        /* 8 of 0xfffffffc and 8 of 0xfffffffe, which the kernel folds into it */
};

/* Adds such names, all 255 bytes long: three to a block of 1 KiB. */
void name_set_add_colliding(struct name_set *set, enum colliding_names which);

void name_set_free(struct name_set *set);

/* The set as directory_layout() wants it; points into it. */
struct directory_source name_set_source(const struct name_set *set);
