/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keywords of mtree(5), one at a time. */
#pragma once

#include "source/mtree/mtree.h"

/*
 * Decodes vis(3) in place: \ooo, and \a \b \f \n \r \s \t \v \\ \#. False: another escape, or a NUL.
 */
bool mtree_decode(char *text);

/*
 * Takes one keyword, cut at its first = (value NULL: none), into an entry, which then points to both. own: what this
 * line has given itself. Gives what is wrong as words that follow the keyword, NULL if nothing is.
 */
const char *mtree_take(struct mtree_entry *entry, unsigned int *own, char *keyword, char *value);

/* The digests, as keywords have them: "sha256". */
extern const struct mtree_digest_kind {
	const char *name;
	const struct nettle_hash *hash;
} mtree_digests[MTREE_DIGEST_KINDS];

/* Takes back what a keyword gave, as /unset says; "all": everything. False: the keyword is unknown. */
bool mtree_forget(struct mtree_entry *entry, const char *keyword);
