/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the image with the source: e2fsck(8) checks it, and everything is read back. */
#pragma once

#include "output/image_sink.h"
#include "populate/build/plan.h"
#include "populate/build/workplace.h"

/*
 * Reads all of the image, finished and closed, and all of the source again. What differs first, in the order of the
 * tree, is the problem (EUCLEAN), the same for any number of threads. Main thread only.
 */
MUST_CHECK errcode_t verify_image(const struct plan *plan, const struct image_file *file, const struct workplace *work);
