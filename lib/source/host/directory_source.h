/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host directory as a source: the whole tree below its path, scanned in parallel. The path itself may be a symlink;
 * all else is read with the caller's rights, without following symlinks. Of xattrs, user.*, trusted.*, security.* and
 * POSIX ACLs are kept, but for those that cannot be read; sets are numbered in the order in which nodes use them. A
 * file that vanishes meanwhile is an error. Errors name the path that could not be read. The result does not depend on
 * the pool or the host's order.
 */
#pragma once

#include "source/tree/source_kind.h"

extern const struct source_kind directory_source;
