/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of compare_trees. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum side { SOURCE, IMAGE, SIDES };

extern const char *const side_names[SIDES];

struct compare_options {
	int no_content, no_owners, no_modes, no_times, no_nanoseconds, no_links, no_xattrs, no_flags, no_holes,
		same_holes, no_special, no_root;
	int narrow_times;
	int64_t latest_seconds;
	off_t hole_bytes;
};

extern struct compare_options options;

#define CHUNK_BYTES (1024 * 1024)

/* Buffers of that size. */
extern char *buffers[SIDES];

/* Ends the program where memory is NULL. */
void *must_have(void *memory);

/* Prints a difference, or only counts it. */
void difference_at(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define difference(...) difference_at(current_path(), __VA_ARGS__)

/* The path of the entry that is being compared. */
const char *current_path(void);

/* Contents and holes of a regular file that is open on both sides; both have size_bytes. In compare_contents.c. */
void compare_files(const int files[SIDES], off_t size_bytes);

/* What chattr(1) sets of what is open on both sides, or on none; a negative number is not open. In compare_contents.c.
 */
void compare_flags(const int files[SIDES]);

/* Compares the targets of a symbolic link. In compare_contents.c. */
void compare_targets(const int directories[SIDES], const char *name);
