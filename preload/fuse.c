// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuse2fs hands its operations to libfuse in a table. Under --journal libfuse gets another one, in which each operation
 * is a step.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "preload/fuse_operations.h"
#include "preload/interposed.h"
#include "preload/program.h"
#include "preload/steps.h"

typedef void any_function(void);

/* fuse2fs's own table, and the one that libfuse gets. A process has one mount. */
static any_function *own[FUSE_MOST_PLACES];
static any_function *wrapped[FUSE_MOST_PLACES];

/* A commit that failed is told here: fsync(2) has to know, and else whoever comes first. */
static int leave(int result, bool now)
{
	errcode_t error = step_leave(now);

	return error && result >= 0 ? -EIO : result;
}

#define WRAP(version, place, operation, enter, now, parameters, arguments)                                                    \
	static int version##_##operation parameters                                                                    \
	{                                                                                                              \
		int(*function) parameters = (int(*) parameters)own[place##_##operation];                               \
                                                                                                                       \
		enter();                                                                                               \
		return leave(function arguments, now);                                                                 \
	}

#define WRAP2(operation, parameters, arguments) WRAP(fuse2, FUSE2, operation, step_enter, false, parameters, arguments)
#define WRAP3(operation, parameters, arguments) WRAP(fuse3, FUSE3, operation, step_enter, false, parameters, arguments)
#define FREES2(operation, parameters, arguments) \
	WRAP(fuse2, FUSE2, operation, step_enter_to_free, false, parameters, arguments)
#define FREES3(operation, parameters, arguments) \
	WRAP(fuse3, FUSE3, operation, step_enter_to_free, false, parameters, arguments)

/* NOLINTBEGIN: one function for each line of the lists */
FUSE_COMMON_OPERATIONS(WRAP2, FREES2)
FUSE2_OWN_OPERATIONS(WRAP2, FREES2)
FUSE_COMMON_OPERATIONS(WRAP3, FREES3)
FUSE3_OWN_OPERATIONS(WRAP3, FREES3)
/* NOLINTEND */

#define FSYNC_PARAMETERS (const char *path, int data_alone, struct fuse_file_info *file)
#define FSYNC_ARGUMENTS (path, data_alone, file)

WRAP(fuse2, FUSE2, fsync, step_enter, true, FSYNC_PARAMETERS, FSYNC_ARGUMENTS)
WRAP(fuse2, FUSE2, fsyncdir, step_enter, true, FSYNC_PARAMETERS, FSYNC_ARGUMENTS)
WRAP(fuse3, FUSE3, fsync, step_enter, true, FSYNC_PARAMETERS, FSYNC_ARGUMENTS)
WRAP(fuse3, FUSE3, fsyncdir, step_enter, true, FSYNC_PARAMETERS, FSYNC_ARGUMENTS)

/* Called in the process that stays, before any other operation. */
static void *start(void *result)
{
	if (step_leave(true))
		say("%s: the mount cannot be noted: what is written is refused", program.name);
	steps_start_clock();
	return result;
}

static void *fuse2_init(struct fuse_conn_info *connection)
{
	step_enter();
	return start(((void *(*)(struct fuse_conn_info *))own[FUSE2_init])(connection));
}

static void *fuse3_init(struct fuse_conn_info *connection, struct fuse_config *configuration)
{
	step_enter();
	return start(((void *(*)(struct fuse_conn_info *, struct fuse_config *))own[FUSE3_init])(connection, configuration));
}

static void end(any_function *destroy, void *data)
{
	steps_stop_clock();
	step_enter();
	((void (*)(void *))destroy)(data);
	/* What this one says is said again when fuse2fs closes the filesystem. */
	if (step_leave(true))
		return;
}

static void fuse2_destroy(void *data)
{
	end(own[FUSE2_destroy], data);
}

static void fuse3_destroy(void *data)
{
	end(own[FUSE3_destroy], data);
}

/* place: where in the table; nothing is put where fuse2fs has nothing. */
static void put(size_t place, any_function *function)
{
	if (own[place])
		wrapped[place] = function;
}

#define PUT2(operation, parameters, arguments) put(FUSE2_##operation, (any_function *)fuse2_##operation);
#define PUT3(operation, parameters, arguments) put(FUSE3_##operation, (any_function *)fuse3_##operation);

static void put_fuse2(void)
{
	FUSE_COMMON_OPERATIONS(PUT2, PUT2)
	FUSE2_OWN_OPERATIONS(PUT2, PUT2)
	PUT2(fsync, , )
	PUT2(fsyncdir, , )
	PUT2(init, , )
	PUT2(destroy, , )
	wrapped[FUSE2_flags] = own[FUSE2_flags];
}

static void put_fuse3(void)
{
	FUSE_COMMON_OPERATIONS(PUT3, PUT3)
	FUSE3_OWN_OPERATIONS(PUT3, PUT3)
	PUT3(fsync, , )
	PUT3(fsyncdir, , )
	PUT3(init, , )
	PUT3(destroy, , )
}

/* libfuse 2 has the one name that a program can be linked to. */
static bool is_fuse2(void)
{
	return dlvsym(RTLD_NEXT, "fuse_main_real", "FUSE_2.6");
}

/*
 * An operation that is not known here stays out: the kernel is told that it does not exist, and does without. That is so
 * with those that libfuse adds in the time to come, which could otherwise change something between two steps.
 */
static const void *wrap_table(const void *table, size_t *bytes)
{
	if (!program.journal || program.kind != PROGRAM_FUSE2FS)
		return table;
	if (*bytes > sizeof(own))
		*bytes = sizeof(own);
	memset(own, 0, sizeof(own));
	memset(wrapped, 0, sizeof(wrapped));
	memcpy(own, table, *bytes);
	if (is_fuse2())
		put_fuse2();
	else
		put_fuse3();
	return wrapped;
}

int fuse_main_real(int argument_count, char **arguments, const void *operations, size_t bytes, void *data)
{
	operations = wrap_table(operations, &bytes);
	return NEXT(fuse_main_real)(argument_count, arguments, operations, bytes, data);
}

/* Since libfuse 3.17. */
int fuse_main_real_versioned(int argument_count, char **arguments, const void *operations, size_t bytes, void *version,
                             void *data)
{
	operations = wrap_table(operations, &bytes);
	return NEXT(fuse_main_real_versioned)(argument_count, arguments, operations, bytes, version, data);
}
