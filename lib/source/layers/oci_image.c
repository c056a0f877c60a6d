/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An image in an OCI image layout as a source: a directory as skopeo, umoci, buildah and buildkit write it, or a tar
 * archive of one. index.json leads through further indexes to a manifest, and the manifest to the layers, which are
 * archives. All these files are named by their sha256 or sha512, which is checked.
 *
 * The name is DIR or DIR:REF, where REF is the value of the annotation org.opencontainers.image.ref.name; DIR has no
 * colon. If several images are left, the one for the wanted platform is taken, which is linux on this host's processor
 * unless options->platform says another one. A layer that is opened anew must be the file that was checked, unchanged:
 * source_file_open() compares. The author of an image is not trusted: a layer is read as a tar archive whatever its
 * bytes are (archive_kind_layer).
 *
 * The functions return EINVAL with a reason if a file does not follow the specification or is damaged, or if no image
 * can be chosen; also errors of open(2). The problem names the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "source/layers/image_configuration.h"
#include "source/layers/image_layers.h"
#include "source/layers/oci_choice.h"

/* An image has so many indexes within indexes at most; one is usual. */
#define MOST_INDEXES 8

/* A blob's description in a document, from which its texts are borrowed. */
struct oci_blob {
	const char *media_type;
	const char *digest; /* see image_digest() */
	uint64_t size_bytes;
	struct image_file file; /* owned */
};

struct oci_image {
	struct image_files files;
	json_object *manifest;
	struct image_file manifest_file;
	json_object *configuration; /* NULL: it was not read */
	struct image_layers layers; /* their texts are borrowed from the manifest and the configuration */
};

/* The path of the blob with this digest in the layout. The caller frees it; NULL: no memory. */
static char *blob_path(const char *digest)
{
	char *path;

	return asprintf(&path, "blobs/sha%d/%s", image_digest_is_sha512(digest) ? 512 : 256, digest) < 0 ? NULL : path;
}

/* Reads and checks a descriptor: the path of its blob cannot lead out of the layout. document: the name of the file
 * that has the descriptor. The caller releases blob->file. */
static errcode_t describe(const struct oci_image *image, const char *document, const json_object *descriptor,
                          struct oci_blob *blob, struct problem *problem)
{
	const char *media_type = image_text(descriptor, "mediaType");
	const char *digest = image_text(descriptor, "digest");
	const json_object *size = json_object_object_get(descriptor, "size");
	SCOPE_FREE char *path = NULL;

	*blob = (struct oci_blob){ 0 };
	if (!*media_type || !*digest || !json_object_is_type(size, json_type_int) || json_object_get_int64(size) < 0)
		return problem_set_reason(problem, EINVAL, document, "cannot use",
		                          "a descriptor needs mediaType, digest and size");
	if (!image_digest(digest))
		return problem_set_reason(problem, EINVAL, document, "cannot use",
		                          "the digest \"%.160s\" is not \"sha256:\" and 64 hexadecimal digits, or "
		                          "\"sha512:\" and 128",
		                          digest);
	blob->media_type = media_type;
	blob->digest = image_digest(digest);
	blob->size_bytes = (uint64_t)json_object_get_int64(size);
	path = blob_path(blob->digest);
	if (!path)
		return problem_set(problem, ENOMEM, document, "cannot use");
	return image_files_find(&image->files, path, &blob->file, problem);
}

/* Reads a JSON object. If blob is not NULL, size and sha256 are checked. */
static errcode_t read_document(const struct image_file *file, const struct oci_blob *blob, json_object **ret,
                               struct problem *problem)
{
	errcode_t error =
		image_file_document(file, blob ? blob->digest : NULL, blob ? blob->size_bytes : 0, ret, problem);

	if (error || json_object_is_type(*ret, json_type_object))
		return error;
	json_object_put(TAKE(*ret));
	return problem_set_reason(problem, EINVAL, file->name, "cannot use", "it is not a JSON object");
}

