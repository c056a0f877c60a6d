/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands. A new one is a function, declared here, a row of the table in requests.c, a request in debugmb.ct, a
 * text in help.c, and an entry in debugmb.8.
 */
#pragma once

#include <ss/ss.h>

#include "shell.h"

/* Made from debugmb.ct. */
extern ss_request_table debugmb_requests;

/* Returned by a command whose failure has been reported already; see also words.h. */
#define FAILURE_IS_TOLD ((errcode_t)-2)

/* The command's words are in shell->words. Recording shell->problem is optional. */
typedef errcode_t (*request_function)(struct shell *shell);

/* Prints the usage of each command, for --help. */
void requests_print_usages(void);

/* The function that all requests of debugmb.ct call. */
void run_request(int count, const char *const *words, int invocation, void *shell);

errcode_t request_open(struct shell *shell);
errcode_t request_close(struct shell *shell);
errcode_t request_mb_groups(struct shell *shell);
errcode_t request_mb_stats(struct shell *shell);
errcode_t request_mb_structs(struct shell *shell);
errcode_t request_orders(struct shell *shell);
errcode_t request_goals(struct shell *shell);
errcode_t request_policy(struct shell *shell);
errcode_t request_alloc(struct shell *shell);
errcode_t request_free(struct shell *shell);
errcode_t request_commit(struct shell *shell);
errcode_t request_prealloc(struct shell *shell);
errcode_t request_orphans(struct shell *shell);
errcode_t request_explain(struct shell *shell);
errcode_t request_map(struct shell *shell);
errcode_t request_check(struct shell *shell);
errcode_t request_sync(struct shell *shell);
errcode_t request_transaction(struct shell *shell);
errcode_t request_stats(struct shell *shell);
