/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A container image in the archive of docker save as a source, which podman and skopeo write, too: a tar archive with
 * manifest.json, which names the configuration and the layers of each image. Newer ones hold an OCI layout besides,
 * whose blobs are the same files; there a layer may be packed. Members may be links to others.
 *
 * The name is FILE, FILE:NAME with one of the image's names as "docker load" shows them (docker.io/library/ may be left
 * out), or FILE:@N with the number of one, from 0 on. FILE has no colon. The configuration's sha256, after which it is
 * named, is checked, and so is that of each unpacked layer: the configuration has these digests (rootfs.diff_ids).
 *
 * Errors as in oci_image.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "source/archive/archive_kind.h"
#include "source/kind/source_digest.h"
#include "source/layers/image_configuration.h"
#include "source/layers/image_layers.h"
#include "source/layers/platform.h"
#include "support/io/whole_io.h"
#include "support/text/units.h"

#define MANIFEST "manifest.json"
#define MOST_LISTED 20

struct docker_image {
	struct image_files files;
	json_object *manifest;          /* of all images */
	const json_object *description; /* of this one; the manifest's */
	json_object *configuration;
	struct image_file configuration_file;
	struct image_layers layers; /* their texts are the configuration's */
};

static errcode_t refuse(const struct docker_image *image, struct problem *problem, const char *reason)
{
	return problem_set_reason(problem, EINVAL, image->files.name, "cannot use", MANIFEST " %s", reason);
}

/* What is not said of the registry is Docker's: skopeo writes docker.io/library/NAME, where docker writes NAME. */
static const char *short_name(const char *name)
{
	static const char *const parts[] = { "docker.io/", "library/" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!strncmp(name, parts[i], strlen(parts[i])))
			name += strlen(parts[i]);
	return name;
}

static bool has_name(const json_object *description, const char *name)
{
	const char *wanted = short_name(name);
	const size_t length = strlen(wanted);
	const json_object *names = json_object_object_get(description, "RepoTags");

	for (size_t i = 0; json_object_is_type(names, json_type_array) && i < json_object_array_length(names); i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(names, i));

		text = text ? short_name(text) : "";
		/* A name without a tag is that of the tag "latest". */
		if (length && !strncmp(text, wanted, length) && (!text[length] || !strcmp(text + length, ":latest")))
			return true;
	}
	return false;
}

/* The names of all images, for a message. The caller frees it; NULL: no memory. */
static char *list_names(const json_object *manifest)
{
	size_t bytes, listed = 0;
	char *text = NULL;
	FILE *stream = open_memstream(&text, &bytes);

	if (!stream)
		return NULL;
	for (size_t i = 0; i < json_object_array_length(manifest) && listed <= MOST_LISTED; i++, listed++) {
		const json_object *names = json_object_object_get(json_object_array_get_idx(manifest, i), "RepoTags");
		bool has_any = json_object_is_type(names, json_type_array) && json_object_array_length(names);

		fputs(listed ? ", " : "", stream);
		if (listed == MOST_LISTED)
			fputs("...", stream);
		else if (has_any && json_object_is_type(json_object_array_get_idx(names, 0), json_type_string))
			fprintf(stream, "%.160s", json_object_get_string(json_object_array_get_idx(names, 0)));
		else
			fprintf(stream, "@%zu", i);
	}
	return fclose(stream) ? (free(text), NULL) : text;
}

/* Chooses the image that the reference names; NULL: there must be one alone. */
static errcode_t choose(struct docker_image *image, const char *reference, struct problem *problem)
{
	const size_t count = json_object_array_length(image->manifest);
	uint64_t index = 0;
	bool is_chosen = false;

	if (!count)
		return refuse(image, problem, "lists no image");
	if (!reference)
		is_chosen = count == 1;
	else if (*reference == '@')
		is_chosen = !units_parse_number(reference + 1, 0, count - 1, &index);
	else
		for (; !is_chosen && index < count; index += !is_chosen)
			is_chosen = has_name(json_object_array_get_idx(image->manifest, index), reference);
	if (is_chosen) {
		image->description = json_object_array_get_idx(image->manifest, index);
		return 0;
	}
	SCOPE_FREE char *names = list_names(image->manifest);

	if (!names)
		return ENOMEM;
	if (!reference)
		return problem_set_reason(problem, EINVAL, image->files.name, "cannot choose an image",
		                          "there are several: %s", names);
	return problem_set_reason(problem, EINVAL, image->files.name, "cannot choose an image",
	                          "none is called \"%.160s\"; there are: %s", reference, names);
}

static errcode_t read_manifest(struct docker_image *image, struct problem *problem)
{
	struct image_file file;
	errcode_t error = image_files_find(&image->files, MANIFEST, &file, problem);

	if (error)
		return error;
	error = image_file_document(&file, NULL, 0, &image->manifest, problem);
	image_file_release(&file);
	if (!error && !json_object_is_type(image->manifest, json_type_array))
		return refuse(image, problem, "is not a list");
	return error;
}

/* The digest after which a file is named, DIGEST or DIGEST.json; NULL: it is not. */
static const char *digest_of_name(const char *name, char digits[SOURCE_DIGEST_DIGITS + 1])
{
	const char *slash = strrchr(name, '/');
	const char *file = slash ? slash + 1 : name;
	size_t length = strcspn(file, ".");

	if (length != SOURCE_DIGEST_DIGITS || (file[length] && strcmp(file + length, ".json")))
		return NULL;
	memcpy(digits, file, length);
	digits[length] = '\0';
	return source_digest_is_valid(digits, SOURCE_DIGEST_DIGITS) ? digits : NULL;
}