static errcode_t read_named(const struct oci_image *image, const char *name, struct image_file *file,
                            json_object **document, struct problem *problem)
{
	errcode_t error = image_files_find(&image->files, name, file, problem);

	return error ? error : read_document(file, NULL, document, problem);
}

static bool is_among(const char *text, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(text, list[i]))
			return true;
	return false;
}

#define IS_AMONG(text, list) is_among(text, list, sizeof(list) / sizeof((list)[0]))

static const char *const index_types[] = {
	"application/vnd.oci.image.index.v1+json",
	"application/vnd.docker.distribution.manifest.list.v2+json",
};

static const char *const manifest_types[] = {
	"application/vnd.oci.image.manifest.v1+json",
	"application/vnd.docker.distribution.manifest.v2+json",
};

static const char *const configuration_types[] = {
	"application/vnd.oci.image.config.v1+json",
	"application/vnd.docker.container.image.v1+json",
};

static const char *const layer_types[] = {
	"application/vnd.oci.image.layer.v1.tar",
	"application/vnd.oci.image.layer.v1.tar+gzip",
	"application/vnd.oci.image.layer.v1.tar+zstd",
	"application/vnd.oci.image.layer.nondistributable.v1.tar",
	"application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
	"application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
	"application/vnd.docker.image.rootfs.diff.tar",
	"application/vnd.docker.image.rootfs.diff.tar.gzip",
	"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
};

static errcode_t check_schema(const json_object *document, const char *path, struct problem *problem)
{
	if (json_object_get_int64(json_object_object_get(document, "schemaVersion")) == 2)
		return 0;
	return problem_set_reason(problem, EINVAL, path, "cannot use", "its schemaVersion is not 2");
}

/* Reads what the index `*document` of `*file` chooses, which takes their place. */
static errcode_t follow(const struct oci_image *image, const struct oci_choice *choice, bool is_last,
                        struct image_file *file, json_object **document, bool *is_manifest, struct problem *problem)
{
	const json_object *descriptor = NULL;
	json_object *next = NULL;
	struct oci_blob blob = { 0 };
	errcode_t error = check_schema(*document, file->name, problem);

	if (!error)
		error = oci_choose(*document, file->name, choice, &descriptor, problem);
	if (!error)
		error = describe(image, file->name, descriptor, &blob, problem);
	if (error)
		return error;
	*is_manifest = IS_AMONG(blob.media_type, manifest_types);
	if (!*is_manifest && (!IS_AMONG(blob.media_type, index_types) || is_last))
		error = problem_set_reason(problem, EINVAL, blob.file.name, "cannot use",
		                           is_last ? "too many indexes lead to \"%.160s\"" :
		                                     "unknown media type \"%.160s\"",
		                           blob.media_type);
	if (!error)
		error = read_document(&blob.file, &blob, &next, problem);
	image_file_release(file);
	*file = blob.file;
	json_object_put(*document);
	*document = next;
	return error;
}

static bool is_there(const void *context, const json_object *descriptor)
{
	const struct oci_image *image = context;
	const char *digest = image_digest(image_text(descriptor, "digest"));
	SCOPE_FREE char *path = digest ? blob_path(digest) : NULL;

	return !path || image_files_have(&image->files, path);
}

/* Follows the indexes from index.json to the manifest. */
static errcode_t find_manifest(struct oci_image *image, const char *reference, const char *platform,
                               struct problem *problem)
{
	struct oci_choice choice = {
		.reference = reference,
		.platform = platform,
		.is_there = is_there,
		.context = image,
	};
	bool is_manifest = false;
	errcode_t error = read_named(image, "index.json", &image->manifest_file, &image->manifest, problem);

	for (int depth = 0; !error && !is_manifest; depth++) {
		error = follow(image, &choice, depth == MOST_INDEXES, &image->manifest_file, &image->manifest,
		               &is_manifest, problem);
		/* The reference names a descriptor of index.json only, not one of a further index. */
		choice.reference = NULL;
	}
	return error ? error : check_schema(image->manifest, image->manifest_file.name, problem);
}

static const json_object *diff_ids(const struct oci_image *image)
{
	return json_object_object_get(json_object_object_get(image->configuration, "rootfs"), "diff_ids");
}

