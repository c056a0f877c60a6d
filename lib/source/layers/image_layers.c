/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/layers/image_layers.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "source/kind/source_digest.h"

/* The same file with the same size and digest. */
static int compare_layers(const void *one, const void *other)
{
	const struct image_layer *first = one, *second = other;
	int order = strcmp(first->digest, second->digest);

	if (!order)
		order = strcmp(first->file.name, second->file.name);
	return order ? order : (first->file.bytes > second->file.bytes) - (first->file.bytes < second->file.bytes);
}

static void keep(void *layer)
{
	(void)layer;
}

errcode_t image_layers_create(struct image_layers *layers, size_t capacity, const char *name, struct problem *problem)
{
	*layers = (struct image_layers){ 0 };
	if (capacity > IMAGE_MOST_LAYERS)
		return problem_set_reason(problem, EINVAL, name, "cannot use",
		                          "it has %zu layers; no more than %u are read", capacity, IMAGE_MOST_LAYERS);
	layers->list = calloc(capacity, sizeof(*layers->list));
	return layers->list ? 0 : ENOMEM;
}

void image_layers_release(struct image_layers *layers)
{
	tdestroy(layers->known, keep);
	for (uint32_t i = 0; i < layers->count; i++)
		image_file_release(&layers->list[i].file);
	free(layers->list);
}

errcode_t image_layers_add(struct image_layers *layers, const struct image_layer *layer)
{
	struct image_layer *added = &layers->list[layers->count++];

	*added = *layer;
	struct image_layer *const *known = tsearch(added, &layers->known, compare_layers);

	if (!known)
		return ENOMEM;
	added->first = *known;
	return 0;
}

static struct source layer_source(const struct image_layer *layer)
{
	struct source source = image_file_layer(&layer->file);

	if (image_digest_is_sha512(layer->digest))
		source.sha512 = layer->digest;
	else
		strcpy(source.digest, layer->digest);
	strcpy(source.diff_id, layer->diff_id);
	return source;
}

/* Reads a layer to check it, and notes the version of the file that was checked. */
static errcode_t check_layer(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct image_layer *layer = &((const struct image_layers *)context)->list[index];

	(void)worker;
	/* Another worker writes to the one that is first, so nothing of it is read here. */
	if (layer->first != layer)
		return 0;
	layer->checked = layer_source(layer);
	return source_digest_check(&layer->checked, problem);
}

/* The cache knows layers by their sha256. */
static bool all_have_digests(const struct image_layers *layers)
{
	for (uint32_t i = 0; i < layers->count; i++)
		if (strlen(layers->list[i].digest) != SOURCE_DIGEST_DIGITS)
			return false;
	return true;
}

errcode_t image_layers_check(struct image_layers *layers, const struct scan_options *options, struct pool *pool,
                             struct problem *problem)
{
	if (options->layers && layers->count <= SOURCE_MOST_OPEN_LAYERS && all_have_digests(layers))
		return 0;
	return pool_run(pool, layers->count, check_layer, layers, problem);
}

errcode_t image_layers_give(const struct image_layers *layers, source_layer_taker take, void *context)
{
	errcode_t error = 0;

	for (uint32_t i = 0; !error && i < layers->count; i++) {
		const struct image_layer *layer = &layers->list[i];
		struct source source = layer_source(layer);

		if (layer->first->checked.is_checked) {
			source.is_checked = true;
			source.version = layer->first->checked.version;
			source.sha512 = NULL;
			strcpy(source.digest, layer->first->checked.digest);
		}
		error = take(context, &source);
	}
	return error;
}
