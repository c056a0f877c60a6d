/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* POSIX ACLs: from the form of getxattr(2), 8 bytes an entry, to ext4's own, 4 bytes for entries without an id. */
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
