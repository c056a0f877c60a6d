/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of a tar archive, packed by libarchive or as they are, on their way to where they go. One thread at a time.
 */
#pragma once

#include "extract/extract.h"
#include "extract/output_sink.h"

struct tar_packer;

/* threads: of the packing, beside the caller's. ENOMEM; EIO: libarchive lacks this packing. */
MUST_CHECK errcode_t tar_packer_create(enum extract_packing packing, unsigned int threads, struct output_sink *sink,
                                       struct tar_packer **ret);

/* Errors of the sink; EIO: libarchive failed. */
MUST_CHECK errcode_t tar_packer_write(struct tar_packer *packer, const void *bytes, size_t count);
MUST_CHECK errcode_t tar_packer_end(struct tar_packer *packer);

/* Bytes that tar_packer_write() has taken. */
uint64_t tar_packer_bytes(const struct tar_packer *packer);

void tar_packer_destroy(struct tar_packer *packer);
