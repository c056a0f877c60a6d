/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/temporary_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "support/io/same_file.h"
#include "support/io/temporary_name.h"
#include "support/run/interrupt.h"

/* Names are numbered from 0: this many runs can make the same file at once. */
#define MOST_NAMES 1000
/* So many names of the folder are looked at for files that earlier runs left: 3 ms. */
#define MOST_LOOKED_AT 10000

#define ZFS_SUPER_MAGIC 0x2fc12fc1

/*
 * True if all locks on the file are known here. On other filesystems (NFS, Lustre, folders that virtual machines share
 * with their hosts, overlays of these) another host may have the file open, and its lock may be unknown here, unless
 * the name says that this host made it.
 */
static bool has_only_our_locks(int descriptor)
{
	static const unsigned long local[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
		                               TMPFS_MAGIC,      RAMFS_MAGIC,     ZFS_SUPER_MAGIC };
	struct statfs status;

	if (fstatfs(descriptor, &status) < 0)
		return false;
	for (size_t number = 0; number < sizeof(local) / sizeof(*local); number++)
		if ((unsigned long)status.f_type == local[number])
			return true;
	return false;
}

/* True if the name leads to that very file. */
static bool is_named(const char *path, int descriptor)
{
	struct stat named, open_file;

	return lstat(path, &named) == 0 && fstat(descriptor, &open_file) == 0 && named.st_dev == open_file.st_dev &&
	       named.st_ino == open_file.st_ino;
}

/*
 * Removes the file that an earlier run has left. Returns false if there is none, or if a run holds it. Only a run with
 * the lock takes the name from a file: the run that makes the file, or one that removes it.
 */
static bool remove_left_over(const char *path)
{
	SCOPE_CLOSE int descriptor = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	return descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
	       (has_only_our_locks(descriptor) || temporary_name_is_ours(path)) &&
	       flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_named(path, descriptor) && unlink(path) == 0;
}

/*
 * Locks a file that this run has just made. Returns false if another run takes it for one that was left, and removes
 * it.
 */
static bool lock_own(const char *path, int descriptor)
{
	if (flock(descriptor, LOCK_EX | LOCK_NB) < 0)
		/* On a filesystem without locks no other run gets one. */
		return errno != EWOULDBLOCK;
	return is_named(path, descriptor);
}

static errcode_t make_named(const char *path, struct temporary_file *file)
{
	file->descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file->descriptor < 0)
		return errno;
	if (lock_own(path, file->descriptor))
		return 0;
	close(file->descriptor);
	file->descriptor = -1;
	return EEXIST;
}

static errcode_t link_unnamed(const char *path, struct temporary_file *file)
{
	return linkat(AT_FDCWD, file->path, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0 ? errno : 0;
}

/* Gives the file the first temporary name that no other run has. */
static errcode_t try_names(const char *final_path, errcode_t (*try_name)(const char *, struct temporary_file *),
                           struct temporary_file *file)
{
	errcode_t error = EEXIST;

	for (unsigned int number = 0; error == EEXIST && number < MOST_NAMES; number++) {
		SCOPE_FREE char *path = temporary_name_of(final_path, number);

		if (!path)
			return ENOMEM;
		error = try_name(path, file);
		if (error == EEXIST && remove_left_over(path))
			error = try_name(path, file);
		if (error)
			continue;
		free(file->path);
		file->path = TAKE(path);
		file->has_name = true;
		interrupt_removes(file->path);
	}
	return error;
}

/* "" or DIRECTORY/. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
}

static errcode_t remove_all_left_over(const char *final_path)
{
	SCOPE_FREE char *folder = folder_of(final_path);
	SCOPE_CLOSEDIR DIR *directory = folder ? opendir(*folder ? folder : ".") : NULL;
	const struct dirent *entry;

	if (!folder)
		return ENOMEM;
	for (int looked_at = 0; directory && looked_at < MOST_LOOKED_AT && (entry = readdir(directory)); looked_at++) {
		SCOPE_FREE char *path = NULL;

		if (!temporary_name_is_for(entry->d_name, final_path))
			continue;
		if (asprintf(&path, "%s%s", folder, entry->d_name) < 0) {
			path = NULL;
			return ENOMEM;
		}
		remove_left_over(path);
	}
	return 0;
}

/* The error is not reported: whatever it is, a file that has a name from the start may still work. */
static errcode_t make_unnamed(const char *final_path, struct temporary_file *file)
{
	SCOPE_FREE char *directory = folder_of(final_path);

	if (!directory)
		return ENOMEM;
	/* Children inherit the descriptor, so one path serves all. */
	file->descriptor = open(*directory ? directory : ".", O_RDWR | O_TMPFILE, 0600);
	if (file->descriptor < 0)
		return errno;
	if (asprintf(&file->path, "/proc/self/fd/%d", file->descriptor) < 0)
		file->path = NULL;
	struct stat status;
	if (file->path && fstat(file->descriptor, &status) == 0 && is_same_file(file->path, &status) &&
	    (flock(file->descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK))
		return 0;
	close(file->descriptor);
	file->descriptor = -1;
	free(TAKE(file->path));
	return ENOENT;
}

errcode_t temporary_open(const char *final_path, struct temporary_file *file)
{
	*file = (struct temporary_file){ .descriptor = -1 };
	errcode_t error = remove_all_left_over(final_path);

	if (error || make_unnamed(final_path, file) == 0)
		return error;
	return try_names(final_path, make_named, file);
}

errcode_t temporary_name(struct temporary_file *file, const char *final_path)
{
	return file->has_name ? 0 : try_names(final_path, link_unnamed, file);
}

errcode_t temporary_rename(struct temporary_file *file, const char *final_path)
{
	errcode_t error = temporary_name(file, final_path);

	if (error)
		return error;
	if (rename(file->path, final_path) < 0)
		return errno;
	interrupt_keeps(file->path);
	free(TAKE(file->path));
	return 0;
}

void temporary_end(struct temporary_file *file)
{
	if (file->path && file->has_name)
		unlink(file->path);
	interrupt_keeps(file->path);
	free(TAKE(file->path));
}
