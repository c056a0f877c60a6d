/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the members of a tar archive lie in its file, so that they can be read there. The archive is not packed and
 * its author is not trusted. What names that lead out of it, members twice, or beyond the file's end would mean nobody
 * can say, so such an archive is refused.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct tar_members;

/*
 * Lists the archive that is open. path: for messages. The caller frees the list. EINVAL or EFBIG, with a reason; errors
 * of reading; EINTR; ENOMEM. Any thread.
 */
MUST_CHECK errcode_t tar_members_read(int descriptor, const char *path, struct tar_members **members,
                                      struct problem *problem);
void tar_members_destroy(struct tar_members *members);

/*
 * Where the bytes of a regular file lie, to which links may lead. ENOENT: no member has this name. EINVAL, with a
 * reason: its links lead in a circle or to nothing, or it is sparse.
 */
MUST_CHECK errcode_t tar_members_find(const struct tar_members *members, const char *name, uint64_t *start_bytes,
                                      uint64_t *bytes, struct problem *problem);

/* Is there a file or a link of this name? */
bool tar_members_have(const struct tar_members *members, const char *name);
