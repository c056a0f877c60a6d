/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of commands, and what they share. */
#include "requests.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>

#include <ss/ss.h>

#include "command/tool.h"
#include "help.h"
#include "support/io/whole_io.h"
#include "words.h"

static errcode_t request_help(struct shell *shell);
static errcode_t request_quit(struct shell *shell);

enum need {
	NEEDS_NOTHING,
	NEEDS_FILESYSTEM,
	NEEDS_WRITABLE,
};

static const struct request {
	const char *name;
	const char *arguments; /* as shown by help */
	enum need need;
	int least, most; /* words after the name, options included */
	request_function run;
} requests[] = {
	{ "open", "[-w|-j] IMAGE|DEVICE|LABEL=...|UUID=...", NEEDS_NOTHING, 1, 3, request_open },
	{ "close", "", NEEDS_FILESYSTEM, 0, 0, request_close },
	{ "mb_groups", "[GROUP|FIRST-LAST|FIRST-]", NEEDS_FILESYSTEM, 0, 1, request_mb_groups },
	{ "mb_stats", "", NEEDS_FILESYSTEM, 0, 0, request_mb_stats },
	{ "mb_structs", "", NEEDS_FILESYSTEM, 0, 0, request_mb_structs },
	{ "orders", "[ORDER]", NEEDS_FILESYSTEM, 0, 1, request_orders },
	{ "goals", "", NEEDS_FILESYSTEM, 0, 0, request_goals },
	{ "policy", "[NAME|./LIBRARY|TUNABLE=VALUE]", NEEDS_FILESYSTEM, 0, 1, request_policy },
	{ "alloc", "[-g GOAL] [-i INODE] [-p PARENT] [-f FLAG,...] LENGTH", NEEDS_WRITABLE, 1, 9, request_alloc },
	{ "free", "START LENGTH", NEEDS_WRITABLE, 2, 2, request_free },
	{ "commit", "", NEEDS_WRITABLE, 0, 0, request_commit },
	{ "prealloc", "", NEEDS_FILESYSTEM, 0, 0, request_prealloc },
	{ "orphans", "[add INODE|del INODE]", NEEDS_FILESYSTEM, 0, 2, request_orphans },
	{ "explain", "LENGTH [GOAL]", NEEDS_FILESYSTEM, 1, 2, request_explain },
	{ "map", "[GROUP|FIRST-LAST|FIRST-]", NEEDS_FILESYSTEM, 0, 1, request_map },
	{ "check", "", NEEDS_FILESYSTEM, 0, 0, request_check },
	{ "sync", "", NEEDS_WRITABLE, 0, 0, request_sync },
	{ "transaction", "", NEEDS_WRITABLE, 0, 0, request_transaction },
	{ "stats", "[-r]", NEEDS_FILESYSTEM, 0, 1, request_stats },
	{ "help", "[COMMAND]", NEEDS_NOTHING, 0, 1, request_help },
	{ "quit", "", NEEDS_NOTHING, 0, 0, request_quit },
};

#define REQUESTS (sizeof(requests) / sizeof(*requests))

static const struct request *find(const char *name)
{
	for (size_t index = 0; index < REQUESTS; index++)
		if (strcmp(requests[index].name, name) == 0)
			return &requests[index];
	return NULL;
}

static void print_usage(const struct request *request, FILE *stream)
{
	fprintf(stream, "%s%s%s\n", request->name, *request->arguments ? " " : "", request->arguments);
}

void requests_print_usages(void)
{
	puts("\nCommands:");
	for (size_t index = 0; index < REQUESTS; index++) {
		printf("  ");
		print_usage(&requests[index], stdout);
	}
}

/* The line of debugmb.ct, which list_requests shows. */
static const char *meaning_of(const char *name)
{
	for (const ss_request_entry *entry = debugmb_requests.requests; entry->command_names; entry++)
		if (strcmp(entry->command_names[0], name) == 0)
			return entry->info_string;
	return "";
}

static errcode_t request_help(struct shell *shell)
{
	const struct request *request = shell->word_count > 1 ? find(shell->words[1]) : NULL;

	if (shell->word_count > 1 && !request)
		return words_refuse(&shell->problem, shell->words[1], "it is no command");
	if (request) {
		print_usage(request, stdout);
		printf("%s.\n%s", meaning_of(request->name), help_text(request->name));
		return 0;
	}
	for (size_t index = 0; index < REQUESTS; index++)
		printf("%-11s  %s\n", requests[index].name, meaning_of(requests[index].name));
	puts("help COMMAND: its arguments, the words of its output, and an example");
	return 0;
}

static errcode_t request_quit(struct shell *shell)
{
	shell->is_over = true;
	ss_abort_subsystem(shell->invocation, 0);
	return 0;
}

static errcode_t check_need(struct shell *shell, const struct request *request)
{
	if (request->need == NEEDS_NOTHING)
		return 0;
	if (!filesystem_is_open(&shell->filesystem))
		return problem_set_reason(&shell->problem, EBADF, NULL, request->name, "no filesystem is open");
	if (request->need == NEEDS_WRITABLE && !shell->filesystem.is_writable)
		return problem_set_reason(&shell->problem, EROFS, NULL, request->name,
		                          "the filesystem was not opened with -w");
	return 0;
}

static errcode_t run(struct shell *shell, const struct request *request)
{
	errcode_t error = check_need(shell, request);

	if (error)
		return error;
	if (shell->word_count - 1 < request->least || shell->word_count - 1 > request->most)
		return WRONG_USAGE;
	/* Restart getopt(3). Its own messages are off: they would not name the command. */
	optind = 0;
	opterr = 0;
	error = shell_explain_policy(shell, request->run(shell));
	errcode_t output_error = flush_output(stdout);

	/* The output of a script is lost from here on. The reason may not be known any more. */
	if (!output_error)
		return error;
	shell->is_over = shell->is_output_lost = true;
	return problem_set(&shell->problem, error ? error : output_error, "standard output", "cannot write");
}

static int tell(const struct request *request, errcode_t error, struct problem *problem)
{
	if (error == FAILURE_IS_TOLD)
		return EXIT_FAILURE;
	if (error != WRONG_USAGE) {
		problem_set(problem, error, NULL, request->name);
		return print_problem(problem);
	}
	if (problem->error) {
		print_problem(problem);
	} else {
		fputs("Usage: ", stderr);
		print_usage(request, stderr);
	}
	return EXIT_USAGE;
}

void run_request(int count, const char *const *words, int invocation UNUSED, void *context)
{
	struct shell *shell = context;
	const struct request *request = find(words[0]);
	sigset_t interrupt, before;

	shell->words = (char **)(uintptr_t)words;
	shell->word_count = count;
	/* libss leaves a command by longjmp(3) when it is interrupted: locks would stay locked. */
	sigemptyset(&interrupt);
	if (shell->is_interactive)
		sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, &before);
	errcode_t error = run(shell, request);
	if (error)
		shell_fail(shell, tell(request, error, &shell->problem));
	problem_clear(&shell->problem);
	shell_tell_corruption(shell);
	sigprocmask(SIG_SETMASK, &before, NULL);
}
