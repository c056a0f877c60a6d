/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other owners than the source's, without the rights that chown(2) would need.
 *
 * Three ways, in this order: everything belongs to 0:0; else rules of a file (--owner-map) that name single users and
 * groups; else, for what no rule changes, ranges of ids as in user namespaces (--uid-map, --gid-map). If there are
 * ranges, an id in none of them is an error: its files would belong to an id that the image does not know.
 *
 * Rules, one a line: FROM TO, each USER, USER:GROUP or :GROUP. A part is a number, a name, or in FROM * for any. FROM
 * matches a file if all its parts do; TO gives the user, the group or both. Among the rules that match a file, the
 * first with a user decides the user, and the first with a group the group. Names are those of the tree's own
 * etc/passwd and etc/group, so that the result depends on the source alone.
 *
 * Ids within POSIX ACLs are mapped as those of owners are, by ranges and by rules that ask for nothing but that id. So
 * is the user namespace of a file capability.
 */
#pragma once

#include "source/owners/account_names.h"
#include "tree/tree.h"

/* Ids [from, from + count) become [to, to + count). */
struct id_range {
	uint32_t from, to, count;
};

/* Empty: ids stay what they are. */
struct id_map {
	struct id_range *ranges; /* sorted by from, not overlapping on either side */
	size_t count, capacity;
};

/* A part of a rule. */
struct owner_part {
	enum { OWNER_ANY, OWNER_ID, OWNER_NAME } kind; /* of TO, OWNER_ANY: not changed */
	uint32_t id;
	char *name; /* owned */
};

struct owner_rule {
	struct owner_part from[ACCOUNT_KINDS], to[ACCOUNT_KINDS];
	char *origin; /* "FILE:LINE", owned */
};

/* Zero-initialise; owner_map_destroy() frees what it holds. */
struct owner_map {
	bool root_owned; /* all owners become 0:0 */
	struct id_map ids[ACCOUNT_KINDS];
	struct owner_rule *rules;
	size_t rule_count, rule_capacity;
};

void owner_map_destroy(struct owner_map *map);

/*
 * Adds a range, text being FROM:TO:COUNT. EINVAL with a reason: not that form, a count of 0, an id above 4294967294,
 * or an overlap with a range before it, of either side. origin says in the problem where it comes from.
 */
MUST_CHECK errcode_t owner_map_add_range(struct owner_map *map, enum account_kind kind, const char *text,
                                         const char *origin, struct problem *problem);

/* Adds the rules of a file; empty lines and comments, which begin with #, are skipped. Problems name file and line. */
MUST_CHECK errcode_t owner_map_add_file(struct owner_map *map, const char *path, struct problem *problem);

/*
 * Gives all files of the tree their new owners, from one thread; names are resolved once, in map. Problems name the
 * first file in tree order whose owner is in no range, or the rule with a name that the tree does not know.
 */
MUST_CHECK errcode_t owner_map_apply(struct owner_map *map, struct tree *tree, struct problem *problem);
