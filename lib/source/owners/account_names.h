/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of users and groups as a tree itself knows them: in its etc/passwd and etc/group. */
#pragma once

#include "tree/tree.h"

enum account_kind { ACCOUNT_USER, ACCOUNT_GROUP };

#define ACCOUNT_KINDS 2

/* For messages. */
static inline const char *account_kind_name(enum account_kind kind)
{
	return kind == ACCOUNT_USER ? "user" : "group";
}

struct account {
	const char *name;
	uint32_t id;
	uint32_t number; /* in the file's order */
};

struct account_file {
	bool is_read, is_there;
	struct account *list; /* by name and number */
	size_t count, capacity;
};

/* Reads each of the two files when the first of its names is asked for. Zero-initialise all but tree. One thread. */
struct account_names {
	const struct tree *tree; /* must last as long */
	struct account_file files[ACCOUNT_KINDS];
	struct arena memory; /* of the names */
};

void account_names_destroy(struct account_names *names);

/*
 * The id of a name; the first line with it counts. ENOENT, with a reason and origin as what it concerns: there is no
 * such name, or no such file. Errors of reading that file name it; EFBIG with a reason: it, or one of its lines, is too
 * large for a list of accounts.
 */
MUST_CHECK errcode_t account_names_find(struct account_names *names, enum account_kind kind, const char *name,
                                        const char *origin, uint32_t *id, struct problem *problem);
