/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the options say of owners and metadata goes before what the source says. */
#ifndef POPULATE_ATTRIBUTES_H
#define POPULATE_ATTRIBUTES_H

#include "populate/build.h"

/*
 * Changes build->tree, in this order: owners, the manifest, then the root directory's permissions and SELinux label.
 * (Its owner is taken from the formatted filesystem, since mke2fs may choose it.) What comes later wins.
 */
MUST_CHECK errcode_t attributes_apply(struct build *build);

/*
 * The -E list without what mke2fs(8) does not know before 1.47.2 and attributes_apply() does; the caller frees it.
 * NULL list: NULL.
 */
MUST_CHECK errcode_t attributes_strip(const char *extended, char **ret);

#endif
