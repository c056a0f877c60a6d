/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>

#include "output/image_sink.h"
#include "support/io/file_locks.h"
#include "support/io/same_file.h"
#include "support/run/interrupt.h"

static mode_t mode_of_new_files(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* Reads the beginning; a short file is filled up with zeros. The caller frees it. */
static errcode_t read_head(const struct output *output, char **ret)
{
	*ret = calloc(1, OUTPUT_HEAD_BYTES);
	if (!*ret)
		return ENOMEM;
	return pread(output->descriptor, *ret, OUTPUT_HEAD_BYTES, (off_t)output->offset_bytes) < 0 ? errno : 0;
}

/* Opens the same device, even if its name leads elsewhere by now. */
static int open_direct(int descriptor)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	return open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
}

static errcode_t open_in_place(struct output *output, struct problem *problem)
{
	output->work_path = output->path;
	/* On a block device O_EXCL means "not mounted, and not held by another program"; on a file it means nothing. */
	output->descriptor = open(output->path, O_RDWR | O_CLOEXEC | O_EXCL);
	if (output->descriptor < 0)
		return problem_set(problem, errno, output->path, "cannot open");
	/* mke2fs opens it exclusively itself. */
	close(output->descriptor);
	output->descriptor = open(output->path, O_RDWR | O_CLOEXEC);
	if (output->descriptor < 0)
		return problem_set(problem, errno, output->path, "cannot open");
	/* A virtual machine would write into the filesystem meanwhile. */
	if (file_locks_are_held(output->descriptor))
		return problem_set_reason(problem, EBUSY, output->path, "cannot write into it", "it is in use");
	file_locks_keep_qemu_out(output->descriptor);
	if (output->is_device)
		output->direct_descriptor = open_direct(output->descriptor);
	errcode_t error = read_head(output, &output->head);

	return error ? problem_set(problem, error, output->path, "cannot read") : 0;
}

static errcode_t examine_device(struct output *output, struct problem *problem)
{
	SCOPE_CLOSE int descriptor = open(output->path, O_RDONLY | O_CLOEXEC);

	output->is_device = output->in_place = true;
	if (descriptor < 0)
		return problem_set(problem, errno, output->path, "cannot open");
	if (ioctl(descriptor, BLKGETSIZE64, &output->existing_bytes) < 0)
		return problem_set(problem, errno, output->path, "cannot read its size");
	output->existing_bytes -=
		output->offset_bytes < output->existing_bytes ? output->offset_bytes : output->existing_bytes;
	return 0;
}

static errcode_t open_temporary(struct output *output, struct problem *problem)
{
	errcode_t error = temporary_open(output->path, &output->temporary);

	output->work_path = output->temporary.path;
	output->descriptor = output->temporary.descriptor;
	return error ? problem_set(problem, error, output->path, "cannot create") : 0;
}

/* Resolves a symlink, since rename(2) would replace the link instead of its target. */
static errcode_t resolve(const char *path, struct output *output, struct problem *problem)
{
	struct stat status;

	if (lstat(path, &status) < 0 || !S_ISLNK(status.st_mode))
		return 0;
	output->resolved_path = realpath(path, NULL);
	if (!output->resolved_path)
		return problem_set(problem, errno, path, "cannot follow this symlink");
	output->path = output->resolved_path;
	return 0;
}

static errcode_t examine_file(const struct stat *status, struct output *output, struct problem *problem)
{
	uint64_t bytes = (uint64_t)status->st_size;

	if (access(output->path, W_OK) < 0)
		return problem_set(problem, errno, output->path, "cannot create");
	if (output->in_place) {
		/* mke2fs, too, treats less than a KiB as an empty file. */
		if (bytes >= 1024 && bytes - 1024 >= output->offset_bytes)
			output->existing_bytes = bytes - output->offset_bytes;
		output->original_bytes = bytes;
		return 0;
	}
	output->existed = true;
	output->uid = status->st_uid;
	output->gid = status->st_gid;
	output->mode = status->st_mode & 07777;
	return 0;
}

