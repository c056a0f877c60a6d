/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the header of a member of tar says in its own words. libarchive (3.6 to 3.7) reads numbers up to the first
 * character that is not a digit, leaves out what is damaged in an ACL or an extended attribute, makes ids in ACLs from
 * 2^31 on 2147483647, and loses the sign of -0.97 seconds, all without a word.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct archive_scan;

/* Of tar only, from its extended headers; of anything else nothing is known. */
struct archive_header {
	bool has_time;
	int64_t seconds;
	uint32_t nanoseconds;
	const char *access_acl, *default_acl; /* NULL: not there; in scan->member_memory */
};

/*
 * Looks at the header of scan->entry, which libarchive has just read, and fills scan->header. EBADMSG with a reason
 * where a tar header is damaged; ENOMEM. (libarchive itself refuses those of cpio.)
 */
MUST_CHECK errcode_t archive_header_read(struct archive_scan *scan);
