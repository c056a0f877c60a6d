/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder of its own for a test that has images, and commands in it. Every failure ends the test. */
#pragma once

#define SCRATCH_BYTES 80 /* of the folder's path, so that paths of files in it fit into commands */

/* Makes the folder below TMPDIR, or below /tmp; removes it with all that is in it. */
void scratch_make(const char *name, char folder[SCRATCH_BYTES]);
void scratch_remove(const char *folder);

/* The same for a whole process: the folder becomes the current one. For unchecked fixtures. */
void scratch_enter(const char *name);
void scratch_leave(void);

/* A command of the shell, formatted as by printf, which must succeed. */
void scratch_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
