/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What e2frag makes a report of, or has one of already. */
#pragma once

#include <stdbool.h>

#include "analyze/forms/saved_report.h"
#include "analyze/read/target.h"
#include "analyze/read/volume.h"

/* A filesystem that is open, and its report; or, with is_saved, a report alone that was written by --json. */
struct subject {
	struct target target;
	struct volume volume;
	struct report *report;
	bool is_open;
	bool is_saved;
	struct saved_report saved;
};

/*
 * Opens a filesystem, and warns if its report may be wrong. offset_bytes, partition: as for target_find().
 * may_be_saved: the name may be that of a saved report, which is read. subject_close() is due in any case.
 */
MUST_CHECK errcode_t subject_open(const char *name, uint64_t offset_bytes, unsigned int partition, bool may_be_saved,
                                  struct subject *subject, struct problem *problem);
void subject_close(struct subject *subject);
