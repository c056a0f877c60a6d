/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a filesystem should have, in memory, and whether it has: for exercise_mount. Wrong is whatever ends the program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIRECTORIES 6u
#define NAMES 8u /* in each */
#define MOST_BYTES ((size_t)768 << 10)
#define MOST_TARGET 1000u
#define MOST_XATTR 900u

/* A file or a symbolic link, which several names may have. */
struct node {
	bool is_link;
	unsigned int names;
	size_t bytes;
	char *contents; /* MOST_BYTES of a file, the target of a link; zeros after the end */
	size_t xattr_bytes;
	char xattr[MOST_XATTR];
};

struct directory {
	bool exists;
	struct node *names[NAMES];
};

extern struct directory directories[DIRECTORIES];
extern const char *root;   /* of the mount */
extern const char *doing;  /* the operation, for messages */
extern unsigned long step; /* which one it is */
extern uint64_t random_state;

void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* With TRACE in the environment: on standard error, what is done to which file. */
void trace(const char *path, size_t offset, size_t bytes);

/* 0 to limit - 1. */
size_t below(size_t limit);
void fill(char *bytes, size_t count);

/* Good for a few calls. */
const char *path_of(unsigned int directory, unsigned int name);
const char *directory_path(unsigned int directory);

/* The target of an operation. */
struct place {
	unsigned int directory, name;
	struct node **node;
};

struct place any_place(void);

/* is_taken: a name that is there, of a file or a link; else one that is not. False: none was found. */
bool find_place(bool is_taken, bool is_link, struct place *place);
const char *path_at(const struct place *place);
struct node *new_node(bool is_link);

/* One name less. */
void drop(struct node **node);

int open_file(const struct place *place, int flags);
void close_file(int descriptor);

void compare(const char *path, const char *found, const char *expected, size_t offset, size_t bytes);
void read_range(const struct place *place, size_t offset, size_t bytes);
void check_everything(void);
