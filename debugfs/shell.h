/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State that commands share: the filesystem, the policy, and the exit status. */
#pragma once

#include "filesystem.h"

struct shell {
	char **words; /* of the command that is being run; words[0] is its name */
	int word_count;
	struct problem problem;     /* why it failed */
	struct place_options where; /* of each filesystem */
	struct filesystem filesystem;
	struct policy_options policy; /* of the next allocator */
	struct user_library *user;    /* owned; the library of the present or an earlier policy; NULL: none */
	struct ext2mb_stats counted;  /* counters at the last stats -r */
	int invocation;               /* libss's number of the shell */
	int status;                   /* the exit status: that of the first command that failed */
	bool is_json;
	bool is_interactive;
	bool is_over;        /* quit was given */
	bool is_output_lost; /* and this has been reported */
};

/* Remembers the status of a command that failed, if it is the first one. */
void shell_fail(struct shell *shell, int status);

/*
 * Reports groups that were found to be corrupt since the last report, once per command. Returns EXIT_FAILURE if there
 * were any.
 */
int shell_tell_corruption(struct shell *shell);

/* Warns where the filesystem that was just opened for reading goes beyond the end of its file. */
void shell_tell_end(const struct shell *shell);

/* If a command failed because a library's policy gave an impossible answer, says so in its problem. */
errcode_t shell_explain_policy(struct shell *shell, errcode_t error);
