/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of make_tree. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tree_options {
	uint64_t seed, files, xattr_bytes, largest_bytes, longest_link, name_bytes;
	bool no_zeros;
	const char *kind;
};

extern struct tree_options options;

/* Ends the program with errno's message. */
__attribute__((noreturn)) void fail(const char *name, const char *action);

/* For what the caller may not do and what the filesystem cannot hold: not an error, but counted. */
void optional(int result, const char *name, const char *action);

/* Numbers that depend on the seed alone. */
uint64_t random_number(void);
uint64_t random_below(uint64_t limit);
bool one_in(uint64_t chances);
void fill_random(void *memory, size_t bytes);
#define PICK(list) ((list)[random_below(sizeof(list) / sizeof((list)[0]))])

/* Random owner, mode, xattrs and times for a file of this type. In make_tree_metadata.c. */
void write_metadata(const char *name, mode_t type);
