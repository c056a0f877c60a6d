/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What fs-verity has of a file in the image, compared with what its source comes to. */
#pragma once

#include "contents/protect.h"
#include "output/image_sink.h"
#include "populate/build/plan.h"

/*
 * Hashes the reader's open file, node, anew, and compares tree, descriptor and signature with the blocks of the image
 * that extents, as the image has them, lead to. *what: NULL if all is the same, else what differs, as words. Errors of
 * reading, ENOMEM. own: one worker's.
 */
MUST_CHECK errcode_t verify_protection(const struct plan *plan, const struct image *image, struct protect_worker *own,
                                       struct content_reader *reader, uint32_t node, const struct extent_list *extents,
                                       const char **what, struct problem *problem);