static errcode_t examine(const char *path, struct output *output, struct problem *problem)
{
	struct stat status;

	/* A link under /proc/self/fd may lead to a file without a name, which can be written in place. */
	if (!output->in_place || stat(path, &status) < 0) {
		errcode_t error = resolve(path, output, problem);

		if (error)
			return error;
	}
	if (stat(output->path, &status) < 0) {
		output->in_place = false;
		return errno == ENOENT ? 0 : problem_set(problem, errno, path, "cannot create");
	}
	if (S_ISBLK(status.st_mode))
		return examine_device(output, problem);
	if (S_ISDIR(status.st_mode))
		return problem_set(problem, EISDIR, path, "cannot create");
	if (!S_ISREG(status.st_mode))
		return problem_set_reason(problem, EINVAL, path, "cannot create",
		                          "it exists and is neither a regular file nor a block device");
	return examine_file(&status, output, problem);
}

/* A detached loop device closes its file a little later, and indexers open new files for a moment. */
#define ATTEMPTS 20
#define PAUSE_NANOSECONDS (20 * 1000 * 1000)

static errcode_t refuse(const struct output *output, errcode_t error, const char *reason, struct problem *problem)
{
	return problem_set_reason(problem, error, output->path, "cannot replace it", "%s; %s", reason, output->advice);
}

static bool is_mount_point(const char *path)
{
	struct statx status;

	return statx(AT_FDCWD, path, 0, 0, &status) == 0 && (status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
	       (status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* The caller frees it; NULL: no memory. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
}

/* Returns the error with which rename(2) would fail after all the work; 0 if none is known. */
static errcode_t directory_error(const char *path, const struct stat *file)
{
	SCOPE_FREE char *directory = folder_of(path);
	struct stat status;

	if (!directory)
		return ENOMEM;
	if (access(directory, W_OK | X_OK) < 0 || stat(directory, &status) < 0)
		return errno;
	/* In a sticky directory such as /tmp only a file's owner can replace the file. */
	if ((status.st_mode & S_ISVTX) && geteuid() != 0 && status.st_uid != geteuid() && file->st_uid != geteuid())
		return EPERM;
	return 0;
}

/* The kernel grants a write lease, only to the file's owner and to root, if no other process has the file open. */
static bool is_open_elsewhere(const char *path)
{
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (descriptor < 0)
		return errno == EWOULDBLOCK;
	/* If a process opens the file meanwhile, the kernel sends SIGIO, which ends a program without a handler. */
	if (fcntl(descriptor, F_SETSIG, SIGURG) < 0)
		return false;
	if (fcntl(descriptor, F_SETLEASE, F_WRLCK) < 0)
		return errno == EAGAIN;
	return fcntl(descriptor, F_SETLEASE, F_UNLCK) < 0;
}

/* Returns NULL if no process is known to use the file. */
static const char *current_use(const char *path, const struct stat *file)
{
	if (loop_device_has_open(file))
		return "a loop device has it open";
	return is_open_elsewhere(path) ? "it is open elsewhere" : NULL;
}

/* Checks that the new file may replace the existing one, if there is one. */
static errcode_t check_replacing(const struct output *output, struct problem *problem)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NANOSECONDS };
	const char *path = output->path, *use;
	struct stat status;

	if (!output->existed || !output->advice)
		return 0;
	if (stat(path, &status) < 0)
		return errno == ENOENT ? 0 : problem_set(problem, errno, path, "cannot replace it");
	if (status.st_nlink > 1)
		return refuse(output, EBUSY, "it has other names (hard links)", problem);
	if (is_mount_point(path))
		return refuse(output, EBUSY, "it is mounted (bind mount)", problem);
	errcode_t error = directory_error(path, &status);
	if (error == ENOMEM)
		return problem_set(problem, error, path, "cannot replace it");
	if (error)
		return refuse(output, error, "its directory does not permit it", problem);
	for (int attempt = 0; (use = current_use(path, &status)) && attempt < ATTEMPTS && !interrupt_pending();
	     attempt++)
		nanosleep(&pause, NULL);
	return use ? refuse(output, EBUSY, use, problem) : 0;
}

