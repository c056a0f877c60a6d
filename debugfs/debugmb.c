/* SPDX-License-Identifier: GPL-2.0-or-later */
/* debugmb: reads options, and commands from -R, a script, or a user at a terminal. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ss/ss.h>

#include "command/command_line.h"
#include "compare/user_library.h"
#include "disk/source_limits_option.h"
#include "requests.h"
#include "support/io/whole_io.h"
#include "support/text/text_line.h"

const char *tool_name = "debugmb";

struct command {
	const char *name; /* of the filesystem; NULL: none is opened at first */
	const char *request;
	const char *script;
	uint64_t most_unpacked_bytes;
	bool is_writable;
	bool is_journalled;
	bool is_json;
};

static const char usage[] =
	"Usage: debugmb [options] [IMAGE|DEVICE|LABEL=...|UUID=...]\n"
	"Looks into the block allocator of an ext4 filesystem that is not mounted, and works with it, by commands.\n";

static const char epilogue[] = "\n"
			       "Examples:\n"
			       "  debugmb -R 'map 0-7' disk.img          a picture of eight groups\n"
			       "  debugmb -R 'explain 64' disk.img       how 64 blocks would be found\n"
			       "  debugmb --json -R mb_groups disk.img   free space by groups, for programs\n";

/* For completion: see tests/house/manual. */
#define COMMANDS                                                                                                       \
	"open|close|mb_groups|mb_stats|mb_structs|orders|goals|policy|alloc|free|commit|prealloc|orphans|explain|map|" \
	"check|sync|transaction|stats|help|quit"

static void set_limit(struct command *command, const struct taken_option *option)
{
	source_limits_read_unpacked(option->argument, &command->most_unpacked_bytes);
}

static const struct option_row options[] = {
	{ .heading = "Options" },
	{ .letter = 'w', FIELD(is_writable), .help = "open the filesystem for writing too" },
	{ .letter = 'j',
	  FIELD(is_journalled),
	  .help = "the same through its journal: all changes until a sync are one transaction" },
	{ .letter = 'R',
	  .argument = "COMMAND",
	  .kind = ARGUMENT_TEXT,
	  FIELD(request),
	  .words = COMMANDS,
	  .help = "run this command, and end" },
	{ .letter = 'f',
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  FIELD(script),
	  .help = "run the commands in FILE, a line each, and end (-: standard input)" },
	UNPACKED_LIMIT_ROW(set_limit),
	{ .name = "json", FIELD(is_json), .help = "print what commands show as JSON" },
	{ 0 },
};

static const struct command_line command_line = {
	.usage = usage, .tables = { options }, .print_epilogue = requests_print_usages, .epilogue = epilogue
};

static void refuse_line(struct shell *shell, const char *line, const char *reason)
{
	print_failure_reason(EINVAL, line, "cannot run", "%s", reason);
	shell_fail(shell, EXIT_USAGE);
}

/* For an odd number of quotes libss prints a message of its own, but returns success. */
static bool has_open_quote(const char *line)
{
	bool is_open = false;

	for (; *line; line++)
		is_open ^= *line == '"';
	return is_open;
}

static void run_line(struct shell *shell, char *line)
{
	if (has_open_quote(line))
		refuse_line(shell, line, "a quotation mark is missing");
	else if (ss_execute_line(shell->invocation, line))
		refuse_line(shell, line, "there is no such command: help shows all");
}

/* Shows each command before it is run, as debugfs does, except with --json, whose output it would break. */
static errcode_t run_script_line(void *context, const char *origin UNUSED, char *line, size_t bytes,
                                 struct problem *problem)
{
	struct shell *shell = context;

