/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A shared library with a user's policy (ext2mb_policy.h), loaded, with its functions looked up. */
#pragma once

#include <stdbool.h>

#include "ext2fs/ext2mb_policy.h"
#include "support/problem.h"

struct user_library {
	char *path;
	void *handle;
	int (*goal)(void *state, const struct ext2mb_policy_view *view, const struct ext2mb_policy_file *file,
	            uint64_t *block);
	int (*normalize)(void *state, const struct ext2mb_policy_view *view, const struct ext2mb_policy_file *file,
	                 uint64_t *start, uint64_t *count);
	int (*next_group)(void *state, const struct ext2mb_policy_view *view, const struct ext2mb_policy_search *search,
	                  uint32_t *group);
	int (*give_up)(void *state, const struct ext2mb_policy_view *view, const struct ext2mb_policy_search *search,
	               const struct ext2mb_policy_run *run);
	int (*open)(const struct ext2mb_policy_view *view, void **state); /* NULL: the library has none */
	void (*close)(void *state);
	errcode_t open_error; /* what its open function last returned */
};

/* Returns whether a policy's name is a library's path: as for dlopen(3), a path has a slash. */
bool user_library_is_path(const char *name);

/* ELIBBAD: the file is not a library for this program, and the problem says why. ENOMEM. */
MUST_CHECK errcode_t user_library_load(const char *path, struct user_library **ret, struct problem *problem);

/* Called when no allocator uses the library any more. NULL is allowed. */
void user_library_unload(struct user_library *library);

/* If its open function has failed, says so in the problem. Returns error. */
errcode_t user_library_explain(const struct user_library *library, errcode_t error, struct problem *problem);

/* Its name in reports: the last part of its path. */
const char *user_library_name(const struct user_library *library);