errcode_t output_examine(struct output *output, struct problem *problem)
{
	output->descriptor = -1;
	output->direct_descriptor = -1;
	output->in_place |= output->offset_bytes != 0;
	output->mode = mode_of_new_files();
	errcode_t error = examine(output->path, output, problem);

	return error ? error : check_replacing(output, problem);
}

errcode_t output_examine_folder(const char *path)
{
	SCOPE_FREE char *directory = folder_of(path);

	if (!directory)
		return ENOMEM;
	return access(directory, W_OK | X_OK) < 0 ? errno : 0;
}

errcode_t output_open(struct output *output, struct problem *problem)
{
	errcode_t error = output->in_place ? open_in_place(output, problem) : open_temporary(output, problem);

	if (error || !output->offset_bytes)
		return error;
	if (asprintf(&output->offset_path, "%s?offset=%" PRIu64, output->work_path, output->offset_bytes) >= 0)
		return 0;
	output->offset_path = NULL;
	return problem_set(problem, ENOMEM, output->path, "cannot create");
}

errcode_t output_extend(const struct output *output, uint64_t filesystem_bytes, struct problem *problem)
{
	uint64_t bytes = output->offset_bytes + filesystem_bytes;
	struct stat status;

	if (output->is_device)
		return 0;
	if (fstat(output->descriptor, &status) < 0 ||
	    ((uint64_t)status.st_size < bytes && ftruncate(output->descriptor, (off_t)bytes) < 0))
		return problem_set(problem, errno, output->path, "cannot extend");
	return 0;
}

void output_release_unwritten(const struct output *output)
{
	off_t end = lseek(output->descriptor, 0, SEEK_END);

	for (off_t at = (off_t)output->offset_bytes; at < end;) {
		off_t data = lseek(output->descriptor, at, SEEK_DATA);

		if (data < 0)
			data = errno == ENXIO ? end : at;
		if (data > at &&
		    fallocate(output->descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, data - at) < 0)
			return;
		at = data < end ? lseek(output->descriptor, data, SEEK_HOLE) : end;
		if (at <= data)
			return;
	}
}

#define SUPERBLOCK_BYTES 1024

static errcode_t clear_superblock(const struct output *output)
{
	static const char zeros[SUPERBLOCK_BYTES];
	const struct image image = { output->descriptor, -1, output->offset_bytes };

	return image_write(&image, zeros, sizeof(zeros), SUPERBLOCK_BYTES);
}

errcode_t output_hide_superblock(struct output *output, struct problem *problem)
{
	if (!output->in_place)
		return 0;
	output->is_overwritten = true;
	errcode_t error = clear_superblock(output);

	return error ? problem_set(problem, error, output->path, "cannot write") : 0;
}

/*
 * True if mke2fs has overwritten the output. It refuses a mounted filesystem, which other programs may be using:
 * nothing may be written to an output that mke2fs left alone. The first bytes that it writes are zeros in the places of
 * superblocks.
 */
static bool is_overwritten(const struct output *output)
{
	SCOPE_FREE char *head = NULL;

	if (output->is_overwritten)
		return true;
	return read_head(output, &head) == 0 && memcmp(head, output->head, OUTPUT_HEAD_BYTES) != 0;
}

void output_fail(struct output *output, struct problem *problem)
{
	if (!output->in_place || output->descriptor < 0 || !output->head || !is_overwritten(output))
		return;
	if (output_is_fresh(output) && ftruncate(output->descriptor, (off_t)output->original_bytes) == 0)
		return;
	problem_add(problem, "; %s %s", output->path,
	            clear_superblock(output) == 0 ? "holds no filesystem now" : "holds no whole filesystem now");
}

