/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/target/working_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/volume.h"
#include "support/io/whole_io.h"
#include "support/run/child.h"
#include "support/run/interrupt.h"

#define ACTION "cannot copy"
#define PIECE_BYTES (1u << 20)
#define MOST_AT_ONCE ((size_t)1 << 30)

/* Copies between files for which the kernel's copy does not work. */
static errcode_t copy_by_reading(int from, int to, off_t at, off_t end)
{
	SCOPE_FREE char *bytes = malloc(PIECE_BYTES);
	errcode_t error = bytes ? 0 : ENOMEM;

	while (!error && at < end) {
		size_t count = end - at < PIECE_BYTES ? (size_t)(end - at) : PIECE_BYTES;

		error = interrupt_pending() ? EINTR : whole_read(from, bytes, count, (uint64_t)at);
		if (!error)
			error = whole_write(to, bytes, count, (uint64_t)at);
		at += (off_t)count;
	}
	return error;
}

static errcode_t copy_segment(int from, int to, off_t at, off_t end)
{
	while (at < end) {
		off_t source = at, target = at;
		size_t left = (size_t)(end - at);
		ssize_t copied =
			copy_file_range(from, &source, to, &target, left < MOST_AT_ONCE ? left : MOST_AT_ONCE, 0);

		if (copied <= 0)
			return copy_by_reading(from, to, at, end);
		if (interrupt_pending())
			return EINTR;
		at += copied;
	}
	return 0;
}

static errcode_t copy_data(int from, int to)
{
	struct stat status;
	off_t end = 0, start;
	errcode_t error = 0;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	if (fstat(from, &status) || ftruncate(to, status.st_size))
		return errno;
	while (!error && end < status.st_size) {
		start = lseek(from, end, SEEK_DATA);
		/* The rest of the file is a hole. */
		if (start < 0 && errno == ENXIO)
			return 0;
		if (start < 0)
			return copy_segment(from, to, end, status.st_size);
		end = lseek(from, start, SEEK_HOLE);
		if (end < 0)
			return errno;
		error = copy_segment(from, to, start, end);
	}
	return error;
}

/* The others would keep the old contents. Looked at before all the work. */
static errcode_t check_names(const struct output *output, struct problem *problem)
{
	struct stat status;

	if (stat(output->path, &status))
		return problem_set(problem, errno, output->path, ACTION);
	return status.st_nlink > 1 ? problem_set_reason(problem, EBUSY, output->path, "cannot replace it by a copy",
	                                                "it has other names (hard links)") :
	                             0;
}

errcode_t working_copy_make(const struct update_options *options, struct working_copy *copy, struct problem *problem)
{
	*copy = (struct working_copy){ .output = {
					       .path = options->image, .descriptor = -1, .direct_descriptor = -1 } };
	errcode_t error = output_examine(&copy->output, problem);

	if (!error && copy->output.is_device)
		return problem_set_reason(problem, EINVAL, options->image, ACTION,
		                          "a device cannot be replaced by a copy of it");
	if (!error)
		error = check_names(&copy->output, problem);
	if (!error)
		error = output_open(&copy->output, problem);
	if (error)
		return error;
	SCOPE_CLOSE int descriptor = open(options->image, O_RDONLY | O_CLOEXEC);

	error = descriptor < 0 ? errno : copy_data(descriptor, copy->output.descriptor);
	if (error)
		return problem_set(problem, error, options->image, ACTION);
	/* The handle that changes the copy locks it, too, through a descriptor of its own. */
	flock(copy->output.descriptor, LOCK_UN);
	copy->path = copy->output.work_path;
	return 0;
}

/*
 * resize2fs (1.47.0) adds blocks to a group's count of free clusters where the filesystem has clusters, and does not
 * mark a backup in use with the feature sparse_super2. e2fsck -p corrects that, and fails if it finds damage by whose
 * repair a file could be lost: the update has not looked at all of them.
 */
static errcode_t correct_counts(const struct child *resizer, const struct working_copy *copy, struct problem *problem)
{
	const char *const arguments[] = { "e2fsck", "-fp", copy->path, NULL };
	struct child child = *resizer;
	struct volume volume;
	errcode_t error = volume_open(copy->path, 0, &volume, problem);

	if (error)
		return error;
	const bool is_wrong =
		volume.geometry.cluster_bits || volume.superblock.s_feature_compat & EXT4_FEATURE_COMPAT_SPARSE_SUPER2;

	volume_close(&volume);
	child.arguments = arguments;
	child.most_status = 1; /* it has corrected something */
	return is_wrong ? child_run(&child, "e2fsck failed", problem) : 0;
}

errcode_t working_copy_grow(const struct update_options *options, const struct working_copy *copy, uint64_t blocks,
                            int64_t now, struct problem *problem)
{
	char size[32];
	const char *const arguments[] = { "resize2fs", "-f", copy->path, size, NULL };
	const struct child child = {
		.arguments = arguments,
		.path = copy->path,
		.image_path = options->image,
		.has_epoch = true,
		.epoch = now,
	};

	if (options->offset_bytes)
		return problem_set_reason(problem, EINVAL, options->image, "cannot grow",
		                          "what follows the filesystem in the file would be in its way");
	snprintf(size, sizeof(size), "%" PRIu64, blocks);
	errcode_t error = child_run(&child, "resize2fs failed", problem);

	return error ? error : correct_counts(&child, copy, problem);
}

errcode_t working_copy_finish(struct working_copy *copy, struct problem *problem)
{
	/* Until now this program itself had the image open. */
	copy->output.advice = "the changes are lost: end what uses it, and begin again";
	return output_finish(&copy->output, problem);
}

void working_copy_close(struct working_copy *copy)
{
	if (copy->output.path)
		output_close(&copy->output);
	copy->path = NULL;
}