/* The digest that a layer unpacks to, as the configuration says. A sha512 is not compared: no program makes one. */
static const char *diff_id_of(const struct oci_image *image, size_t index)
{
	const json_object *list = diff_ids(image);
	const char *digest = json_object_is_type(list, json_type_array) ?
	                             image_digest(json_object_get_string(json_object_array_get_idx(list, index))) :
	                             NULL;

	return digest && !image_digest_is_sha512(digest) ? digest : "";
}

/* An artifact's configuration says nothing of layers. */
static errcode_t check_diff_ids(const struct oci_image *image, size_t count, struct problem *problem)
{
	const json_object *list = diff_ids(image);

	if (!json_object_is_type(list, json_type_array) || json_object_array_length(list) == count)
		return 0;
	return problem_set_reason(problem, EINVAL, image->manifest_file.name, "cannot use",
	                          "it has %zu layers, and its configuration %zu rootfs.diff_ids", count,
	                          json_object_array_length(list));
}

static errcode_t read_layers(struct oci_image *image, struct problem *problem)
{
	const json_object *list = json_object_object_get(image->manifest, "layers");
	const char *path = image->manifest_file.name;
	size_t count = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

	if (!count)
		return problem_set_reason(problem, EINVAL, path, "cannot use", "the image has no layers");
	errcode_t error = check_diff_ids(image, count, problem);

	if (!error)
		error = image_layers_create(&image->layers, count, path, problem);

	for (size_t i = 0; !error && i < count; i++) {
		struct oci_blob blob;

		error = describe(image, path, json_object_array_get_idx(list, i), &blob, problem);
		if (error)
			break;
		const bool is_whole = !blob.file.is_part || blob.file.bytes == blob.size_bytes;
		const uint64_t bytes = blob.file.bytes;

		blob.file.bytes = blob.size_bytes;
		const struct image_layer layer = { .file = blob.file,
			                           .digest = blob.digest,
			                           .diff_id = diff_id_of(image, i) };

		error = image_layers_add(&image->layers, &layer);
		if (!error && !is_whole)
			error = problem_set_reason(problem, EINVAL, layer.file.name, "cannot use",
			                           "it is damaged: it has %" PRIu64 " bytes, not %" PRIu64, bytes,
			                           blob.size_bytes);
		if (!error && !IS_AMONG(blob.media_type, layer_types))
			error = problem_set_reason(problem, EINVAL, layer.file.name, "cannot use",
			                           "unknown media type \"%.160s\" of a layer", blob.media_type);
	}
	return error ? problem_set(problem, error, path, "cannot use") : 0;
}

static errcode_t read_configuration(struct oci_image *image, const struct scan_options *options,
                                    struct problem *problem)
{
	struct oci_blob blob;
	errcode_t error = describe(image, image->manifest_file.name, json_object_object_get(image->manifest, "config"),
	                           &blob, problem);

	if (!error && !IS_AMONG(blob.media_type, configuration_types))
		error = problem_set_reason(problem, EINVAL, blob.file.name, "cannot use",
		                           "\"%.160s\" is no configuration of an image", blob.media_type);
	if (!error)
		error = read_document(&blob.file, &blob, &image->configuration, problem);
	if (!error)
		error = platform_check(options->platform, image->configuration, blob.file.name, problem);
	if (!error && options->configuration)
		error = image_configuration_take(options->configuration, image->configuration, blob.file.name, problem);
	image_file_release(&blob.file);
	return error;
}

/*
 * Unless it is asked for, the configuration is only read for what layers unpack to, and no image is refused since it
 * cannot be read: what is no image of a container, but an artifact, has layers and an empty configuration.
 */
static errcode_t use_configuration(struct oci_image *image, const struct scan_options *options, struct problem *problem)
{
	struct problem unused = { 0 };

	if (options->platform || options->configuration)
		return read_configuration(image, options, problem);
	if (read_configuration(image, options, &unused))
		problem_clear(&unused);
	return 0;
}

