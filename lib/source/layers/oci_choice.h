/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the images that an index lists is meant. */
#pragma once

#include "source/layers/platform.h"

struct oci_choice {
	const char *reference; /* NULL: any */
	/* OS/ARCH[/VARIANT], which it must have; NULL: the host's is taken where there are several */
	const char *platform;
	/* Is there a file with the descriptor's digest? Also where it has none that is valid. */
	bool (*is_there)(const void *context, const json_object *descriptor);
	const void *context;
};

/*
 * Chooses one of an index's descriptors, which stays the index's. path: of the index. A descriptor without a platform
 * leads to a further index or to an image whose configuration says it, so it may be the one. EINVAL: not exactly one is
 * left; ENOENT: it is not there; the problem lists what there is.
 */
MUST_CHECK errcode_t oci_choose(const json_object *index, const char *path, const struct oci_choice *choice,
                                const json_object **chosen, struct problem *problem);
