// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "populate/run_writer.h"

static mode_t mode_of_new_files(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
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
	return 0;
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

static errcode_t examine(const char *path, struct output *output, struct problem *problem)
{
	struct stat status;

	/* rename(2) would put the image in the place of a symlink instead of where it points. */
	if (lstat(path, &status) == 0 && S_ISLNK(status.st_mode)) {
		output->path = output->resolved_path = realpath(path, NULL);
		if (!output->path)
			return problem_set(problem, errno, path, "cannot follow this symlink");
	}
	if (stat(output->path, &status) == 0) {
		if (S_ISBLK(status.st_mode))
			return examine_device(output, problem);
		if (S_ISDIR(status.st_mode))
			return problem_set(problem, EISDIR, path, "cannot create");
		if (!S_ISREG(status.st_mode))
			return problem_set_reason(problem, EINVAL, path, "cannot create",
			                          "it exists and is neither a regular file nor a block device");
		if (access(output->path, W_OK) < 0)
			return problem_set(problem, errno, path, "cannot create");
		output->existed = true;
		output->in_place = output->offset_bytes > 0;
		output->uid = status.st_uid;
		output->gid = status.st_gid;
		output->existing_bytes = (uint64_t)status.st_size;
		output->mode = status.st_mode & 07777;
	} else if (errno != ENOENT) {
		return problem_set(problem, errno, path, "cannot create");
	}
	return 0;
}

errcode_t output_examine(const char *path, uint64_t offset_bytes, struct output *output, struct problem *problem)
{
	*output = (struct output){
		.path = path,
		.descriptor = -1,
		.offset_bytes = offset_bytes,
		.mode = mode_of_new_files(),
	};
	errcode_t error = examine(path, output, problem);

	output->existing_bytes -= offset_bytes < output->existing_bytes ? offset_bytes : output->existing_bytes;
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

errcode_t output_hide_superblock(const struct output *output, struct problem *problem)
{
	static const char zeros[SUPERBLOCK_BYTES];

	const struct image image = { output->descriptor, output->offset_bytes };

	if (!output->in_place)
		return 0;
	errcode_t error = image_write(&image, zeros, sizeof(zeros), SUPERBLOCK_BYTES);

	return error ? problem_set(problem, error, output->path, "cannot write") : 0;
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

void output_discard(struct output *output)
{
	if (output->work_path && !output->in_place)
		unlink(output->work_path);
	free(TAKE(output->work_path));
	free(TAKE(output->offset_path));
	free(TAKE(output->resolved_path));
	if (output->descriptor >= 0)
		close(output->descriptor);
	output->descriptor = -1;
}
