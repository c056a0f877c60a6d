/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An image in an OCI image layout as a source: a directory as skopeo, umoci, buildah and buildkit write it. index.json
 * leads through further indexes to a manifest, and that to the layers, which are archives. All are files named by their
 * sha256, which is checked.
 *
 * The name is DIR or DIR:REF, where REF is what the annotation org.opencontainers.image.ref.name says; DIR has no
 * colon. Where several images are left, the one for linux and this host's processor is taken. The layers are read
 * through to check them, in parallel; each is given on as the open file that was checked. The author of an image is not
 * trusted: a layer is read as a tar archive whatever its bytes are (archive_kind_layer).
 *
 * EINVAL with a reason for what does not follow the specification, is damaged or cannot be chosen; errors of open(2).
 * The problem names the file.
 */
#pragma once

#include "source/tree/source_kind.h"

extern const struct source_kind oci_image_source;
