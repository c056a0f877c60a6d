/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report that e2frag --json has written, read for a comparison: its figures, and its unchanged text. */
#pragma once

#include "analyze/report/figures.h"
#include "support/problem.h"

/* A larger report is refused; that of a filesystem of 16 TiB with all its groups has some 20 MiB. */
#define SAVED_REPORT_BYTES (256u << 20)

struct saved_report {
	char *text;    /* the document, a JSON object; owned */
	char *target;  /* the reported filesystem; owned */
	char *verdict; /* its words, NULL: none; owned */
	struct figure_values figures;
};

/* True for a regular file starting with '{', as a boot block hardly does. */
bool saved_report_is(const char *path);

/*
 * Reads a report of e2frag and checks that its numbers are present, are numbers, and are consistent. Zeroes *report
 * first; the caller calls saved_report_free() in any case. EINVAL with a reason, EFBIG, ENOMEM, errors of open(2) and
 * read(2); the problem names the file.
 */
MUST_CHECK errcode_t saved_report_read(const char *path, struct saved_report *report, struct problem *problem);

void saved_report_free(struct saved_report *report);