static errcode_t check_version(const struct oci_image *image, struct problem *problem)
{
	SCOPE_DOCUMENT json_object *document = NULL;
	struct image_file file = { 0 };
	errcode_t error = read_named(image, "oci-layout", &file, &document, problem);

	if (!error && strncmp(image_text(document, "imageLayoutVersion"), "1.", 2))
		error = problem_set_reason(problem, EINVAL, file.name, "cannot use", "its imageLayoutVersion is not 1");
	image_file_release(&file);
	return error;
}

/* Opens the directory, and refuses a path that is not a layout; the message tells how to make one of it. */
static errcode_t open_directory(struct image_files *files, char *path, struct problem *problem)
{
	struct stat status;

	files->path = path;
	if (!path)
		return ENOMEM;
	if (stat(path, &status))
		return problem_set(problem, errno, path, "cannot open");
	if (!S_ISDIR(status.st_mode))
		return problem_set_reason(problem, ENOTDIR, path, "cannot read",
		                          "an OCI image layout is a directory, and this is none: an archive is read "
		                          "as oci-archive:FILE (docker-archive: of docker save)");
	/* skopeo writes both files in its dir: form; an OCI image layout has neither. */
	if (!image_files_have(files, "oci-layout") && image_files_have(files, "manifest.json") &&
	    image_files_have(files, "version"))
		return problem_set_reason(problem, EINVAL, path, "cannot read",
		                          "it is what skopeo writes as dir:, not an OCI image layout: skopeo copy "
		                          "dir:FOLDER oci:DIR makes one");
	return 0;
}

static errcode_t read_image(struct oci_image *image, const struct source *source, const struct scan_options *options,
                            struct pool *pool, struct problem *problem)
{
	const char *name = source->path, *colon = strchr(name, ':');
	char *path = colon ? strndup(name, (size_t)(colon - name)) : strdup(name);
	errcode_t error = source->kind == &oci_archive_source ?
	                          image_files_open_archive(&image->files, path, options, problem) :
	                          open_directory(&image->files, path, problem);

	if (source->kind == &oci_image_source)
		image->files.noted = options->files;

	if (!error)
		error = check_version(image, problem);
	if (!error)
		error = find_manifest(image, colon ? colon + 1 : NULL, options->platform, problem);
	if (!error)
		error = use_configuration(image, options, problem);
	if (!error)
		error = read_layers(image, problem);
	return error || options->only_looks ? error : image_layers_check(&image->layers, options, pool, problem);
}

static errcode_t list_layers(const struct source *source, const struct scan_options *options, struct pool *pool,
                             source_layer_taker take, void *context, struct problem *problem)
{
	struct oci_image image = { .files = IMAGE_FILES_INITIALIZER };
	errcode_t error = read_image(&image, source, options, pool, problem);

	if (!error)
		error = image_layers_give(&image.layers, take, context);
	image_layers_release(&image.layers);
	json_object_put(image.manifest);
	json_object_put(image.configuration);
	image_file_release(&image.manifest_file);
	image_files_close(&image.files);
	return error ? problem_set(problem, error, source->path, "cannot use") : 0;
}

static bool is_directory(struct source *source)
{
	return source_cut_prefix(source, "oci");
}

static bool has_file(const char *folder, const char *name)
{
	SCOPE_FREE char *path = path_from(folder, name);

	return path && access(path, F_OK) == 0;
}

/* Without the prefix, too: what such a folder holds is of no use as files. */
static bool is_layout(struct source *source)
{
	/* A colon would begin the name of an image in it. */
	return !strchr(source->path, ':') && has_file(source->path, "oci-layout") &&
	       has_file(source->path, "index.json");
}

static bool is_archive(struct source *source)
{
	return source_cut_prefix(source, "oci-archive");
}

const struct source_kind oci_image_source = {
	.takes_prefix = is_directory,
	.takes_name = is_layout,
	.names_files = true,
	.list_layers = list_layers,
};

const struct source_kind oci_archive_source = {
	.takes_prefix = is_archive,
	.list_layers = list_layers,
};
