/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of users and groups as a tree itself knows them: in its etc/passwd and etc/group. */
#pragma once

#include "source/tree/tree.h"

enum account_kind { ACCOUNT_USER, ACCOUNT_GROUP };

#define ACCOUNT_KINDS 2

/* For messages. */
static inline const char *account_kind_name(enum account_kind kind)
{
	return kind == ACCOUNT_USER ? "user" : "group";
}

/* Reads each of the two files when the first of its names is asked for. One thread. */
struct account_names;

/* ENOMEM. The tree must last as long. */
MUST_CHECK errcode_t account_names_create(const struct tree *tree, struct account_names **ret);
void account_names_destroy(struct account_names *names);

/*
 * The id of a name; the first line with it counts. ENOENT, with a reason and origin as what it concerns: there is no
 * such name, or no such file. Errors of reading that file name it.
 */
MUST_CHECK errcode_t account_names_find(struct account_names *names, enum account_kind kind, const char *name,
                                        const char *origin, uint32_t *id, struct problem *problem);
