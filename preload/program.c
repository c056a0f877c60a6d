/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preload/program.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ext2fs/ext2fs.h>

#include "ext2fs/ext2mb_err.h"
#include "preload/settings.h"

struct program program;

/*
 * These programs mark blocks by themselves, from maps of their own or while tables move; e2fsck(8) and resize2fs(8)
 * also set libext2fs's hooks. They are recognised by name, because nothing else is known of a program before it opens
 * a filesystem.
 */
static const char *const left_alone[] = {
	"e2fsck",     "fsck.ext2", "fsck.ext3",  "fsck.ext4",  "resize2fs", "tune2fs",   "e2label",
	"e2image",    "e2undo",    "e2freefrag", "dumpe2fs",   "badblocks", "e2fsdroid", "mklost+found",
	"e2populate", "e2extract", "e2frag",     "e2allocsim", "debugmb",
};

static enum program_kind kind_of(const char *name)
{
	for (size_t index = 0; index < sizeof(left_alone) / sizeof(*left_alone); index++)
		if (strcmp(name, left_alone[index]) == 0)
			return PROGRAM_ASIDE;
	return strcmp(name, "fuse2fs") == 0 ? PROGRAM_FUSE2FS :
	       strcmp(name, "debugfs") == 0 ? PROGRAM_DEBUGFS :
	                                      PROGRAM_OTHER;
}

/*
 * Under --journal the library is not preloaded into child processes (a pager, fusermount):
 * they have no steps. Without --journal it is, so that the programs of a script get the allocator.
 */
static void leave_children_alone(void)
{
	char *list = getenv("LD_PRELOAD"), *rest = list ? strdup(list) : NULL, *all = rest, *word;
	char *kept = list ? calloc(1, strlen(list) + 2) : NULL;
	Dl_info self;

	if (kept && rest && dladdr(&program, &self)) {
		while ((word = strsep(&rest, ": ")))
			if (*word && strcmp(word, self.dli_fname) != 0)
				sprintf(kept + strlen(kept), "%s%s", *kept ? ":" : "", word);
		if (*kept)
			setenv("LD_PRELOAD", kept, 1);
		else
			unsetenv("LD_PRELOAD");
	}
	unsetenv(SETTINGS_VARIABLE);
	free(kept);
	free(all);
}

static bool must_fail;

void program_must_fail(void)
{
	__atomic_store_n(&must_fail, true, __ATOMIC_RELAXED);
}

/* debugfs closes its filesystem after it has chosen its exit status, and fuse2fs ends with 0 in any case. */
static void end_program(int status, void *unused)
{
	(void)unused;
	if (status || !__atomic_load_n(&must_fail, __ATOMIC_RELAXED))
		return;
	fflush(NULL);
	_exit(EXIT_FAILURE);
}

/* Runs before the constructors of programs in C++ or OCaml, which might open a filesystem. */
static void __attribute__((constructor(101))) program_start(void)
{
	const char *settings = getenv(SETTINGS_VARIABLE);

	initialize_ext2_error_table();
	initialize_e2mb_error_table();
	program.name = program_invocation_short_name;
	program.kind = kind_of(program.name);
	program.journal = settings && strstr(settings, "journal");
	program.is_verbose = settings && strstr(settings, "verbose");
	if (program.journal) {
		leave_children_alone();
		/* The function that is registered first is called last. */
		(void)!on_exit(end_program, NULL);
	}
	/* ext2mb-run may have compared the name of a script. */
	if (program.journal && program.kind != PROGRAM_FUSE2FS && program.kind != PROGRAM_DEBUGFS) {
		say("--journal: %s runs instead of fuse2fs or debugfs: call ext2mb-run within the script",
		    program.name);
		_exit(2);
	}
	if (program.kind == PROGRAM_ASIDE)
		say_more("%s allocates by itself: it is left alone", program.name);
}

static void say_line(const char *format, va_list arguments)
{
	char line[2 * PATH_MAX];
	size_t used = (size_t)snprintf(line, sizeof(line), "ext2mb-run: ");
	int more = vsnprintf(line + used, sizeof(line) - used - 1, format, arguments);

	if (more < 0)
		return;
	used += (size_t)more < sizeof(line) - used - 1 ? (size_t)more : sizeof(line) - used - 2;
	line[used] = '\n';
	/* One write, since other processes may use the same terminal. A failure cannot be reported anywhere. */
	if (write(STDERR_FILENO, line, used + 1) < 0)
		return;
}

void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say_line(format, arguments);
	va_end(arguments);
}

void say_more(const char *format, ...)
{
	va_list arguments;

	if (!program.is_verbose)
		return;
	va_start(arguments, format);
	say_line(format, arguments);
	va_end(arguments);
}

void *next_function(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function) {
		say("%s: it lacks %s", program.name, name);
		abort();
	}
	return function;
}
