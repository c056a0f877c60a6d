/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "e2frag_subject.h"

#include <errno.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "analyze/read/filesystem.h"
#include "image/replayed.h"
#include "source/disk/raw_image.h"
#include "tool.h"

/* --- Where it is -------------------------------------------------------------------------------------------------- */

static errcode_t unpack(const char *name, enum raw_image_packing packing, enum progress_style style, int *raw,
                        struct problem *problem)
{
	struct progress *progress = NULL;
	errcode_t error = progress_start(stderr, style, &progress);

	if (error)
		return problem_set(problem, error, NULL, "cannot show progress");
	error = raw_image_unpack(name, packing, progress, raw, problem);
	progress_end(progress);
	return error;
}

struct raw_path {
	char text[32];
};

static struct raw_path raw_path_of(int descriptor)
{
	struct raw_path path;

	snprintf(path.text, sizeof(path.text), "/proc/self/fd/%d", descriptor);
	return path;
}

errcode_t place_find(const char *name, uint64_t offset_bytes, unsigned int partition, enum progress_style style,
                     struct place *place, struct problem *problem)
{
	enum raw_image_packing packing = raw_image_packing_of(name);
	struct raw_path path;

	*place = (struct place){ .raw = -1 };
	if (packing == RAW_IMAGE_NOT_PACKED)
		return target_find(name, offset_bytes, partition, &place->target, problem);
	errcode_t error = unpack(name, packing, style, &place->raw, problem);

	if (error)
		return error;
	path = raw_path_of(place->raw);
	error = target_find(path.text, offset_bytes, partition, &place->target, problem);
	return place_rename(place, error, name, problem);
}

void place_leave(struct place *place)
{
	target_free(&place->target);
	if (place->raw >= 0)
		close(place->raw);
	place->raw = -1;
}

errcode_t place_rename(const struct place *place, errcode_t error, const char *name, struct problem *problem)
{
	if (place->raw >= 0 && problem->path && !strcmp(problem->path, raw_path_of(place->raw).text)) {
		free(problem->path);
		problem->path = strdup(name);
	}
	return error;
}

/* --- The subject -------------------------------------------------------------------------------------------------- */

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
	else if (volume->is_replayed)
		print_failure_reason(EBUSY, path, "has a journal that was not replayed",
		                     "the report shows what a replay would leave");
	else if (volume->needs_recovery)
		print_failure_reason(EBUSY, path, "has a journal that was not replayed",
		                     "the report may be wrong, because the journal cannot be read: %s",
		                     refusal->reason ? refusal->reason : error_message(refusal->error));
}

errcode_t subject_open(const char *name, uint64_t offset_bytes, unsigned int partition, bool may_be_saved,
                       enum progress_style style, struct subject *subject, struct problem *problem)
{
	*subject = (struct subject){ .name = name, .place.raw = -1 };
	if (may_be_saved && saved_report_is(name))
		return saved_report_read(name, &subject->saved, problem);
	subject->report = calloc(1, sizeof(*subject->report));
	if (!subject->report)
		return problem_set(problem, ENOMEM, name, "cannot open");
	errcode_t error = place_find(name, offset_bytes, partition, style, &subject->place, problem);

	if (error)
		return error;
	struct problem refusal = { 0 };

	subject->path = subject->place.raw >= 0 ? name : subject->place.target.path;
	error = open_volume(subject, &refusal, problem);
	if (!error) {
		subject->report->filesystem.target = name;
		warn(subject, &refusal);
	}
	problem_clear(&refusal);
	return place_rename(&subject->place, error, name, problem);
}

void subject_leave(struct subject *subject)
{
	if (subject->is_open)
		volume_close(&subject->volume);
	subject->is_open = false;
	if (subject->place.raw >= 0)
		close(subject->place.raw);
	subject->place.raw = -1;
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
