/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* POSIX ACLs: the form of getxattr(2), 8 bytes an entry, and ext4's own, with 4 bytes for entries without an id. */
#pragma once

#include <stdint.h>

#include "support/problem.h"

/*
 * Checks an ACL as getxattr(2) returns it, and returns its length on disk. EINVAL: not version 2, cut off, empty, a
 * tag or permission that does not exist, entries out of order, or one of the required entries is missing; the kernel
 * refuses such an ACL in setxattr(2), and fails every access to an inode that has it.
 */
MUST_CHECK errcode_t posix_acl_measure(const void *value, uint32_t value_bytes, uint32_t *disk_bytes);

/* Converts an ACL that posix_acl_measure() has accepted. */
void posix_acl_encode(const void *value, uint32_t value_bytes, void *disk);

/*
 * Returns the length for getxattr(2) of an ACL from untrusted bytes on disk. EINVAL: not version 1, cut off, without
 * entries, a tag that does not exist. posix_acl_measure() finds in the result everything else that setxattr(2)
 * refuses.
 */
MUST_CHECK errcode_t posix_acl_decode_measure(const void *disk, uint32_t disk_bytes, uint32_t *value_bytes);

/* Converts an ACL that posix_acl_decode_measure() has accepted. */
void posix_acl_decode(const void *disk, uint32_t disk_bytes, void *value);
