/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An image in an OCI image layout, a directory as skopeo, umoci, buildah and buildkit write it: index.json leads
 * through further indexes to a manifest, and that to the layers, which are archives. All are files named by their
 * sha256, which is checked.
 */
#ifndef SOURCE_OCI_IMAGE_H
#define SOURCE_OCI_IMAGE_H

#include <stdint.h>

#include "support/work/pool.h"

#define OCI_IMAGE_PREFIX "oci:" /* of a source that is one */

struct oci_image;

/*
 * name is DIR or DIR:REF, where REF is what the annotation org.opencontainers.image.ref.name says; DIR has no colon.
 * Where several images are left, the one for linux and this host's processor is taken. The layers are read through to
 * check them, in parallel. EINVAL with a reason for what is not as the specification has it, is damaged or cannot be
 * chosen; errors of open(2). The problem names the file. *ret is NULL after a failure.
 */
MUST_CHECK errcode_t oci_image_open(const char *name, struct pool *pool, struct oci_image **ret,
                                    struct problem *problem);

/* NULL is allowed. */
void oci_image_close(struct oci_image *image);

uint32_t oci_image_layers(const struct oci_image *image);

/*
 * The path of a layer's archive, the lowest is 0; it lasts as long as the image. *descriptor is the file that was
 * checked, open at its beginning; it becomes the caller's, once.
 */
const char *oci_image_layer(struct oci_image *image, uint32_t layer, int *descriptor);

#endif
