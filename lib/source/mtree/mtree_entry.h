/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an entry of a manifest makes of a node. */
#pragma once

#include "source/mtree/mtree.h"

/* A file of which only its type is known: mode 0755 (0777 symlinks, 0644 all others), owner 0:0, and this time. */
struct tree_node mtree_plain_node(uint32_t type, int64_t mtime_seconds, uint32_t mtime_nanoseconds);

/*
 * Gives node what the entry says of permissions, owner (by number), flags and time, and of link target or device where
 * its type has one: /set may have said it of others. The target is copied into memory. ENOMEM.
 */
MUST_CHECK errcode_t mtree_entry_apply(const struct mtree_entry *entry, struct arena *memory, struct tree_node *node);

/* What an entry has to say of a new file of this type and does not, as words that follow its path; NULL: nothing. */
const char *mtree_entry_lacks(const struct mtree_entry *entry, uint32_t type);
