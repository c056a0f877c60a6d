/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "e2frag_subject.h"

#include <errno.h>

#include <ext2fs/ext2fs.h>

#include "tool.h"

static void warn(const char *path, const char *text)
{
	struct problem problem = { 0 };

	problem_set_reason(&problem, EBUSY, path, text, "the report may be wrong");
	print_problem(&problem);
}

void subject_close(struct subject *subject)
{
	if (subject->report)
		report_destroy(subject->report);
	free(subject->report);
	if (subject->is_open)
		volume_close(&subject->volume);
	target_free(&subject->target);
	saved_report_free(&subject->saved);
}

static errcode_t open_volume(struct subject *subject, struct problem *problem)
{
	const struct target *target = &subject->target;
	errcode_t error = volume_open(target->path, target->offset_bytes, &subject->volume,
	                              &subject->report->filesystem, problem);
	bool may_have_partitions = error == EXT2_ET_BAD_MAGIC && !target->offset_bytes;
	unsigned int partitions = may_have_partitions ? target_partitions(target->path) : 0;

	subject->is_open = !error;
	if (!partitions)
		return error;
	problem_clear(problem);
	return problem_set_reason(problem, error, target->path, "cannot open the filesystem",
	                          "it holds %u partitions: choose one with --partition=N", partitions);
}

errcode_t subject_open(const char *name, uint64_t offset_bytes, unsigned int partition, bool may_be_saved,
                       struct subject *subject, struct problem *problem)
{
	*subject = (struct subject){ .is_saved = may_be_saved && saved_report_is(name) };
	if (subject->is_saved)
		return saved_report_read(name, &subject->saved, problem);
	subject->report = calloc(1, sizeof(*subject->report));
	if (!subject->report)
		return problem_set(problem, ENOMEM, name, "cannot open");
	errcode_t error = target_find(name, offset_bytes, partition, &subject->target, problem);

	if (!error)
		error = open_volume(subject, problem);
	if (error)
		return error;
	subject->report->filesystem.target = name;
	if (subject->report->filesystem.is_mounted)
		warn(subject->target.path, "is mounted and may change while it is read");
	else if (subject->report->filesystem.needs_recovery)
		warn(subject->target.path, "has a journal that was not replayed");
	return 0;
}
