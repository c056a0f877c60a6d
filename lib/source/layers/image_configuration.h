/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a container is started from an image: what the image's configuration says of it, as a document of its own. */
#pragma once

#include <json-c/json.h>

#include "support/problem.h"

/* Zero-initialise. */
struct image_configuration {
	char *text; /* owned: JSON, and a newline; NULL: no source is a container image */
};

void image_configuration_clear(struct image_configuration *configuration);

/*
 * Takes it from the configuration of an image, in the place of an earlier one's: the platform, and of "config" the
 * members that the OCI image specification has, as they are and in its order. The members that say when and how the
 * image was made are left out. EINVAL: "config" is not an object. ENOMEM. path: of the configuration.
 */
MUST_CHECK errcode_t image_configuration_take(struct image_configuration *configuration, const json_object *document,
                                              const char *path, struct problem *problem);
