/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Archives that hold an image of containers, as docker save and skopeo pack them: layers, not files of a root. */
#pragma once

#include "source/tree/tree.h"

/* What skopeo(1) calls such an archive, by the names in its root; NULL: it is not one. */
const char *container_image_transport(const struct tree *tree);
