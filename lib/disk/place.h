/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a filesystem is, by the name that the user gave: target_find() of a file that is unpacked if need be. */
#pragma once

#include <string.h>

#include "disk/raw_image.h"
#include "image/delta.h"
#include "image/target.h"
#include "image/volume.h"

/* Says where a filesystem is in its file or device, and what unpacking it may take. */
struct place_options {
	uint64_t offset_bytes, most_unpacked_bytes; /* the latter: 0: no limit */
	unsigned int partition;                     /* as for target_find() */
	struct progress *progress;                  /* of unpacking; may be NULL */
};

struct place {
	char *name; /* the user's; owned */
	struct raw_image raw;
	struct target target;
};

/*
 * Errors of raw_image_open() and target_find(). The caller calls place_leave() in any case. Problems have the user's
 * name.
 */
MUST_CHECK errcode_t place_find(const char *name, const struct place_options *options, struct place *place,
                                struct problem *problem);
void place_leave(struct place *place);

/* Is it a copy, which only reading makes sense of? */
static inline bool place_is_unpacked(const struct place *place)
{
	return place->raw.descriptor >= 0;
}

/* As messages call it: a device instead of its label. */
static inline const char *place_shown(const struct place *place)
{
	return place->raw.path && strcmp(place->raw.path, place->name) != 0 ? place->name : place->target.path;
}

/* What is to be written must be raw: says what it is, and what to do. EINVAL. */
errcode_t place_refuse_writing(const char *name, const char *action, struct problem *problem);

/* Gives a problem that names the unpacked file the user's name. Returns error. */
errcode_t place_rename(const struct place *place, errcode_t error, struct problem *problem);

/*
 * delta_old_open() and volume_open() of a file that is unpacked if need be, but not of a pipe; partitions are not
 * looked for. Messages call it path.
 */
MUST_CHECK errcode_t place_open_old(const char *path, const struct place_options *options, struct delta_old *old,
                                    struct problem *problem);
MUST_CHECK errcode_t place_open_volume(const char *path, const struct place_options *options, struct volume *volume,
                                       struct problem *problem);
