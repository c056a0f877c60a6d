/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files fuse2fs has found to have no capability (security.capability). The kernel asks for it before each
 * write. fuse2fs then looks the path up from the root, and verifies the checksum of each directory block that it
 * reads: that took more than half of the time of a write of 4 KiB.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Is it the name of that xattr? */
bool capability_is_meant(const char *name);

/* Changes with capabilities_forget(). */
uint64_t capabilities_generation(void);

/* Has fuse2fs already told the user who asks now that this path has none? */
bool capability_is_lacking(const char *path);

/* Notes that fuse2fs has said so. generation is the one from before it looked. Without memory nothing is noted, and
 * fuse2fs is asked again. */
void capability_note_lacking(const char *path, uint64_t generation);

/* Called after an operation that may have changed what was noted, and before the kernel is told its result. */
void capabilities_forget(void);
