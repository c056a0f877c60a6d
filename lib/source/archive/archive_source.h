/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An archive as a source. Its headers are read once, in order. Contents stay where they are if they lie in a regular
 * file as they are, and are read by copying workers; what has to be unpacked or comes through a pipe is kept in an
 * unlinked temporary file. So memory grows with the number of members only.
 *
 * Names are bytes, whatever the locale; see source/tree/tree_builder.h for what paths may be. Of members with the same
 * path the last one counts. Errors name the archive and, where one is concerned, the member. The pool numbers the
 * nodes; the caller reads the members.
 */
#pragma once

#include "source/archive/archive_kind.h"
#include "source/tree/source_kind.h"

extern const struct source_kind archive_source;
