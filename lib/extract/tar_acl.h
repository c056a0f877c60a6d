/* SPDX-License-Identifier: GPL-2.0-or-later */
/* POSIX ACLs, as getxattr(2) gives them, in the text form that tar has: "user::rwx,user:1000:r-x,…". */
#pragma once

#include "tree/tree.h"

/* "SCHILY.acl.access" or "SCHILY.acl.default"; NULL: the xattr is no ACL, or a damaged one, and is kept as it is. */
const char *tar_acl_keyword(const struct tree_xattr *xattr);

/* Of what has a keyword; ids are numbers. The caller frees it; NULL: no memory. */
char *tar_acl_text(const struct tree_xattr *xattr);
