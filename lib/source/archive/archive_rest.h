/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This looks at what follows an archive, in the file or in what that unpacks to. */
#pragma once

#include "source/archive/archive_input.h"

struct archive_rest {
	bool is_there;   /* something that is not zeros follows */
	bool is_archive; /* which is read, too */
	uint64_t at;     /* where in the file, or in what that unpacks to; 0: that is not known */
	bool is_in_file; /* the first of them */
	bool is_below;   /* in what the level below unpacks to */
	bool is_before;  /* it does not follow: it lies before the first member */
};

/*
 * All members have been read: what is packed must be over, too, or be whole, and what follows is looked at. An
 * initramfs is cpio archives, each packed or not, with zeros between them. Errors of reading the archive.
 */
MUST_CHECK errcode_t archive_rest_look(struct archive_input *input, struct archive_rest *rest);

/* Goes on with the archive that follows. Its contents may lie elsewhere: input->store. Errors of opening. */
MUST_CHECK errcode_t archive_rest_open(struct archive_input *input, const struct archive_rest *rest);
