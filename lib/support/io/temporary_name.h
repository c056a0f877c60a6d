/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The name of a file while it is made, beside its own: .NAME.e2new-HOST-BOOT-N. It says on which host and since which
 * start of it there was a run that made it, so that what a lost host leaves on a shared filesystem can be told from
 * what is being made. The manual page e2populate(8) describes it for other programs.
 */
#pragma once

#include <stdbool.h>

/* The caller frees it; NULL: no memory. A long name is cut. */
char *temporary_name_of(const char *final_path, unsigned int number);

/* Has a file of this name, without a folder, been made for final_path, on whatever host and by whatever version? */
bool temporary_name_is_for(const char *name, const char *final_path);

/* Was it made since this host was started, so that its lock is known here? Any path. */
bool temporary_name_is_ours(const char *path);
