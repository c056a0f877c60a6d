/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* POSIX ACLs: the form of getxattr(2), 8 bytes an entry, and ext4's own, with 4 bytes for entries without an id. */
#pragma once

#include <stdint.h>

#include "support/problem.h"

/*
 * Checks an ACL as getxattr(2) returns it and says how long it is on disk. EINVAL: not version 2, cut off, empty, a
 * tag or permission that does not exist, entries out of order, or one of the required entries is missing; the
 * kernel would refuse such an ACL from setxattr(2), and fail every access that it finds it on.
 */
MUST_CHECK errcode_t posix_acl_measure(const void *value, uint32_t value_bytes, uint32_t *disk_bytes);

/* Converts what posix_acl_measure() accepted. */
void posix_acl_encode(const void *value, uint32_t value_bytes, void *disk);

/*
 * The other way round, of untrusted bytes: how long the ACL is as getxattr(2) returns it. EINVAL: not version 1, cut
 * off, without entries, a tag that does not exist. What else setxattr(2) would refuse is for posix_acl_measure() to
 * say of the result.
 */
MUST_CHECK errcode_t posix_acl_decode_measure(const void *disk, uint32_t disk_bytes, uint32_t *value_bytes);

/* Converts what posix_acl_decode_measure() accepted. */
void posix_acl_decode(const void *disk, uint32_t disk_bytes, void *value);
