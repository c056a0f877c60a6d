/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * To be preloaded: appends a line to the file NOTE_WRITES for each change of a file on the same filesystem, by this
 * program and by those that it runs: "write", "sync" or "name", the program, and the file's inode number.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
#define NEXT(function) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))

static void note(const char *event, const struct stat *file)
{
	const char *path = getenv("NOTE_WRITES");
	const int kept = errno;
	char line[128];
	struct stat notes;
	int descriptor = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (descriptor >= 0 && !fstat(descriptor, &notes) && notes.st_dev == file->st_dev &&
	    notes.st_ino != file->st_ino) {
		int bytes = snprintf(line, sizeof(line), "%s %s %llu\n", event, program_invocation_short_name,
		                     (unsigned long long)file->st_ino);

		(void)!NEXT(write)(descriptor, line, (size_t)bytes);
	}
	if (descriptor >= 0)
		close(descriptor);
	errno = kept;
}

static void note_descriptor(const char *event, int descriptor)
{
	struct stat file;

	if (!fstat(descriptor, &file) && S_ISREG(file.st_mode))
		note(event, &file);
}

static void note_name(int directory, const char *path)
{
	struct stat file;

	if (!fstatat(directory, path, &file, AT_SYMLINK_NOFOLLOW) && S_ISREG(file.st_mode))
		note("name", &file);
}

/* Each calls the next library's function after the note. */
#define NOTED(type, name, event, descriptor, parameters, arguments)                                                    \
	EXPORTED type name parameters;                                                                                 \
	EXPORTED type name parameters                                                                                  \
	{                                                                                                              \
		note_descriptor(event, descriptor);                                                                    \
		return NEXT(name) arguments;                                                                           \
	}

NOTED(ssize_t, write, "write", to, (int to, const void *bytes, size_t count), (to, bytes, count))
NOTED(ssize_t, pwrite, "write", to, (int to, const void *bytes, size_t count, off_t at), (to, bytes, count, at))
NOTED(ssize_t, pwrite64, "write", to, (int to, const void *bytes, size_t count, off64_t at), (to, bytes, count, at))
NOTED(ssize_t, pwritev, "write", to, (int to, const struct iovec *parts, int count, off_t at), (to, parts, count, at))
NOTED(ssize_t, pwritev64, "write", to, (int to, const struct iovec *parts, int count, off64_t at),
      (to, parts, count, at))
NOTED(ssize_t, copy_file_range, "write", to,
      (int from, off64_t *from_at, int to, off64_t *to_at, size_t count, unsigned int flags),
      (from, from_at, to, to_at, count, flags))
NOTED(int, fallocate, "write", to, (int to, int mode, off_t at, off_t bytes), (to, mode, at, bytes))
NOTED(int, fallocate64, "write", to, (int to, int mode, off64_t at, off64_t bytes), (to, mode, at, bytes))
NOTED(int, ftruncate, "write", to, (int to, off_t bytes), (to, bytes))
NOTED(int, ftruncate64, "write", to, (int to, off64_t bytes), (to, bytes))
NOTED(int, fsync, "sync", to, (int to), (to))
NOTED(int, fdatasync, "sync", to, (int to), (to))

EXPORTED int rename(const char *from, const char *to)
{
	note_name(AT_FDCWD, from);
	return NEXT(rename)(from, to);
}

EXPORTED int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned int flags)
{
	note_name(from_directory, from);
	return NEXT(renameat2)(from_directory, from, to_directory, to, flags);
}