errcode_t output_renew(struct output *output, int *previous, struct problem *problem)
{
	struct temporary_file first = output->temporary;

	*previous = output->descriptor;
	errcode_t error = open_temporary(output, problem);

	temporary_end(&first);
	return error;
}

errcode_t output_settle(struct output *output, struct problem *problem)
{
	if (fsync(output->descriptor) < 0)
		return problem_set(problem, errno, output->path, "cannot write");
	if (output->in_place)
		return 0;
	if (interrupt_pending())
		return EINTR;
	errcode_t error = check_replacing(output, problem);

	if (error)
		return error;
	/* An image that replaced another one keeps that file's owner if we may give files away. */
	if (output->existed && geteuid() == 0 && fchown(output->descriptor, output->uid, output->gid) < 0)
		return problem_set(problem, errno, output->path, "cannot set its owner");
	if (fchmod(output->descriptor, output->mode) < 0)
		return problem_set(problem, errno, output->path, "cannot set its mode");
	return 0;
}

errcode_t output_link(struct output *output, struct problem *problem)
{
	errcode_t error = output->in_place ? 0 : temporary_name(&output->temporary, output->path);

	return error ? problem_set(problem, error, output->path, "cannot create") : 0;
}

errcode_t output_name(struct output *output, struct problem *problem)
{
	errcode_t error = output->in_place ? 0 : temporary_rename(&output->temporary, output->path);

	return error ? problem_set(problem, error, output->path, "cannot create") : 0;
}

errcode_t output_finish(struct output *output, struct problem *problem)
{
	errcode_t error = output_settle(output, problem);

	return error ? error : output_name(output, problem);
}

void output_close(struct output *output)
{
	temporary_end(&output->temporary);
	free(TAKE(output->offset_path));
	free(TAKE(output->resolved_path));
	free(TAKE(output->head));
	if (output->is_device && output->direct_descriptor >= 0)
		close(output->direct_descriptor);
	if (output->descriptor >= 0)
		close(output->descriptor);
	output->descriptor = -1;
	output->direct_descriptor = -1;
}

static errcode_t write_to(const char *place, text_writer write, void *context)
{
	FILE *stream = fopen(place, "we");

	if (!stream)
		return errno;
	errcode_t error = write(context, stream);

	/* The last write may succeed after one that failed. */
	if (!error && ferror(stream))
		error = EIO;
	if (fclose(stream) && !error)
		error = errno;
	return error;
}

/* True for a pipe or a terminal, beside which there is no file that could replace it. */
static bool is_stream(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode));
}

errcode_t text_file_examine(const char *path, struct problem *problem)
{
	struct output output = { .path = path, .descriptor = -1 };

	if (is_stream(path))
		return 0;
	errcode_t error = output_examine(&output, problem);

	if (!error)
		error = output_examine_folder(output.path);
	output_close(&output);
	return error ? problem_set(problem, error, path, "cannot create") : 0;
}

errcode_t text_file_open(const char *path, text_writer write, void *context, struct output *output,
                         struct problem *problem)
{
	*output = (struct output){ .path = path, .descriptor = -1 };
	if (is_stream(path))
		return write_to(path, write, context);
	errcode_t error = output_examine(output, problem);

	if (!error)
		error = output_open(output, problem);
	return error ? error : write_to(output->work_path, write, context);
}

errcode_t text_file_write(const char *path, text_writer write, void *context, const char *action,
                          struct problem *problem)
{
	struct output output;
	errcode_t error = text_file_open(path, write, context, &output, problem);

	if (!error && output.descriptor >= 0)
		error = output_finish(&output, problem);
	output_close(&output);
	return error ? problem_set(problem, error, path, action) : 0;
}
