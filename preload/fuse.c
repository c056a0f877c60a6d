/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuse2fs hands its operations to libfuse in a table. We pass libfuse another one. In it each operation is a step
 * under --journal, and the kernel's question before each write is answered from memory (preload/capabilities.h).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "preload/capabilities.h"
#include "preload/fuse_operations.h"
#include "preload/handles.h"
#include "preload/interposed.h"
#include "preload/program.h"
#include "preload/steps.h"
#include "support/cleanup.h"

typedef void any_function(void);

/* fuse2fs's own table, and the one that libfuse gets. A process has one mount. */
static any_function *own[FUSE_MOST_PLACES];
static any_function *wrapped[FUSE_MOST_PLACES];

/* True if we know every operation that could change what is remembered. */
static bool remembers_capabilities;
static _Atomic uint64_t answered; /* from memory */

static void enter(void)
{
	if (program.journal)
		step_enter();
}

/*
 * Reports a failed commit, to fsync(2) or else to the next operation. alters: see preload/fuse_operations.h.
 */
static int leave(int result, bool alters, bool now)
{
	if (alters)
		capabilities_forget();
	errcode_t error = program.journal ? step_leave(now) : 0;

	return error && result >= 0 ? -EIO : result;
}

#define WRAP(version, place, operation, alters, now, parameters, arguments)                                            \
	static int version##_##operation parameters                                                                    \
	{                                                                                                              \
		int(*function) parameters = (int(*) parameters)own[place##_##operation];                               \
                                                                                                                       \
		enter();                                                                                               \
		return leave(function arguments, alters, now);                                                         \
	}

#define WRAP2(operation, parameters, arguments) WRAP(fuse2, FUSE2, operation, false, false, parameters, arguments)
#define WRAP3(operation, parameters, arguments) WRAP(fuse3, FUSE3, operation, false, false, parameters, arguments)
#define ALTERS2(operation, parameters, arguments) WRAP(fuse2, FUSE2, operation, true, false, parameters, arguments)
#define ALTERS3(operation, parameters, arguments) WRAP(fuse3, FUSE3, operation, true, false, parameters, arguments)

/* NOLINTBEGIN: one function per line of the lists */
FUSE_COMMON_OPERATIONS(WRAP2, ALTERS2)
FUSE2_OWN_OPERATIONS(WRAP2, ALTERS2)
FUSE_COMMON_OPERATIONS(WRAP3, ALTERS3)
FUSE3_OWN_OPERATIONS(WRAP3, ALTERS3)
/* NOLINTEND */

#define FSYNC_PARAMETERS (const char *path, int data_alone, struct fuse_file_info *file)
#define FSYNC_ARGUMENTS (path, data_alone, file)

WRAP(fuse2, FUSE2, fsync, false, true, FSYNC_PARAMETERS, FSYNC_ARGUMENTS)
WRAP(fuse2, FUSE2, fsyncdir, false, true, FSYNC_PARAMETERS, FSYNC_ARGUMENTS)
WRAP(fuse3, FUSE3, fsync, false, true, FSYNC_PARAMETERS, FSYNC_ARGUMENTS)
WRAP(fuse3, FUSE3, fsyncdir, false, true, FSYNC_PARAMETERS, FSYNC_ARGUMENTS)

/*
 * libext2fs is not told that a file is closed, and the allocator would keep room after it for long: tar left 62 free
 * extents more (8000 files, 2 GiB). When the last file that was open for writing is closed, the one that got blocks
 * last is complete. libfuse passes no path with these operations, and the files' numbers are fuse2fs's secret. One
 * thread.
 */
static unsigned int writers;

/* Both versions of struct fuse_file_info begin with the flags of open(2). */
static bool is_for_writing(const struct fuse_file_info *file)
{
	int flags;

	memcpy(&flags, file, sizeof(flags));
	return (flags & O_ACCMODE) != O_RDONLY;
}

static int note_opened(int result, const struct fuse_file_info *file)
{
	writers += result >= 0 && is_for_writing(file);
	return result;
}

static int note_closed(int result, const struct fuse_file_info *file)
{
	if (writers && is_for_writing(file) && !--writers)
		handles_end_newest_file();
	return result;
}

static int fuse2_open_noted(const char *path, struct fuse_file_info *file)
{
	return note_opened(fuse2_open(path, file), file);
}

static int fuse3_open_noted(const char *path, struct fuse_file_info *file)
{
	return note_opened(fuse3_open(path, file), file);
}

static int fuse2_create_noted(const char *path, mode_t mode, struct fuse_file_info *file)
{
	return note_opened(fuse2_create(path, mode, file), file);
}

static int fuse3_create_noted(const char *path, mode_t mode, struct fuse_file_info *file)
{
	return note_opened(fuse3_create(path, mode, file), file);
}

static int fuse2_release_noted(const char *path, struct fuse_file_info *file)
{
	return note_closed(fuse2_release(path, file), file);
}

static int fuse3_release_noted(const char *path, struct fuse_file_info *file)
{
	return note_closed(fuse3_release(path, file), file);
}

static int get_xattr(any_function *function, const char *path, const char *name, char *value, size_t bytes)
{
	int (*get)(const char *, const char *, char *, size_t) =
		(int (*)(const char *, const char *, char *, size_t))function;
	bool is_capability = remembers_capabilities && capability_is_meant(name);

	if (is_capability && capability_is_lacking(path)) {
		answered++;
		return -ENODATA;
	}
	uint64_t generation = capabilities_generation();

	enter();
	int result = get(path, name, value, bytes);

	if (is_capability && result == -ENODATA)
		capability_note_lacking(path, generation);
	return leave(result, false, false);
}

static int fuse2_getxattr(const char *path, const char *name, char *value, size_t bytes)
{
	return get_xattr(own[FUSE2_getxattr], path, name, value, bytes);
}

static int fuse3_getxattr(const char *path, const char *name, char *value, size_t bytes)
{
	return get_xattr(own[FUSE3_getxattr], path, name, value, bytes);
}

/* Called in the process that stays, before any other operation. */
static void *start(void *result)
{
	if (step_leave(true))
		say("%s: the mount cannot be registered: writes are refused", program.name);
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
	return start(
		((void *(*)(struct fuse_conn_info *, struct fuse_config *))own[FUSE3_init])(connection, configuration));
}

static void end(any_function *destroy, void *data)
{
	if (program.journal) {
		steps_stop_clock();
		step_enter();
	}
	((void (*)(void *))destroy)(data);
	say_more("asked for capabilities, and answered from memory: %" PRIu64, answered);
	/* fuse2fs reports this failure again when it closes the filesystem. */
	if (program.journal && step_leave(true))
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

/* place is the index in the table. An operation that fuse2fs lacks stays empty. */
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
	put(FUSE2_open, (any_function *)fuse2_open_noted);
	put(FUSE2_create, (any_function *)fuse2_create_noted);
	put(FUSE2_release, (any_function *)fuse2_release_noted);
	PUT2(getxattr, , )
	PUT2(fsync, , )
	PUT2(fsyncdir, , )
	if (program.journal)
		PUT2(init, , )
	PUT2(destroy, , )
	wrapped[FUSE2_flags] = own[FUSE2_flags];
}

static void put_fuse3(void)
{
	FUSE_COMMON_OPERATIONS(PUT3, PUT3)
	FUSE3_OWN_OPERATIONS(PUT3, PUT3)
	put(FUSE3_open, (any_function *)fuse3_open_noted);
	put(FUSE3_create, (any_function *)fuse3_create_noted);
	put(FUSE3_release, (any_function *)fuse3_release_noted);
	PUT3(getxattr, , )
	PUT3(fsync, , )
	PUT3(fsyncdir, , )
	if (program.journal)
		PUT3(init, , )
	PUT3(destroy, , )
}

/* Only libfuse 2 has this symbol for a program to link to. */
static bool is_fuse2(void)
{
	return dlvsym(RTLD_NEXT, "fuse_main_real", "FUSE_2.6");
}

/*
 * Under --journal operations that are not known here are left out: the kernel is told that they do not exist, and
 * does without. Otherwise one that libfuse adds later could change something between two steps. Without --journal
 * they stay, and nothing is remembered that they could change.
 */
static const void *wrap_table(const void *table, size_t *bytes)
{
	size_t known = is_fuse2() ? FUSE2_PLACES : FUSE3_PLACES;

	if (program.kind != PROGRAM_FUSE2FS)
		return table;
	if (*bytes > sizeof(own))
		*bytes = sizeof(own);
	memset(own, 0, sizeof(own));
	memcpy(own, table, *bytes);
	memcpy(wrapped, own, sizeof(own));
	if (program.journal)
		memset(wrapped, 0, sizeof(wrapped));
	remembers_capabilities = true;
	for (size_t place = known; place < FUSE_MOST_PLACES && !program.journal; place++)
		remembers_capabilities &= !own[place];
	if (is_fuse2())
		put_fuse2();
	else
		put_fuse3();
	return wrapped;
}

/*
 * libfuse renames a file that is removed while it is open, and removes it at its last close: it looks whether the file
 * is open, renames it, and notes that it did, without a lock. If another of its threads closes the file meanwhile, the
 * file stays for ever as .fuse_hidden…: a database that removes its log leaves one every few transactions. So libfuse
 * gets one thread. Others would only wait: all operations of fuse2fs share one lock, and all steps do. Returns NULL,
 * without changing the number, for other programs and without memory.
 */
static char **with_one_thread(int *argument_count, char **arguments)
{
	size_t count = (size_t)*argument_count;
	char **longer = program.kind == PROGRAM_FUSE2FS && count ? calloc(count + 2, sizeof(*longer)) : NULL;

	if (!longer)
		return NULL;
	longer[0] = arguments[0];
	longer[1] = "-s";
	memcpy(longer + 2, arguments + 1, (count - 1) * sizeof(*longer));
	*argument_count += 1;
	return longer;
}

int fuse_main_real(int argument_count, char **arguments, const void *operations, size_t bytes, void *data)
{
	SCOPE_FREE char **longer = with_one_thread(&argument_count, arguments);

	operations = wrap_table(operations, &bytes);
	return NEXT(fuse_main_real)(argument_count, longer ? longer : arguments, operations, bytes, data);
}

/* Since libfuse 3.17. */
int fuse_main_real_versioned(int argument_count, char **arguments, const void *operations, size_t bytes, void *version,
                             void *data)
{
	SCOPE_FREE char **longer = with_one_thread(&argument_count, arguments);

	operations = wrap_table(operations, &bytes);
	return NEXT(fuse_main_real_versioned)(argument_count, longer ? longer : arguments, operations, bytes, version,
	                                      data);
}
