/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Somebody's own policy in an allocator: its functions are asked, and what they answer is checked. After the first
 * answer that cannot be they are asked no more, and every search fails with ELIBBAD.
 */
#pragma once

#include <stdatomic.h>

#include "compare/user_library.h"
#include "allocator/preallocation/file_search.h"
#include "allocator/search/group_search.h"

#define OWN_FAILURE_BYTES 256

struct user_policy {
	struct user_library *library;
	void *state; /* the library's */
	struct ext2mb_policy_filesystem filesystem;
	struct ext2mb_policy_view view;
	struct small_goal (*small_file_goal)(const struct ext2mb_file *file); /* where it passes */
	bool is_open;
	_Atomic int failures; /* 1: failure is being written, 2 or more: it can be read */
	char failure[OWN_FAILURE_BYTES];
};

/* For an allocator whose geometry is known. What its open function returns, ENOMEM. */
MUST_CHECK errcode_t user_policy_open(struct ext2mb *mb, struct user_policy *user);
void user_policy_close(struct user_policy *user);

/* Which answer could not be: "ext2mb_policy_goal: ..."; NULL: none. */
const char *user_policy_failure(const struct user_policy *user);

/* In place of the policy's. */
extern const struct user_operations user_operations;
MUST_CHECK errcode_t user_policy_search(struct free_search *search);
struct small_goal user_policy_small_goal(const struct ext2mb_file *file);
