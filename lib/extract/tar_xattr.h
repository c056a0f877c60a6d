/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extended attributes as records of pax. SCHILY.xattr.NAME has the value as it is, and is what all tar programs read.
 * The first "=" ends the name there, for bsdtar and for us; GNU tar reads "%3D" and "%25" in a name as "=" and "%". A
 * name with one of these is a LIBARCHIVE.xattr record, in which it is escaped, and the value is in base64: bsdtar and
 * we read it, and GNU tar says that it ignores it, where it would have given the file another attribute.
 */
#pragma once

#include "extract/tar_header.h"
#include "tree/tree.h"

/* ENOMEM. */
MUST_CHECK errcode_t tar_xattr_add(struct tar_records *records, const struct tree_xattr *xattr);
