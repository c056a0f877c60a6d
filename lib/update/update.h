/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lays sources over an existing image: what is the same stays untouched. */
#pragma once

#include "update/build/options.h"
#include "update/build/report.h"

/* Called for each action of a dry run, or of options->lists_actions, in their order: '+' a name is new, '=' a file is
 * replaced, '~' only metadata changes, '-' a name goes. path is valid during the call. */
typedef void (*update_listener)(void *context, char verb, const char *path);

/*
 * Changes options->image. The report is filled in after errors, too; the caller clears it. Errors name what they are
 * about; after them the image is as it was, or, unless options->is_atomic, a part of the changes has been made, and the
 * same call again completes them.
 */
MUST_CHECK errcode_t update(const struct update_options *options, update_listener listener, void *context,
                            struct update_report *report, struct problem *problem);
