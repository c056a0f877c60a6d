/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The limits of the control groups that this process is in, of both versions (cgroups(7)). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns what a group allows, by the files in its directory; UINT64_MAX: it has no limit. */
typedef uint64_t control_group_reader(const char *directory, bool is_first_version);

/*
 * Returns the least that our group and those above it allow, with a controller as "memory"; UINT64_MAX if no group has
 * a limit, or if /proc or /sys/fs/cgroup is not there.
 */
uint64_t control_group_least(const char *controller, control_group_reader *read);
