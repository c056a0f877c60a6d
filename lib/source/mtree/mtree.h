/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads mtree(5): lines of a path and what is said of the file there.
 *
 * Both styles: a name with a slash is a path from the root; one without is in the current directory, which is the root,
 * then any such name with type=dir, until "..". Names and link targets are encoded as by vis(3). /set and /unset give
 * values to the lines that follow; what a line says itself overrides them. A line may be continued after a backslash.
 *
 * nlink, cksum and so on are skipped; unknown keywords are refused. xattr.NAME=VALUE, in base64, is
 * an extension that go-mtree(1) has too. fsverity=ALGORITHM or ALGORITHM:DIGEST, as fsverity(1) prints it, or none, and
 * with it fsverity.block=BYTES, fsverity.salt=DIGITS and fsverity.signature=BASE64 are our own.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "tree/details.h"

/* Digests of a file's contents. */
enum mtree_digest { MTREE_MD5, MTREE_RMD160, MTREE_SHA1, MTREE_SHA256, MTREE_SHA384, MTREE_SHA512, MTREE_DIGEST_KINDS };

/* The fields that an entry gives. */
enum mtree_given {
	MTREE_TYPE = 1 << 0,
	MTREE_MODE = 1 << 1,
	MTREE_UID = 1 << 2,
	MTREE_GID = 1 << 3,
	MTREE_UNAME = 1 << 4, /* only without a uid */
	MTREE_GNAME = 1 << 5, /* only without a gid */
	MTREE_TIME = 1 << 6,
	MTREE_LINK = 1 << 7,
	MTREE_DEVICE = 1 << 8,
	MTREE_OPTIONAL = 1 << 9,  /* the file may be missing */
	MTREE_NOCHANGE = 1 << 10, /* one that is there stays as it is */
	MTREE_SIZE = 1 << 11,
	MTREE_CONTENTS = 1 << 12,
	MTREE_FLAGS = 1 << 13,
	MTREE_VERITY = 1 << 14,
	MTREE_VERITY_BLOCK = 1 << 15,
	MTREE_VERITY_SALT = 1 << 16,
	MTREE_VERITY_SIGNATURE = 1 << 17,
	MTREE_FIRST_DIGEST = 1 << 18, /* and so on in the order of enum mtree_digest */
};

struct mtree_entry {
	const char *path; /* from the root, without a slash at its beginning or end; "" for the root */
	unsigned long line;
	unsigned int given; /* of enum mtree_given */
	uint32_t type;      /* S_IFMT bits */
	uint16_t permissions;
	uint32_t flags; /* see tree/file_flags.h */
	uint32_t uid, gid;
	const char *uname, *gname;
	int64_t mtime_seconds;
	uint32_t mtime_nanoseconds;
	const char *target;
	uint32_t major, minor;
	uint64_t size_bytes;
	const char *contents;                    /* the path of the file that has them */
	const char *digests[MTREE_DIGEST_KINDS]; /* as many hexadecimal digits as each kind has, of either case */
	struct tree_verity verity;               /* algorithm 0: not to be protected by fs-verity */
	struct tree_xattr *xattrs;               /* in the order of the line */
	size_t xattr_count, xattr_capacity;
};

/*
 * Do these first bytes look like a manifest: "#mtree", or a first line, after comments, of a path and keywords? This is
 * for messages and to see whether a manifest is unpacked: its name makes a source a manifest, never its bytes.
 */
bool mtree_recognize(const char *bytes, size_t count);

/* Takes an entry; all that it points to lasts until the return. An error ends the reading. */
typedef errcode_t (*mtree_visit)(void *context, const struct mtree_entry *entry, struct problem *problem);

/*
 * Reads a whole manifest and visits its entries in order; nothing of it is kept, so that one of ten million lines
 * needs no memory. path is for problems, which name it and the line ("FILE:LINE"). EINVAL with a reason, ENOMEM, errors
 * of visit; those of reading the file, which leave the problem to the caller.
 */
MUST_CHECK errcode_t mtree_read(FILE *file, const char *path, mtree_visit visit, void *context,
                                struct problem *problem);

/* A file of which only its type is known: mode 0755 (0777 symlinks, 0644 all others), owner 0:0, and this time. */
struct tree_node mtree_plain_node(uint32_t type, int64_t mtime_seconds, uint32_t mtime_nanoseconds);

/*
 * Gives node what the entry says of permissions, owner (by number), flags and time, and of link target or device where
 * its type has one: /set may have said it of others. The target is copied into memory. ENOMEM.
 */
MUST_CHECK errcode_t mtree_entry_apply(const struct mtree_entry *entry, struct arena *memory, struct tree_node *node);

/* The same for fs-verity, which a regular file has in tree->details. ENOMEM, EOVERFLOW. */
MUST_CHECK errcode_t mtree_entry_protect(const struct mtree_entry *entry, struct tree *tree, struct tree_node *node);

/* What an entry has to say of a new file of this type and does not, as words that follow its path; NULL: nothing. */
const char *mtree_entry_lacks(const struct mtree_entry *entry, uint32_t type);

/* The keywords, one at a time, for mtree_read(). */

/*
 * Decodes vis(3) in place: \ooo, \^C, \M-C, \M^C, and \a \b \f \n \r \s \t \v \E \\ \#. False: another escape, or a
 * NUL.
 */
bool mtree_decode(char *text);

/*
 * Takes one keyword, cut at its first = (value NULL: none), into an entry, which then points to both. own: what this
 * line has given itself. Gives what is wrong as words that follow the keyword, NULL if nothing is.
 */
const char *mtree_read_keyword(struct mtree_entry *entry, unsigned int *own, char *keyword, char *value);

/* The digests, as keywords have them: "sha256". */
extern const struct mtree_digest_kind {
	const char *name;
	const struct nettle_hash *hash;
} mtree_digests[MTREE_DIGEST_KINDS];

/* Takes back what a keyword gave, as /unset says; "all": everything. False: the keyword is unknown. */
bool mtree_forget(struct mtree_entry *entry, const char *keyword);
