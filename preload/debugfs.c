// SPDX-License-Identifier: GPL-2.0-or-later
/* Of debugfs, a step is a command: what libss runs a line for, be it from -R, from a file or from a terminal. */
#include <string.h>
#include <unistd.h>

#include "preload/handles.h"
#include "preload/interposed.h"
#include "preload/program.h"
#include "preload/steps.h"

/* Somebody waits for the answer. */
static bool is_at_terminal(void)
{
	return isatty(STDIN_FILENO);
}

int ss_execute_line(int invocation, char *line)
{
	bool has_steps = program.journal && program.kind == PROGRAM_DEBUGFS;

	if (!has_steps)
		return NEXT(ss_execute_line)(invocation, line);
	/* Whoever sends the commands through a pipe may take their time. */
	steps_start_clock();
	step_enter();
	int result = NEXT(ss_execute_line)(invocation, line);

	/* It has been said, and the next write fails. */
	if (step_leave(is_at_terminal()))
		return result;
	return result;
}
