/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an output cannot hold of files that it holds otherwise: tar has no sockets, and only root changes owners. Each
 * kind is counted, and told once, with the first file that it concerns in the order of the tree; or each file is named.
 */
#pragma once

#include "tree/tree.h"

enum loss {
	LOSS_SOCKET, /* the file itself: the form has none of its type */
	LOSS_DEVICE, /* likewise: it could not be made */
	LOSS_OWNER,
	LOSS_MODE,
	LOSS_XATTR,
	LOSS_XATTR_UNKNOWN, /* the source has some that the tree does not hold */
	LOSS_FLAGS,
	LOSS_TIME,
	LOSS_PROJECT,
	LOSS_VERITY,
	LOSS_KINDS,
};

/* A worker's, or all of them together. Zero-initialise. */
struct losses {
	bool names_each; /* they are listed, too */
	struct {
		uint64_t count;
		uint32_t first;  /* the lowest node */
		errcode_t error; /* of that one; 0: the form has no place for it */
	} kinds[LOSS_KINDS];
	struct loss_record {
		uint32_t node;
		enum loss loss;
		errcode_t error;
	} * list;
	size_t count, capacity;
};

/* Once for each node and kind. ENOMEM, only where each is named. */
MUST_CHECK errcode_t losses_note(struct losses *losses, enum loss loss, uint32_t node, errcode_t error);

/* Adds those of a worker. ENOMEM. */
MUST_CHECK errcode_t losses_add(struct losses *all, const struct losses *more);

bool losses_are_any(const struct losses *losses);

/*
 * As warnings: one for each kind, or for each file, in the order of the tree. form: what holds the files now ("tar").
 * ENOMEM.
 */
MUST_CHECK errcode_t losses_tell(struct losses *losses, const struct tree *tree, const char *form,
                                 struct warnings *warnings);

void losses_free(struct losses *losses);
