/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program that the library was preloaded into. All of it is set before main() begins, and does not change. */
#pragma once

#include <stdbool.h>

#include <et/com_err.h>

enum program_kind {
	PROGRAM_OTHER,
	PROGRAM_FUSE2FS,
	PROGRAM_DEBUGFS,
	PROGRAM_ASIDE, /* handles blocks by itself: left alone */
};

struct program {
	enum program_kind kind;
	const char *name; /* without folders */
	bool journal, is_verbose;
};

extern struct program program;

/* One line on standard error: "ext2mb-run: what". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, with --verbose alone. */
void say_more(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Not all changes are on disk: the program will not end with status 0, whatever it passes to exit(3). */
void program_must_fail(void);

/* The function of this name that the program would call without the preloaded library. It must exist. */
void *next_function(const char *name);

/* Looked up once. */
#define NEXT(function)                                                                                                 \
	({                                                                                                             \
		static __typeof__(&(function)) found;                                                                  \
		if (!__atomic_load_n(&found, __ATOMIC_RELAXED))                                                        \
			__atomic_store_n(&found, (__typeof__(&(function)))next_function(#function), __ATOMIC_RELAXED); \
		found;                                                                                                 \
	})
