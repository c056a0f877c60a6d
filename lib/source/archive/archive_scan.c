// SPDX-License-Identifier: GPL-2.0-or-later
/* What is told of the member at hand, or of the archive. */
#include "source/archive/archive_scan.h"

#include <errno.h>

/* NULL: no member is at hand, or there is no memory. */
static char *member_path(const struct archive_scan *scan)
{
	const char *member = scan->entry ? archive_entry_pathname(scan->entry) : NULL;
	char *path = NULL;

	return member && asprintf(&path, "%s: %s", scan->name, member) >= 0 ? path : NULL;
}

errcode_t archive_scan_problem(const struct archive_scan *scan, errcode_t error, const char *action, const char *reason)
{
	SCOPE_FREE char *path = member_path(scan);

	if (!reason)
		return problem_set(scan->problem, error, path ? path : scan->name, action);
	return problem_set_reason(scan->problem, error, path ? path : scan->name, action, "%s", reason);
}

errcode_t archive_scan_failure(const struct archive_scan *scan)
{
	SCOPE_FREE char *path = member_path(scan);
	errcode_t error = scan->input.error ? scan->input.error : EBADMSG;

	return archive_input_problem(&scan->input, error, path ? path : scan->name, scan->problem);
}
