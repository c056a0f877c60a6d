/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step of debugfs is a command: one line that libss runs, from -R, from a file or from a terminal. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/handles.h"
#include "preload/interposed.h"
#include "preload/program.h"
#include "preload/steps.h"
#include "support/run/interrupt.h"

/*
 * libss leaves an interrupted command with a jump: half of its changes would be in the transaction, and locks would
 * stay taken. So these signals are blocked until the command has ended.
 */
static sigset_t interrupts(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	return set;
}

/*
 * With -f and -R libss does not listen, and an interrupt ends debugfs. So a thread waits for the signal, and commits
 * the commands up to that moment first.
 */
static void *wait_for_interrupt(void *unused)
{
	const sigset_t interrupting = interrupts();
	int number;

	if (sigwait(&interrupting, &number))
		return unused;
	steps_commit_for_good();
	pthread_sigmask(SIG_UNBLOCK, &interrupting, NULL);
	raise(number);
	return unused;
}

/* From here on only that thread receives interrupts. Without the thread, an interrupt ends debugfs between two
 * commands. */
static void leave_interrupts_to_thread(void)
{
	struct sigaction action;
	const sigset_t interrupting = interrupts();
	pthread_t thread;

	if (sigaction(SIGINT, NULL, &action) || action.sa_handler != SIG_DFL)
		return;
	pthread_sigmask(SIG_BLOCK, &interrupting, NULL);
	if (thread_start(&thread, wait_for_interrupt, NULL) == 0)
		pthread_detach(thread);
	else
		pthread_sigmask(SIG_UNBLOCK, &interrupting, NULL);
}

/* The pager handles interrupts itself. */
static void unblock_interrupts(void)
{
	const sigset_t interrupting = interrupts();

	pthread_sigmask(SIG_UNBLOCK, &interrupting, NULL);
}

/*
 * A command that is refused (another layout, a write to the journal) is undone, and with it all that is in its
 * transaction. So a command has a transaction to itself, unless it is one of these, of which scripts mostly consist.
 * They are not refused as long as they leave the journal's inode alone. Commands that free blocks are not listed: a
 * damaged file may claim the journal's blocks.
 */
static const char *const everyday[] = {
	"bmap",
	"blocks",
	"cat",
	"cd",
	"dump",
	"ea_get",
	"ea_list",
	"ffb",
	"ffi",
	"freeb",
	"icheck",
	"imap",
	"lcd",
	"link",
	"ln",
	"ls",
	"mkdir",
	"mknod",
	"ncheck",
	"pwd",
	"rdump",
	"setb",
	"set_inode_field",
	"sif",
	"stat",
	"symlink",
	"testb",
	"testi",
	"write",
};

static bool is_everyday(const char *word, size_t length)
{
	for (size_t index = 0; index < sizeof(everyday) / sizeof(*everyday); index++)
		if (strlen(everyday[index]) == length && !strncmp(word, everyday[index], length))
			return true;
	return !length;
}

static bool may_be_refused(const char *line)
{
	const char *blanks = " \t\"";

	line += strspn(line, blanks);
	if (!is_everyday(line, strcspn(line, blanks)))
		return true;
	for (const char *number = strchr(line, '<'); number; number = strchr(number + 1, '<'))
		if (handles_have_journal_in((ext2_ino_t)strtoul(number + 1, NULL, 0)))
			return true;
	return false;
}

/* A user waits for the answer. */
static bool is_at_terminal(void)
{
	return isatty(STDIN_FILENO);
}

static void prepare_interrupts(void)
{
	pthread_atfork(NULL, NULL, unblock_interrupts);
	leave_interrupts_to_thread();
}

int ss_execute_line(int invocation, char *line)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	bool has_steps = program.journal && program.kind == PROGRAM_DEBUGFS;

	if (!has_steps)
		return NEXT(ss_execute_line)(invocation, line);
	const sigset_t interrupting = interrupts();
	sigset_t before;

	pthread_once(&once, prepare_interrupts);
	pthread_sigmask(SIG_BLOCK, &interrupting, &before);
	/* Commands that come through a pipe may take their time. */
	steps_start_clock();
	bool is_alone = may_be_refused(line);

	if (is_alone)
		step_enter_alone();
	else
		step_enter();
	int result = NEXT(ss_execute_line)(invocation, line);

	/* The failure has been reported. */
	(void)!step_leave(is_alone || is_at_terminal());
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}
