/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subject of e2frag: a filesystem that it opens, or a report that it has written before. */
#pragma once

#include "analyze/forms/saved_report.h"
#include "analyze/report/report.h"
#include "disk/place.h"
#include "image/volume.h"
#include "support/run/progress.h"

/* An open filesystem and its report, or only a report that --json wrote: saved.text. */
struct subject {
	const char *name; /* as the user has it; borrowed */
	struct place place;
	const char *path; /* the file or device that the user has named, by whatever name */
	struct volume volume;
	struct report *report;
	bool is_open;     /* the volume */
	bool is_left_out; /* it could not be read */
	struct saved_report saved;
};

/* place_find(), with progress in that style on standard error. */
MUST_CHECK errcode_t find_place(const char *name, const struct place_options *where, enum progress_style style,
                                struct place *place, struct problem *problem);

/*
 * Opens a filesystem, and warns on standard error if its report may be wrong. may_be_saved: if the name is that of a
 * saved report, reads it. The caller calls subject_close() in any case.
 */
MUST_CHECK errcode_t subject_open(const char *name, const struct place_options *where, bool may_be_saved,
                                  enum progress_style style, struct subject *subject, struct problem *problem);

/* Closes the filesystem, but keeps the report and the names in it. */
void subject_leave(struct subject *subject);
void subject_close(struct subject *subject);
