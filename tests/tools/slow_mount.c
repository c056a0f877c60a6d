/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shows a directory once more, read-only, through FUSE, as a slow source: each operation takes so many milliseconds
 * longer, however many others wait at the same time. When it is unmounted it writes how many there were, and how many
 * at once at most.
 *
 *   slow_mount MILLISECONDS DIR MOUNT_POINT COUNTS_FILE
 *
 * Ends when the filesystem is mounted; its child serves it until umount(8).
 */
#define FUSE_USE_VERSION 312

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static long delay_milliseconds;
static char root[PATH_MAX], counts_path[PATH_MAX];
static atomic_int running, most_running, operations;

/* Returns the path below; operations begin with this. */
static const char *begin(const char *path, char *full)
{
	struct timespec time = { delay_milliseconds / 1000, delay_milliseconds % 1000 * 1000000 };
	int now = atomic_fetch_add(&running, 1) + 1, most = atomic_load(&most_running);

	while (now > most && !atomic_compare_exchange_weak(&most_running, &most, now))
		;
	atomic_fetch_add(&operations, 1);
	while (nanosleep(&time, &time) && errno == EINTR)
		;
	snprintf(full, PATH_MAX, "%s%s", root, path);
	return full;
}

static int end(long result)
{
	int error = errno;

	atomic_fetch_sub(&running, 1);
	return result < 0 ? -error : (int)result;
}

static int slow_getattr(const char *path, struct stat *status, struct fuse_file_info *file)
{
	char full[PATH_MAX];

	(void)file;
	return end(lstat(begin(path, full), status));
}

static int slow_readlink(const char *path, char *target, size_t bytes)
{
	char full[PATH_MAX];
	ssize_t got = readlink(begin(path, full), target, bytes - 1);

	if (got >= 0)
		target[got] = '\0';
	return end(got < 0 ? got : 0);
}

static int slow_open(const char *path, struct fuse_file_info *file)
{
	char full[PATH_MAX];
	int descriptor = open(begin(path, full), O_RDONLY | O_CLOEXEC);

	file->fh = (uint64_t)descriptor;
	return end(descriptor < 0 ? descriptor : 0);
}

static int slow_read(const char *path, char *bytes, size_t count, off_t offset, struct fuse_file_info *file)
{
	char full[PATH_MAX];

	begin(path, full);
	return end(pread((int)file->fh, bytes, count, offset));
}

/* close(2) waits for it. */
static int slow_flush(const char *path, struct fuse_file_info *file)
{
	char full[PATH_MAX];

	(void)file;
	begin(path, full);
	return end(0);
}

static int slow_release(const char *path, struct fuse_file_info *file)
{
	(void)path;
	return close((int)file->fh);
}

static int slow_opendir(const char *path, struct fuse_file_info *file)
{
	char full[PATH_MAX];
	DIR *directory = opendir(begin(path, full));

	file->fh = (uintptr_t)directory;
	return end(directory ? 0 : -1);
}

static int slow_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *file,
                        enum fuse_readdir_flags flags)
{
	char full[PATH_MAX];
	DIR *directory = (DIR *)(uintptr_t)file->fh;
	const struct dirent *entry;

	(void)flags;
	begin(path, full);
	if (!offset)
		rewinddir(directory);
	else
		seekdir(directory, offset);
	while ((entry = readdir(directory))) {
		struct stat status = { .st_ino = entry->d_ino, .st_mode = (mode_t)entry->d_type << 12 };

		if (fill(buffer, entry->d_name, &status, entry->d_off, 0))
			break;
	}
	return end(0);
}

static int slow_releasedir(const char *path, struct fuse_file_info *file)
{
	(void)path;
	return closedir((DIR *)(uintptr_t)file->fh);
}

static int slow_listxattr(const char *path, char *names, size_t bytes)
{
	char full[PATH_MAX];

	return end(llistxattr(begin(path, full), names, bytes));
}

static int slow_getxattr(const char *path, const char *name, char *value, size_t bytes)
{
	char full[PATH_MAX];

	return end(lgetxattr(begin(path, full), name, value, bytes));
}

static void *slow_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
	/* Otherwise the kernel looks up names of a directory one after the other. */
	connection->want |= connection->capable & FUSE_CAP_PARALLEL_DIROPS;
	/* Those of the directory, so that hard links are seen. */
	config->use_ino = 1;
	return NULL;
}

static void slow_destroy(void *private_data)
{
	FILE *stream = fopen(counts_path, "w");

	(void)private_data;
	if (!stream)
		return;
	fprintf(stream, "operations %d\nat-once %d\n", atomic_load(&operations), atomic_load(&most_running));
	fclose(stream);
}

static const struct fuse_operations table = {
	.getattr = slow_getattr,
	.readlink = slow_readlink,
	.open = slow_open,
	.read = slow_read,
	.flush = slow_flush,
	.release = slow_release,
	.opendir = slow_opendir,
	.readdir = slow_readdir,
	.releasedir = slow_releasedir,
	.listxattr = slow_listxattr,
	.getxattr = slow_getxattr,
	.init = slow_init,
	.destroy = slow_destroy,
};

int main(int argument_count, char **arguments)
{
	static char options[] = "ro,default_permissions,max_threads=256,max_idle_threads=256";
	char *for_fuse[] = { arguments[0], arguments[argument_count > 3 ? 3 : 0], "-o", options, NULL };

	if (argument_count != 5 || !realpath(arguments[2], root) ||
	    snprintf(counts_path, sizeof(counts_path), "%s", arguments[4]) >= (int)sizeof(counts_path)) {
		fprintf(stderr, "usage: slow_mount MILLISECONDS DIR MOUNT_POINT COUNTS_FILE (a whole path)\n");
		return 2;
	}
	delay_milliseconds = strtol(arguments[1], NULL, 10);
	return fuse_main(4, for_fuse, &table, NULL);
}