static errcode_t read_configuration(struct docker_image *image, const struct scan_options *options,
                                    struct problem *problem)
{
	const char *name = image_text(image->description, "Config");
	char digits[SOURCE_DIGEST_DIGITS + 1];

	if (!*name)
		return refuse(image, problem, "names no configuration (Config)");
	errcode_t error = image_files_find(&image->files, name, &image->configuration_file, problem);

	if (!error)
		error = image_file_document(&image->configuration_file, digest_of_name(name, digits),
		                            image->configuration_file.bytes, &image->configuration, problem);
	if (!error)
		error = platform_check(options->platform, image->configuration, image->configuration_file.name,
		                       problem);
	if (!error && options->configuration)
		error = image_configuration_take(options->configuration, image->configuration,
		                                 image->configuration_file.name, problem);
	return error;
}

/* Is the layer packed? Then its file's digest is not that of the configuration. */
static errcode_t is_packed(const struct docker_image *image, const struct image_file *file, bool *ret)
{
	uint8_t beginning[4] = { 0 };
	size_t count = file->bytes < sizeof(beginning) ? (size_t)file->bytes : sizeof(beginning);
	errcode_t error = whole_read(image->files.descriptor, beginning, count, file->start_bytes);

	const char *packer = error ? NULL : packing_name(beginning, count);

	*ret = packer && (!strcmp(packer, "gzip") || !strcmp(packer, "zstd"));
	return error;
}

static errcode_t add_layer(struct docker_image *image, const char *name, const char *diff_id, struct problem *problem)
{
	struct image_layer layer = { .diff_id = diff_id };
	errcode_t error = image_files_find(&image->files, name, &layer.file, problem);

	if (error)
		return error;
	bool is_unlike = false;

	error = is_packed(image, &layer.file, &is_unlike);
	layer.digest = is_unlike ? "" : diff_id;
	if (!error)
		return image_layers_add(&image->layers, &layer);
	problem_set(problem, error, layer.file.name, "cannot read");
	image_file_release(&layer.file);
	return error;
}

static errcode_t read_layers(struct docker_image *image, struct problem *problem)
{
	const json_object *list = json_object_object_get(image->description, "Layers");
	const json_object *digests =
		json_object_object_get(json_object_object_get(image->configuration, "rootfs"), "diff_ids");
	size_t count = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

	if (!count)
		return refuse(image, problem, "names no layers");
	if (!json_object_is_type(digests, json_type_array) || json_object_array_length(digests) != count)
		return problem_set_reason(problem, EINVAL, image->configuration_file.name, "cannot use",
		                          "its rootfs.diff_ids are not as many as the %zu layers of " MANIFEST, count);
	errcode_t error = image_layers_create(&image->layers, count, image->configuration_file.name, problem);

	for (size_t i = 0; !error && i < count; i++) {
		const json_object *name = json_object_array_get_idx(list, i);
		const char *diff_id = image_digest(json_object_get_string(json_object_array_get_idx(digests, i)));

		if (!json_object_is_type(name, json_type_string))
			return refuse(image, problem, "has a layer whose name is not a text");
		if (!diff_id || image_digest_is_sha512(diff_id))
			return problem_set_reason(problem, EINVAL, image->configuration_file.name, "cannot use",
			                          "one of its rootfs.diff_ids is not \"sha256:\" and 64 hexadecimal "
			                          "digits");
		error = add_layer(image, json_object_get_string((json_object *)(uintptr_t)name), diff_id, problem);
	}
	return error;
}

static errcode_t read_image(struct docker_image *image, const char *name, const struct scan_options *options,
                            struct pool *pool, struct problem *problem)
{
	const char *colon = strchr(name, ':');
	char *path = colon ? strndup(name, (size_t)(colon - name)) : strdup(name);
	errcode_t error = image_files_open_archive(&image->files, path, options, problem);

	if (!error)
		error = read_manifest(image, problem);
	if (!error)
		error = choose(image, colon ? colon + 1 : NULL, problem);
	if (!error)
		error = read_configuration(image, options, problem);
	if (!error)
		error = read_layers(image, problem);
	return error ? error : image_layers_check(&image->layers, options, pool, problem);
}

static errcode_t list_layers(const struct source *source, const struct scan_options *options, struct pool *pool,
                             source_layer_taker take, void *context, struct problem *problem)
{
	struct docker_image image = { .files = IMAGE_FILES_INITIALIZER };
	errcode_t error = read_image(&image, source->path, options, pool, problem);

	if (!error)
		error = image_layers_give(&image.layers, take, context);
	image_layers_release(&image.layers);
	json_object_put(image.manifest);
	json_object_put(image.configuration);
	image_file_release(&image.configuration_file);
	image_files_close(&image.files);
	return error ? problem_set(problem, error, source->path, "cannot use") : 0;
}

static bool has_prefix(struct source *source)
{
	return source_cut_prefix(source, "docker-archive");
}

const struct source_kind docker_archive_source = {
	.takes_prefix = has_prefix,
	.list_layers = list_layers,
};