	if (bytes && line[bytes - 1] == '\n')
		line[--bytes] = '\0';
	/* Some editors end lines with \r\n. */
	if (bytes && line[bytes - 1] == '\r')
		line[--bytes] = '\0';
	if (strlen(line) < bytes) {
		refuse_line(shell, line, "the line has a byte of zero");
		return 0;
	}
	if (shell->is_over || !line[strspn(line, " \t")])
		return 0;
	if (!shell->is_json)
		printf("%s%s\n", *line == '#' ? "" : "debugmb: ", line);
	/* Flush before any message about the command. */
	errcode_t error = flush_output(stdout);
	if (error) {
		shell->is_output_lost = true;
		return problem_set(problem, error, "standard output", "cannot write");
	}
	if (*line != '#')
		run_line(shell, line);
	return 0;
}

static void run_script(struct shell *shell, const char *path)
{
	struct problem problem = { 0 };

	if (text_line_each(strcmp(path, "-") ? path : "/dev/stdin", run_script_line, shell, &problem))
		shell_fail(shell, print_problem(&problem));
}

static void run_interactively(struct shell *shell)
{
	shell->is_interactive = true;
	/* History, and completion of commands, if readline or libedit is installed. */
	ss_get_readline(shell->invocation);
	ss_listen(shell->invocation);
	shell->status = EXIT_SUCCESS;
}

static void run_all(struct shell *shell, const struct command *command)
{
	if (command->request) {
		SCOPE_FREE char *line = strdup(command->request);

		if (!line)
			exit_without_memory();
		run_line(shell, line);
	} else if (command->script) {
		run_script(shell, command->script);
	} else if (!isatty(STDIN_FILENO)) {
		run_script(shell, "-");
	} else {
		run_interactively(shell);
	}
}

static int start(struct shell *shell)
{
	int error;

	shell->invocation = ss_create_invocation(tool_name, "0.0", shell, &debugmb_requests, &error);
	return error ? print_failure(error, NULL, "cannot start the shell") : EXIT_SUCCESS;
}

static int run(struct shell *shell, const struct command *command)
{
	struct problem problem = { 0 };

	if (start(shell))
		return EXIT_FAILURE;
	if (command->name) {
		const char *const words[] = { "open", "--", command->name, NULL };
		const char *access = command->is_journalled ? "-j" : "-w";
		const char *const words_to_write[] = { "open", access, "--", command->name, NULL };

		if (command->is_writable || command->is_journalled)
			run_request(4, words_to_write, shell->invocation, shell);
		else
			run_request(3, words, shell->invocation, shell);
	}
	/* Without a filesystem every command of a script would fail; a user may open another one. */
	bool is_user = !command->request && !command->script && isatty(STDIN_FILENO);

	if (!command->name || filesystem_is_open(&shell->filesystem) || is_user)
		run_all(shell, command);
	if (filesystem_close(&shell->filesystem, &problem))
		shell_fail(shell, print_problem(&problem));
	user_library_unload(shell->user);
	ss_delete_invocation(shell->invocation);
	errcode_t error = shell->is_output_lost ? 0 : flush_output(stdout);

	return error ? print_output_failure(error) : shell->status;
}

int main(int argument_count, char **arguments)
{
	struct command command = { .most_unpacked_bytes = SOURCE_LIMITS_UNPACKED_BYTES };
	struct shell shell = { .counted.struct_bytes = sizeof(shell.counted) };

	tool_start();
	initialize_ss_error_table();
	int next = command_line_read(&command_line, argument_count, arguments, &command);

	if (next < argument_count)
		command.name = arguments[next++];
	if (next < argument_count)
		usage_error("%s: only one filesystem can be given", arguments[next]);
	if (command.request && command.script)
		usage_error("-R and -f both say what to run: give one of them");
	if ((command.is_writable || command.is_journalled) && !command.name)
		usage_error("-%c: which filesystem? (The command open takes -w and -j, too)",
		            command.is_journalled ? 'j' : 'w');
	shell.is_json = command.is_json;
	shell.where.most_unpacked_bytes = command.most_unpacked_bytes;
	return run(&shell, &command);
}
