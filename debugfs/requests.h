/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands. A new one is a function, declared here, a row of the table in requests.c, a request in debugmb.ct, and
 * an entry in debugmb.8.
 */
#pragma once

#include "filesystem.h"

struct shell {
	struct filesystem filesystem;
	struct policy_options policy; /* of the next allocator */
	struct ext2mb_stats counted;  /* by this allocator when stats -r was given last */
	int invocation;               /* libss's number of the shell */
	int status;                   /* the exit status: that of the first command that failed */
	bool is_json;
	bool is_interactive;
	bool is_over;        /* quit was given */
	bool is_output_lost; /* and the user knows */
};

/* What a command returns where somebody else has told the user of the failure; see also words.h. */
#define FAILURE_IS_TOLD ((errcode_t)-2)

/* words[0] is the command's name; a problem need not be recorded. */
typedef errcode_t (*request_function)(struct shell *shell, int count, char **words, struct problem *problem);

/* How each command is used, for --help. */
void requests_print_usages(void);

/* What all of debugmb.ct calls. */
void run_request(int count, const char *const *words, int invocation, void *shell);

/* Remembers the status of a command that failed, if it is the first one. */
void shell_fail(struct shell *shell, int status);

/*
 * Tells of groups that have turned out to be corrupt since the user was told last, once for all that a command finds.
 * Returns the command's status so far: EXIT_FAILURE if there were any.
 */
int shell_tell_corruption(struct shell *shell);

errcode_t request_open(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_close(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_mb_groups(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_mb_stats(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_mb_structs(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_orders(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_goals(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_policy(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_alloc(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_free(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_commit(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_prealloc(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_orphans(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_explain(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_map(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_check(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_sync(struct shell *shell, int count, char **words, struct problem *problem);
errcode_t request_stats(struct shell *shell, int count, char **words, struct problem *problem);
