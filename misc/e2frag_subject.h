/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subject of e2frag: a filesystem that it opens, or a report that it has written before. */
#pragma once

#include "analyze/forms/saved_report.h"
#include "analyze/report/report.h"
#include "image/target.h"
#include "image/volume.h"
#include "support/run/progress.h"

/* Where a filesystem is, by its name on the command line; a packed image is unpacked into a file without a name. */
struct place {
	struct target target;
	int raw; /* the unpacked file, -1: it is not packed */
};

/*
 * Finds it, as target_find() does, and unpacks it, with progress in that style on standard error. The caller calls
 * place_leave() in any case. Problems have the name of the packed file.
 */
MUST_CHECK errcode_t place_find(const char *name, uint64_t offset_bytes, unsigned int partition,
                                enum progress_style style, struct place *place, struct problem *problem);
void place_leave(struct place *place);

/* Gives a problem that names the unpacked file the name of the packed one. Returns error. */
errcode_t place_rename(const struct place *place, errcode_t error, const char *name, struct problem *problem);

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

/*
 * Opens a filesystem, and warns on standard error if its report may be wrong. offset_bytes, partition: as for
 * target_find(). may_be_saved: if the name is that of a saved report, reads it. The caller calls subject_close() in any
 * case.
 */
MUST_CHECK errcode_t subject_open(const char *name, uint64_t offset_bytes, unsigned int partition, bool may_be_saved,
                                  enum progress_style style, struct subject *subject, struct problem *problem);

/* Closes the filesystem, but keeps the report and the names in it. */
void subject_leave(struct subject *subject);
void subject_close(struct subject *subject);
