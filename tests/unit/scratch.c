/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scratch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "assertions.h"

#define COMMAND_BYTES 8192

static char entered[SCRATCH_BYTES];

void scratch_make(const char *name, char folder[SCRATCH_BYTES])
{
	const char *above = getenv("TMPDIR");

	ck_assert_int_lt(snprintf(folder, SCRATCH_BYTES, "%s/%s.XXXXXX", above ? above : "/tmp", name), SCRATCH_BYTES);
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

void scratch_remove(const char *folder)
{
	scratch_run("rm -rf '%s'", folder);
}

void scratch_enter(const char *name)
{
	scratch_make(name, entered);
	ck_assert_int_eq(chdir(entered), 0);
}

void scratch_leave(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	scratch_remove(entered);
}

void scratch_run(const char *format, ...)
{
	char command[COMMAND_BYTES];
	va_list arguments;

	va_start(arguments, format);
	ck_assert_int_lt(vsnprintf(command, sizeof(command), format, arguments), COMMAND_BYTES);
	va_end(arguments);
	ck_assert_msg(system(command) == 0, "failed: %s", command);
}
