/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "e2frag_subject.h"

#include <errno.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "analyze/read/filesystem.h"
#include "command/tool.h"
#include "image/replayed.h"

errcode_t find_place(const char *name, const struct place_options *where, enum progress_style style,
                     struct place *place, struct problem *problem)
{
	struct place_options options = *where;
	errcode_t error = progress_start(stderr, style, &options.progress);

	*place = (struct place){ 0 };
	if (error)
		return problem_set(problem, error, NULL, "cannot show progress");
	error = place_find(name, &options, place, problem);
	progress_end(options.progress);
	return error;
}

/* What cannot be read as if its journal had been replayed is read as it lies; refusal says why. */
static errcode_t open_volume(struct subject *subject, struct problem *refusal, struct problem *problem)
{
	const struct target *target = &subject->place.target;
	errcode_t error = volume_open_as_replayed(target->path, target->offset_bytes, &subject->volume, refusal);

	if (error)
		error = volume_open(target->path, target->offset_bytes, &subject->volume, problem);
	subject->is_open = !error;
	if (!error) {
		subject->volume.path = subject->path;
		report_filesystem_describe(&subject->volume, &subject->report->filesystem);
	}
	/* Files of e2image are handled like truncated images. */
	bool may_be_other = error ? error == EXT2_ET_BAD_MAGIC || error == EXT2_ET_SHORT_READ :
	                            subject->report->filesystem.missing_blocks;

	return may_be_other ? target_explain(target, error, problem) : error;
}

/* Warns if a report may be wrong, or is of what is not in its place yet. */
static void warn(const struct subject *subject, const struct problem *refusal)
{
	const struct volume *volume = &subject->volume;
	const char *path = subject->path;

	if (volume->is_mounted)
		print_failure_reason(EBUSY, path, "is mounted and may change while it is read",
		                     "the report may be wrong");
	else if (volume->was_aborted)
		print_failure_reason(EUCLEAN, path, "has a journal that was not replayed",
		                     "the kernel has aborted it; the report shows what a replay would leave, which "
		                     "marks the filesystem as damaged: run e2fsck");
	else if (volume->is_replayed)
		print_failure_reason(EBUSY, path, "has a journal that was not replayed",
		                     "the report shows what a replay would leave");
	else if (volume->needs_recovery)
		print_failure_reason(EBUSY, path, "has a journal that was not replayed",
		                     "the report may be wrong, because the journal cannot be read: %s",
		                     refusal->reason ? refusal->reason : error_message(refusal->error));
}

errcode_t subject_open(const char *name, const struct place_options *where, bool may_be_saved,
                       enum progress_style style, struct subject *subject, struct problem *problem)
{
	*subject = (struct subject){ .name = name };
	if (may_be_saved && saved_report_is(name))
		return saved_report_read(name, &subject->saved, problem);
	subject->report = calloc(1, sizeof(*subject->report));
	if (!subject->report)
		return problem_set(problem, ENOMEM, name, "cannot open");
	errcode_t error = find_place(name, where, style, &subject->place, problem);

	if (error)
		return error;
	struct problem refusal = { 0 };

	subject->path = place_shown(&subject->place);
	error = open_volume(subject, &refusal, problem);
	if (!error) {
		subject->report->filesystem.target = name;
		warn(subject, &refusal);
	}
	problem_clear(&refusal);
	return place_rename(&subject->place, error, problem);
}

void subject_leave(struct subject *subject)
{
	if (subject->is_open)
		volume_close(&subject->volume);
	subject->is_open = false;
	raw_image_close(&subject->place.raw);
}

void subject_close(struct subject *subject)
{
	subject_leave(subject);
	if (subject->report)
		report_destroy(subject->report);
	free(subject->report);
	place_leave(&subject->place);
	saved_report_free(&subject->saved);
}
