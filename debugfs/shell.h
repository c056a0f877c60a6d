/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What commands share: the filesystem, the policy, and how it went. */
#pragma once

#include "filesystem.h"

struct shell {
	struct filesystem filesystem;
	struct policy_options policy; /* of the next allocator */
	struct user_library *user;    /* owned; that has a policy, or had one; NULL: none */
	struct ext2mb_stats counted;  /* by this allocator when stats -r was given last */
	int invocation;               /* libss's number of the shell */
	int status;                   /* the exit status: that of the first command that failed */
	bool is_json;
	bool is_interactive;
	bool is_over;        /* quit was given */
	bool is_output_lost; /* and the user knows */
};

/* Remembers the status of a command that failed, if it is the first one. */
void shell_fail(struct shell *shell, int status);

/*
 * Tells of groups that have turned out to be corrupt since the user was told last, once for all that a command finds.
 * Returns the command's status so far: EXIT_FAILURE if there were any.
 */
int shell_tell_corruption(struct shell *shell);

/* If a library's policy has answered what cannot be, that is why a command failed, and the problem says so. */
errcode_t shell_explain_policy(const struct shell *shell, errcode_t error, struct problem *problem);
