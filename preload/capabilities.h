/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files fuse2fs has found to have no capability (security.capability). Before each write the kernel asks for it,
 * and fuse2fs looks for the path from the root on, and verifies the checksum of each block of a directory that it
 * reads: that was more than half of what it did for a write of 4 KiB.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Is it the name of that xattr? */
bool capability_is_meant(const char *name);

/* Changes with capabilities_forget(). */
uint64_t capabilities_generation(void);

/* Has this path none, as the user was told who asks now? */
bool capability_is_lacking(const char *path);

/* fuse2fs has said so; generation: from before it looked. Where there is no memory it will be asked again. */
void capability_note_lacking(const char *path, uint64_t generation);

/* After an operation that may have changed what was noted, and before its end is told. */
void capabilities_forget(void);
