/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "disk/place.h"

#include <errno.h>
#include <stdio.h>

/* Each image is counted by itself. */
static errcode_t open_raw(const char *name, const struct place_options *options, struct raw_image *raw,
                          struct problem *problem)
{
	struct source_counts counts = { .limits.unpacked_bytes = options->most_unpacked_bytes };

	return raw_image_open(name, &counts, options->progress, raw, problem);
}

errcode_t place_find(const char *name, const struct place_options *options, struct place *place,
                     struct problem *problem)
{
	*place = (struct place){ .name = strdup(name) };
	if (!place->name)
		return problem_set(problem, ENOMEM, name, "cannot open");
	errcode_t error = open_raw(name, options, &place->raw, problem);

	if (!error)
		error = target_find(place->raw.path, options->offset_bytes, options->partition, &place->target,
		                    problem);
	return place_rename(place, error, problem);
}

void place_leave(struct place *place)
{
	target_free(&place->target);
	raw_image_close(&place->raw);
	free(TAKE(place->name));
}

errcode_t place_refuse_writing(const char *name, const char *action, struct problem *problem)
{
	char form[RAW_IMAGE_FORM_BYTES];

	if (!raw_image_form(name, form))
		snprintf(form, sizeof(form), "a pipe");
	return problem_set_reason(
		problem, EINVAL, name, action,
		"it is %s, and only a raw image can be changed: unpack it first, or make a new one of "
		"it with e2populate -d",
		form);
}

errcode_t place_rename(const struct place *place, errcode_t error, struct problem *problem)
{
	return raw_image_rename(&place->raw, error, place->name, problem);
}

errcode_t place_open_old(const char *path, const struct place_options *options, struct delta_old *old,
                         struct problem *problem)
{
	struct raw_image raw;
	errcode_t error = open_raw(path, options, &raw, problem);

	*old = (struct delta_old){ .descriptor = -1 };
	if (!error)
		error = delta_old_open(raw.path, options->offset_bytes, old, problem);
	old->path = path;
	raw_image_rename(&raw, error, path, problem);
	raw_image_close(&raw);
	return error;
}

errcode_t place_open_volume(const char *path, const struct place_options *options, struct volume *volume,
                            struct problem *problem)
{
	struct raw_image raw;
	errcode_t error = open_raw(path, options, &raw, problem);

	if (!error)
		error = volume_open(raw.path, options->offset_bytes, volume, problem);
	if (!error)
		volume->path = path;
	raw_image_rename(&raw, error, path, problem);
	raw_image_close(&raw);
	return error;
}
