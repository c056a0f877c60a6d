/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layers of a container image, which are checked in parallel and then given to whoever lists them. */
#pragma once

#include "source/layers/image_files.h"

struct image_layer {
	struct image_file file;    /* owned */
	const char *digest;        /* borrowed; of its file, which has file.bytes (image_digest()); "": unknown */
	const char *diff_id;       /* borrowed; the sha256 of what it unpacks to, 64 digits; "": unknown */
	struct image_layer *first; /* the first layer that is the same file; only that one is read */
	struct source checked;     /* of the first one, when it has been checked */
};

struct image_layers {
	struct image_layer *list; /* owned */
	uint32_t count;
	void *known; /* the first ones by their files, for tsearch(3) */
};

/* Runtimes stop at 127 (docker) or 500 (overlayfs). Merging takes a time that grows with the square of their number. */
#define IMAGE_MOST_LAYERS 4096u

/* Room for so many of the image that is called name. EINVAL, with a reason: they are more than the most; ENOMEM. */
MUST_CHECK errcode_t image_layers_create(struct image_layers *layers, size_t capacity, const char *name,
                                         struct problem *problem);
void image_layers_release(struct image_layers *layers);

/* Adds a layer; the file becomes the list's. ENOMEM. */
MUST_CHECK errcode_t image_layers_add(struct image_layers *layers, const struct image_layer *layer);

/*
 * Workers read the layers to check them, and close them: there may be more than can be open. With a cache for layers
 * (options->layers) those that have a sha256 are not read: the cache checks the others when it reads them. But an image
 * with more layers than the cache takes may have one of them a thousand times, which is read to be checked only once.
 * EINVAL, with the reason: a layer is damaged.
 */
MUST_CHECK errcode_t image_layers_check(struct image_layers *layers, const struct scan_options *options,
                                        struct pool *pool, struct problem *problem);

/* Gives them to take(), lowest first. Its errors. */
MUST_CHECK errcode_t image_layers_give(const struct image_layers *layers, source_layer_taker take, void *context);
