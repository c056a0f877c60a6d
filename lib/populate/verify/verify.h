/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is the image what the source is? Judged by e2fsck(8), and by reading everything back. */
#ifndef POPULATE_VERIFY_H
#define POPULATE_VERIFY_H

#include "populate/build/build.h"
#include "populate/output/output.h"

/*
 * Reads all of the image, finished and closed, and all of the source again. What differs first, in the order of the
 * tree, is the problem (EUCLEAN), the same for any number of threads. Main thread only.
 */
MUST_CHECK errcode_t verify_image(struct build *build, const struct output *output);

#endif
