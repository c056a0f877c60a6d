// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "populate/build/run_writer.h"
#include "populate/output/replace.h"
#include "support/run/interrupt.h"

static mode_t mode_of_new_files(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* Zeros after the end of a short file. The caller frees it. */
static errcode_t read_head(const struct output *output, char **ret)
{
	*ret = calloc(1, OUTPUT_HEAD_BYTES);
	if (!*ret)
		return ENOMEM;
	return pread(output->descriptor, *ret, OUTPUT_HEAD_BYTES, (off_t)output->offset_bytes) < 0 ? errno : 0;
}

static errcode_t open_in_place(struct output *output, struct problem *problem)
{
	output->work_path = strdup(output->path);
	if (!output->work_path)
		return problem_set(problem, ENOMEM, output->path, "cannot open");
	/* O_EXCL: of a block device, "not mounted and not held by anybody else"; of a file, nothing. */
	output->descriptor = open(output->path, O_RDWR | O_CLOEXEC | O_EXCL);
	if (output->descriptor < 0)
		return problem_set(problem, errno, output->path, "cannot open");
	/* mke2fs opens it exclusively itself. */
	close(output->descriptor);
	output->descriptor = open(output->path, O_RDWR | O_CLOEXEC);
	if (output->descriptor < 0)
		return problem_set(problem, errno, output->path, "cannot open");
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
	return 0;
}

static errcode_t open_temporary(struct output *output, struct problem *problem)
{
	const char *slash = strrchr(output->path, '/');
	int directory_bytes = slash ? (int)(slash + 1 - output->path) : 0;
	const char *name = output->path + directory_bytes;

	/* Not the whole name: with it, one of 255 bytes would have no room for the rest. */
	if (asprintf(&output->work_path, "%.*s.%.200s.XXXXXX", directory_bytes, output->path, name) < 0) {
		output->work_path = NULL;
		return problem_set(problem, ENOMEM, output->path, "cannot create");
	}
	output->descriptor = mkostemp(output->work_path, O_CLOEXEC);
	if (output->descriptor < 0) {
		int error = errno;

		free(TAKE(output->work_path));
		return problem_set(problem, error, output->path, "cannot create");
	}
	return 0;
}

/* rename(2) would put the image in the place of a symlink instead of where it points. */
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
		/* mke2fs, too, takes less than a KiB for an empty file. */
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

	/* What a link under /proc/self/fd leads to may have no name: such a file can be written in place. */
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

errcode_t output_examine(const struct output_request *request, struct output *output, struct problem *problem)
{
	*output = (struct output){
		.path = request->path,
		.descriptor = -1,
		.offset_bytes = request->offset_bytes,
		.in_place = request->in_place || request->offset_bytes,
		.advice = request->advice,
		.mode = mode_of_new_files(),
	};
	errcode_t error = examine(request->path, output, problem);

	if (!error && output->existed && output->advice)
		error = replace_check(output->path, output->advice, problem);
	return error;
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

#define SUPERBLOCK_BYTES 1024

static errcode_t clear_superblock(const struct output *output)
{
	static const char zeros[SUPERBLOCK_BYTES];
	const struct image image = { output->descriptor, output->offset_bytes };

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
 * mke2fs refuses what is mounted, and other programs may be using that: nothing is written to what it left alone. The
 * first that it writes are zeros where superblocks are.
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
	problem_add(problem, "%s %s", output->path,
	            clear_superblock(output) == 0 ? "holds no filesystem now" : "holds no whole filesystem now");
}

errcode_t output_renew(struct output *output, int *previous, struct problem *problem)
{
	SCOPE_FREE char *path = TAKE(output->work_path);
	int descriptor = output->descriptor;

	output->descriptor = -1;
	errcode_t error = open_temporary(output, problem);

	*previous = descriptor;
	unlink(path);
	return error;
}

errcode_t output_finish(struct output *output, struct problem *problem)
{
	if (fsync(output->descriptor) < 0)
		return problem_set(problem, errno, output->path, "cannot write");
	if (output->in_place)
		return 0;
	if (interrupt_pending())
		return EINTR;
	if (output->existed && output->advice) {
		errcode_t error = replace_check(output->path, output->advice, problem);

		if (error)
			return error;
	}
	/* An image that took another's place keeps its owner where we may give files away. */
	if (output->existed && geteuid() == 0 && fchown(output->descriptor, output->uid, output->gid) < 0)
		return problem_set(problem, errno, output->path, "cannot set its owner");
	if (fchmod(output->descriptor, output->mode) < 0)
		return problem_set(problem, errno, output->path, "cannot set its mode");
	if (rename(output->work_path, output->path) < 0)
		return problem_set(problem, errno, output->path, "cannot create");
	free(TAKE(output->work_path));
	return 0;
}

void output_close(struct output *output)
{
	if (output->work_path && !output->in_place)
		unlink(output->work_path);
	free(TAKE(output->work_path));
	free(TAKE(output->offset_path));
	free(TAKE(output->resolved_path));
	free(TAKE(output->head));
	if (output->descriptor >= 0)
		close(output->descriptor);
	output->descriptor = -1;
}
