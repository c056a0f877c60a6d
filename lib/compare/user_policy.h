/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A user's policy in an allocator: calls its functions and checks their answers. After the first impossible answer
 * they are not called any more, and every search fails with ELIBBAD.
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
	struct small_goal (*small_file_goal)(const struct ext2mb_file *file); /* used if the library passes */
	bool is_open;
	_Atomic int failures; /* 1: failure is being written, 2 or more: it can be read */
	char failure[OWN_FAILURE_BYTES];
};

/* Opens the policy on an allocator whose geometry is known. Errors of the library's open function, ENOMEM. */
MUST_CHECK errcode_t user_policy_open(struct ext2mb *mb, struct user_policy *user);
void user_policy_close(struct user_policy *user);

/* The first impossible answer: "ext2mb_policy_goal: ..."; NULL: none. */
const char *user_policy_failure(const struct user_policy *user);

/* The functions that replace the policy's. */
extern const struct user_operations user_operations;
MUST_CHECK errcode_t user_policy_search(struct free_search *search);
struct small_goal user_policy_small_goal(const struct ext2mb_file *file);
