/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File flags (source/tree/file_flags.h) on their way into inodes. Directories, archives and manifests have them in the
 * tree. Regular files of the host are asked when they are opened for their contents: opening them once more while the
 * tree is scanned took 3.5 us a file, the question itself 0.5 us (tmpfs).
 */
#pragma once

#include "populate/build/build.h"

/* Must the file itself be asked, and has not been yet? */
bool flags_are_missing(const struct build *build, uint32_t node);

/* Notes the answer of content_reader_flags(), or FILE_FLAGS_UNREAD. For the task that has the node. */
void flags_note(const struct build *build, uint32_t node, uint32_t flags);

/* What the inode gets. */
uint32_t flags_of(const struct build *build, uint32_t node);

/*
 * Adds warnings of flags that could not be read or kept, and of ACLs that could not be kept, if there are any, once all
 * are known. Main thread; ENOMEM.
 */
MUST_CHECK errcode_t flags_warn(const struct build *build, struct warnings *warnings);
