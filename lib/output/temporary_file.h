/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that disappears if we are killed before it is complete: until then it has no name, if the filesystem supports
 * that (O_TMPFILE) and /proc gives it a path that other programs can open. Otherwise it has a temporary name in the
 * directory of the final one. In both cases it has the temporary name for a moment before it gets the final one, since
 * linkat(2) replaces no file.
 *
 * We hold a lock (flock(2)) on it as long as we live. A file that an earlier run left under a temporary name is removed
 * if we get the lock on it: then no run uses it any more. Other programs do not name files like that; the name
 * (support/io/temporary_name.h) tells whose lock it is where that of another host cannot be seen.
 */
#pragma once

#include <stdbool.h>

#include "support/problem.h"

struct temporary_file {
	char *path;     /* valid for this process and its children, until the file has its final name; owned */
	int descriptor; /* open for reading and writing */
	bool has_name;  /* path is that in a directory */
};

/* Makes one that is to become final_path, and removes what is left of earlier ones. The caller calls temporary_end().
 */
MUST_CHECK errcode_t temporary_open(const char *final_path, struct temporary_file *file);

/* Gives it its temporary name, so that only rename(2) can fail after that. */
MUST_CHECK errcode_t temporary_name(struct temporary_file *file, const char *final_path);

/* Gives it its final name. The file that had this name is gone. */
MUST_CHECK errcode_t temporary_rename(struct temporary_file *file, const char *final_path);

/* Removes it, unless it has its final name, and frees; the descriptor stays open. Does nothing to what is all zeros. */
void temporary_end(struct temporary_file *file);
