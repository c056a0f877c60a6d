/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the filesystem will have projects (feature project), before anything is known of it: asking the host for
 * those of its files takes a call, or three before Linux 6.17, for each of them.
 */
#pragma once

#include "populate/build/options.h"

/*
 * mke2fs is asked, on a small empty file, with those options that say what features there are; its configuration may,
 * too. Where it makes none, since something else is wrong, they are wanted. Errors of the host and of running it;
 * EINTR.
 */
MUST_CHECK errcode_t projects_wanted(const struct populate_options *options, bool *ret, struct problem *problem);
