/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the options say of owners and metadata overrides what the source says. */
#pragma once

#include "populate/build/build.h"

/*
 * Changes build->tree, in this order: owners, the manifest, then the root directory's permissions and SELinux label.
 * (Its owner is taken from the formatted filesystem, since mke2fs may choose it.) What comes later wins.
 */
MUST_CHECK errcode_t apply_options(struct build *build);
