/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An image in an OCI image layout as a source: a directory as skopeo, umoci, buildah and buildkit write it. index.json
 * leads through further indexes to a manifest, and the manifest to the layers, which are archives. All these files are
 * named by their sha256, which is checked.
 *
 * The name is DIR or DIR:REF, where REF is the value of the annotation org.opencontainers.image.ref.name; DIR has no
 * colon. If several images are left, the one for linux and this host's processor is taken. Workers read the layers in
 * parallel to check them, and close them: there may be more than can be open. A layer that is opened anew must be the
 * file that was checked, unchanged: source_file_open() compares. The author of an image is not trusted: a layer is read
 * as a tar archive whatever its bytes are (archive_kind_layer).
 *
 * The functions return EINVAL with a reason if a file does not follow the specification or is damaged, or if no image
 * can be chosen; also errors of open(2). The problem names the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <nettle/sha2.h>
#include <search.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "source/archive/archive_kind.h"
#include "source/kind/source_digest.h"
#include "support/io/whole_io.h"
#include "support/text/json_document.h"

/* A larger document is refused, since it is read into memory as a whole; registries refuse it, too. */
#define DOCUMENT_BYTES (4u << 20)

#define DIGEST_PREFIX "sha256:"

/* An image has so many indexes within indexes at most; one is usual. */
#define MOST_INDEXES 8
#define MOST_LISTED 20

static void put_document(json_object **document)
{
	json_object_put(*document);
}

#define SCOPE_DOCUMENT __attribute__((cleanup(put_document)))

/* A blob's description in a document. All but the path is borrowed from the document. */
struct oci_blob {
	const char *media_type;
	const char *digest; /* 64 digits */
	uint64_t size_bytes;
	char *path;             /* owned */
	struct oci_blob *first; /* for a layer: the first layer that is the same file; only that one is read */
	bool is_checked;        /* for a layer; then it was this version: */
	struct file_version version;
	const char *diff_id; /* for a layer: the digest of what it unpacks to, 64 digits; "": unknown */
};

struct oci_image {
	char *directory;
	json_object *manifest;
	char *manifest_path;
	json_object *configuration; /* NULL: it was not read */
	struct oci_blob *layers;    /* their texts are borrowed from the manifest and the configuration */
	uint32_t layer_count;
	void *known; /* layers by digest, for tsearch(3) */
};

static int compare_blobs(const void *one, const void *other)
{
	const struct oci_blob *first = one, *second = other;
	int order = strcmp(first->digest, second->digest);

	return order ? order : first->size_bytes < second->size_bytes ? -1 : first->size_bytes > second->size_bytes;
}

static void keep(void *blob)
{
	(void)blob;
}

/* Returns a member's text; "" if it is missing or not a text. */
static const char *text_of(const json_object *object, const char *key)
{
	json_object *text = json_object_object_get(object, key);

	return json_object_is_type(text, json_type_string) ? json_object_get_string(text) : "";
}

/*
 * Reads and checks a descriptor: the path of its blob cannot lead out of the layout. document: the path of the file
 * that has the descriptor. The caller frees blob->path.
 */
static errcode_t describe(const char *directory, const char *document, const json_object *descriptor,
                          struct oci_blob *blob, struct problem *problem)
{
	const char *media_type = text_of(descriptor, "mediaType");
	const char *digest = text_of(descriptor, "digest");
	const json_object *size = json_object_object_get(descriptor, "size");

	*blob = (struct oci_blob){ .diff_id = "" };
	if (!*media_type || !*digest || !json_object_is_type(size, json_type_int) || json_object_get_int64(size) < 0)
		return problem_set_reason(problem, EINVAL, document, "cannot use",
		                          "a descriptor needs mediaType, digest and size");
	if (strncmp(digest, DIGEST_PREFIX, strlen(DIGEST_PREFIX)) ||
	    !source_digest_is_valid(digest + strlen(DIGEST_PREFIX)))
		return problem_set_reason(problem, EINVAL, document, "cannot use",
		                          "the digest \"%.160s\" is not \"sha256:\" and 64 hexadecimal digits", digest);
	blob->media_type = media_type;
	blob->digest = digest + strlen(DIGEST_PREFIX);
	blob->size_bytes = (uint64_t)json_object_get_int64(size);
	if (asprintf(&blob->path, "%s/blobs/sha256/%s", directory, blob->digest) < 0) {
		blob->path = NULL;
		return problem_set(problem, ENOMEM, document, "cannot use");
	}
	return 0;
}

static errcode_t check_digest(const struct oci_blob *blob, struct sha256_ctx *hash, struct problem *problem)
{
	char digits[SOURCE_DIGEST_DIGITS + 1];

	source_digest_text(hash, digits);
	if (strcmp(digits, blob->digest) == 0)
		return 0;
	return problem_set_reason(problem, EINVAL, blob->path, "cannot use", "it is damaged: its sha256 is %s", digits);
}

/* Opens a regular file. If blob is not NULL, the size is checked. */
static errcode_t open_file(const char *path, const struct oci_blob *blob, int *descriptor, struct stat *status,
                           struct problem *problem)
{
	*descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*descriptor < 0 || fstat(*descriptor, status))
		return problem_set(problem, errno, path, "cannot open");
	if (!S_ISREG(status->st_mode))
		return problem_set_reason(problem, EINVAL, path, "cannot open", "it is not a regular file");
	const uint64_t size_bytes = (uint64_t)status->st_size;

	if (blob && blob->size_bytes != size_bytes)
		return problem_set_reason(problem, EINVAL, path, "cannot use",
		                          "it is damaged: it has %" PRIu64 " bytes, not %" PRIu64, size_bytes,
		                          blob->size_bytes);
	return 0;
}

static errcode_t parse(const char *path, const char *text, size_t bytes, json_object **ret, struct problem *problem)
{
	SCOPE_DOCUMENT json_object *document = NULL;
	errcode_t error = json_document_parse(path, "cannot use", text, bytes, &document, problem);

	if (error)
		return error;
	if (!json_object_is_type(document, json_type_object))
		return problem_set_reason(problem, EINVAL, path, "cannot use", "it is not a JSON object");
	*ret = TAKE(document);
	return 0;
}

/* Reads a JSON object. If blob is not NULL, size and sha256 are checked. */
static errcode_t read_document(const char *path, const struct oci_blob *blob, json_object **ret,
                               struct problem *problem)
{
	SCOPE_CLOSE int descriptor = -1;
	struct sha256_ctx hash;
	struct stat status;

	*ret = NULL;
	errcode_t error = open_file(path, blob, &descriptor, &status, problem);

	if (error)
		return error;
	const uint64_t size_bytes = (uint64_t)status.st_size;

	if (size_bytes > DOCUMENT_BYTES)
		return problem_set_reason(problem, EFBIG, path, "cannot use", "it has more than %u bytes",
		                          DOCUMENT_BYTES);
	SCOPE_FREE char *text = malloc(size_bytes + 1);

	error = text ? whole_read(descriptor, text, size_bytes, 0) : ENOMEM;
	if (error)
		return problem_set(problem, error, path, "cannot read");
	if (blob) {
		sha256_init(&hash);
		sha256_update(&hash, size_bytes, (const uint8_t *)text);
		error = check_digest(blob, &hash, problem);
		if (error)
			return error;
	}
	return parse(path, text, size_bytes, ret, problem);
}

static struct source layer_source(const struct oci_blob *blob)
{
	struct source layer = { .kind = &archive_source,
		                .path = blob->path,
		                .archive = &archive_kind_layer,
		                .bytes = blob->size_bytes,
		                .is_checked = blob->first->is_checked,
		                .version = blob->first->version };

	strcpy(layer.digest, blob->digest);
	strcpy(layer.diff_id, blob->diff_id);
	return layer;
}

/* Reads a layer to check it, and notes the version of the file that was checked. */
static errcode_t check_layer(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct oci_blob *blob = &((const struct oci_image *)context)->layers[index];

	(void)worker;
	/* Another worker writes to the one that is first, so nothing of it is read here. */
	if (blob->first != blob)
		return 0;
	struct source layer = layer_source(blob);
	errcode_t error = source_digest_check(&layer, problem);

	blob->version = layer.version;
	blob->is_checked = !error;
	return error;
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

/* Returns this host's processor by Go's name, which OCI uses. */
static const char *host_architecture(void)
{
	static const struct {
		const char *machine, *architecture;
	} names[] = {
		{ "x86_64", "amd64" },        { "i686", "386" },    { "i586", "386" },
		{ "aarch64", "arm64" },       { "armv7l", "arm" },  { "armv6l", "arm" },
		{ "ppc64le", "ppc64le" },     { "s390x", "s390x" }, { "riscv64", "riscv64" },
		{ "loongarch64", "loong64" },
	};
	struct utsname host;

	if (uname(&host) == 0)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (!strcmp(host.machine, names[i].machine))
				return names[i].architecture;
	return "unknown";
}

static const char *text_at(const json_object *object, const char *outer, const char *inner)
{
	return text_of(json_object_object_get(object, outer), inner);
}

static const char *reference_of(const json_object *descriptor)
{
	return text_at(descriptor, "annotations", "org.opencontainers.image.ref.name");
}

/* The properties that the chosen descriptor of an index must have. */
struct wish {
	const char *reference;    /* NULL: any */
	const char *architecture; /* NULL: any architecture and any system */
};

static bool fits(const json_object *descriptor, const struct wish *wish)
{
	/* Builders put attestations of how an image was built beside it; their system is "unknown". */
	if (!strcmp(text_at(descriptor, "platform", "os"), "unknown"))
		return false;
	if (wish->reference && strcmp(reference_of(descriptor), wish->reference))
		return false;
	return !wish->architecture || (!strcmp(text_at(descriptor, "platform", "os"), "linux") &&
	                               !strcmp(text_at(descriptor, "platform", "architecture"), wish->architecture));
}

static size_t count_fitting(const json_object *descriptors, const struct wish *wish, const json_object **first)
{
	size_t count = 0;

	for (size_t i = 0; i < json_object_array_length(descriptors); i++) {
		const json_object *descriptor = json_object_array_get_idx(descriptors, i);

		if (!fits(descriptor, wish))
			continue;
		if (!count++)
			*first = descriptor;
	}
	return count;
}

/* Returns the names that can be chosen, for a message. The caller frees it; NULL: no memory. */
static char *list_choices(const json_object *descriptors, const struct wish *wish)
{
	size_t listed = 0, bytes;
	char *text = NULL;
	FILE *stream = open_memstream(&text, &bytes);

	if (!stream)
		return NULL;
	for (size_t i = 0; i < json_object_array_length(descriptors); i++) {
		const json_object *descriptor = json_object_array_get_idx(descriptors, i);
		const char *system = text_at(descriptor, "platform", "os");

		if (!fits(descriptor, wish) || listed > MOST_LISTED)
			continue;
		fputs(listed ? ", " : "", stream);
		if (listed == MOST_LISTED)
			fputs("...", stream);
		else if (*system)
			fprintf(stream, "%.160s%s%.160s/%.160s", reference_of(descriptor),
			        *reference_of(descriptor) ? " for " : "", system,
			        text_at(descriptor, "platform", "architecture"));
		else
			fprintf(stream, "%.160s", reference_of(descriptor));
		listed++;
	}
	/* fclose() completes the text, so it comes first. */
	if (fclose(stream) || !text)
		return text;
	return *text ? text : (free(text), strdup("none"));
}

/* Chooses one of an index's descriptors. document: the index's path. */
static errcode_t choose(const json_object *index, const char *document, const char *reference, const json_object **ret,
                        struct problem *problem)
{
	const json_object *descriptors = json_object_object_get(index, "manifests");
	const struct wish any = { 0 }, named = { reference, NULL }, fitting = { reference, host_architecture() };
	const json_object *chosen = NULL;

	if (!json_object_is_type(descriptors, json_type_array))
		return problem_set_reason(problem, EINVAL, document, "cannot use", "it has no list of manifests");
	size_t count = count_fitting(descriptors, &named, &chosen);

	if (count > 1 && count_fitting(descriptors, &fitting, ret) == 1)
		return 0;
	*ret = chosen;
	if (count == 1)
		return 0;
	SCOPE_FREE char *choices = list_choices(descriptors, count ? &named : &any);

	if (!choices)
		return problem_set(problem, ENOMEM, document, "cannot use");
	if (!count && reference)
		return problem_set_reason(problem, EINVAL, document, "cannot choose an image",
		                          "none is called \"%.160s\"; there are: %s", reference, choices);
	if (!count)
		return problem_set_reason(problem, EINVAL, document, "cannot choose an image", "the index lists none");
	return problem_set_reason(problem, EINVAL, document, "cannot choose an image",
	                          "there are several, and not exactly one for linux/%s: %s", fitting.architecture,
	                          choices);
}

static errcode_t check_schema(const json_object *document, const char *path, struct problem *problem)
{
	if (json_object_get_int64(json_object_object_get(document, "schemaVersion")) == 2)
		return 0;
	return problem_set_reason(problem, EINVAL, path, "cannot use", "its schemaVersion is not 2");
}

/* Follows the indexes from index.json to the manifest. */
static errcode_t find_manifest(struct oci_image *image, const char *reference, struct problem *problem)
{
	SCOPE_FREE char *path = path_from(image->directory, "index.json");
	SCOPE_DOCUMENT json_object *document = NULL;
	errcode_t error = path ? read_document(path, NULL, &document, problem) : ENOMEM;

	for (int depth = 0; !error; depth++) {
		const json_object *descriptor = NULL;
		json_object *next = NULL;
		struct oci_blob blob = { 0 };

		error = check_schema(document, path, problem);
		if (!error)
			error = choose(document, path, reference, &descriptor, problem);
		if (!error)
			error = describe(image->directory, path, descriptor, &blob, problem);
		if (error)
			return error;
		bool is_manifest = IS_AMONG(blob.media_type, manifest_types);

		if (!is_manifest && (!IS_AMONG(blob.media_type, index_types) || depth == MOST_INDEXES))
			error = problem_set_reason(problem, EINVAL, blob.path, "cannot use",
			                           depth == MOST_INDEXES ? "too many indexes lead to \"%.160s\"" :
			                                                   "unknown media type \"%.160s\"",
			                           blob.media_type);
		if (!error)
			error = read_document(blob.path, &blob, &next, problem);
		free(path);
		path = blob.path;
		json_object_put(document);
		document = next;
		/* The reference names a descriptor of index.json only, not one of a further index. */
		reference = NULL;
		if (!error && is_manifest) {
			image->manifest = TAKE(document);
			image->manifest_path = TAKE(path);
			return check_schema(image->manifest, image->manifest_path, problem);
		}
	}
	return error;
}

static errcode_t read_layers(struct oci_image *image, struct problem *problem)
{
	const json_object *list = json_object_object_get(image->manifest, "layers");
	const char *path = image->manifest_path;
	size_t count = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

	if (!count || count > UINT32_MAX)
		return problem_set_reason(problem, EINVAL, path, "cannot use", "the image has no layers");
	image->layers = calloc(count, sizeof(*image->layers));
	if (!image->layers)
		return problem_set(problem, ENOMEM, path, "cannot use");
	for (size_t i = 0; i < count; i++) {
		const json_object *descriptor = json_object_array_get_idx(list, i);
		struct oci_blob *layer = &image->layers[image->layer_count++];
		errcode_t error = describe(image->directory, path, descriptor, layer, problem);

		if (error)
			return error;
		struct oci_blob *const *known = tsearch(layer, &image->known, compare_blobs);

		if (!known)
			return problem_set(problem, ENOMEM, path, "cannot use");
		layer->first = *known;
		if (!IS_AMONG(layer->media_type, layer_types))
			return problem_set_reason(problem, EINVAL, layer->path, "cannot use",
			                          "unknown media type \"%.160s\" of a layer", layer->media_type);
	}
	return 0;
}

/*
 * Notes what the configuration says of each layer: the digest of what it unpacks to. What is no image of a container,
 * but an artifact, has layers and an empty configuration.
 */
static void note_diff_ids(const struct oci_image *image)
{
	const json_object *list =
		json_object_object_get(json_object_object_get(image->configuration, "rootfs"), "diff_ids");

	if (!json_object_is_type(list, json_type_array) || json_object_array_length(list) != image->layer_count)
		return;
	for (uint32_t i = 0; i < image->layer_count; i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(list, i));

		if (text && !strncmp(text, DIGEST_PREFIX, strlen(DIGEST_PREFIX)) &&
		    source_digest_is_valid(text + strlen(DIGEST_PREFIX)))
			image->layers[i].diff_id = text + strlen(DIGEST_PREFIX);
	}
}

/* Without a cache the configuration is not read, so an image is not refused for it. */
static void read_configuration(struct oci_image *image)
{
	struct problem problem = { 0 };
	struct oci_blob blob;
	errcode_t error = describe(image->directory, image->manifest_path,
	                           json_object_object_get(image->manifest, "config"), &blob, &problem);

	if (!error && IS_AMONG(blob.media_type, configuration_types))
		error = read_document(blob.path, &blob, &image->configuration, &problem);
	if (!error)
		note_diff_ids(image);
	problem_clear(&problem);
	free(blob.path);
}

static errcode_t check_version(const char *directory, struct problem *problem)
{
	SCOPE_FREE char *path = path_from(directory, "oci-layout");
	SCOPE_DOCUMENT json_object *document = NULL;
	errcode_t error = path ? read_document(path, NULL, &document, problem) : ENOMEM;

	if (error)
		return error;
	if (!strncmp(text_of(document, "imageLayoutVersion"), "1.", 2))
		return 0;
	return problem_set_reason(problem, EINVAL, path, "cannot use", "its imageLayoutVersion is not 1");
}

static bool has_file(const char *directory, const char *name)
{
	SCOPE_FREE char *path = path_from(directory, name);

	return path && access(path, F_OK) == 0;
}

/* Refuses a path that is not a layout; the message tells how to make one of it. */
static errcode_t check_directory(const char *directory, struct problem *problem)
{
	struct stat status;

	if (stat(directory, &status))
		return problem_set(problem, errno, directory, "cannot open");
	if (!S_ISDIR(status.st_mode))
		return problem_set_reason(
			problem, ENOTDIR, directory, "cannot read",
			"an OCI image layout is a directory, and this is none: of an archive, skopeo copy "
			"oci-archive:FILE oci:DIR (docker-archive: of docker save) makes one");
	/* skopeo writes both files in its dir: form; an OCI image layout has neither. */
	if (!has_file(directory, "oci-layout") && has_file(directory, "manifest.json") &&
	    has_file(directory, "version"))
		return problem_set_reason(problem, EINVAL, directory, "cannot read",
		                          "it is what skopeo writes as dir:, not an OCI image layout: skopeo copy "
		                          "dir:FOLDER oci:DIR makes one");
	return 0;
}

/*
 * Layers that are in the cache are not read: the cache checks the others when it reads them. An image with more layers
 * than the cache takes may have one of them a thousand times, which is read to be checked only once.
 */
static errcode_t read_image(struct oci_image *image, const char *name, const struct scan_options *options,
                            struct pool *pool, struct problem *problem)
{
	const char *colon = strchr(name, ':');

	image->directory = colon ? strndup(name, (size_t)(colon - name)) : strdup(name);
	errcode_t error = image->directory ? check_directory(image->directory, problem) : ENOMEM;

	if (!error)
		error = check_version(image->directory, problem);
	if (!error)
		error = find_manifest(image, colon ? colon + 1 : NULL, problem);
	if (!error)
		error = read_layers(image, problem);
	if (!error && options->layers)
		read_configuration(image);
	if (error || (options->layers && image->layer_count <= SOURCE_MOST_OPEN_LAYERS))
		return error;
	return pool_run(pool, image->layer_count, check_layer, image, problem);
}

static void release(struct oci_image *image)
{
	tdestroy(image->known, keep);
	for (uint32_t i = 0; i < image->layer_count; i++)
		free(image->layers[i].path);
	free(image->layers);
	json_object_put(image->manifest);
	json_object_put(image->configuration);
	free(image->manifest_path);
	free(image->directory);
}

static errcode_t list_layers(const struct source *source, const struct scan_options *options, struct pool *pool,
                             source_layer_taker take, void *context, struct problem *problem)
{
	struct oci_image image = { 0 };
	errcode_t error = read_image(&image, source->path, options, pool, problem);

	for (uint32_t i = 0; !error && i < image.layer_count; i++) {
		const struct source layer = layer_source(&image.layers[i]);

		error = take(context, &layer);
	}
	release(&image);
	return error ? problem_set(problem, error, source->path, "cannot use") : 0;
}

static bool has_prefix(struct source *source)
{
	return source_cut_prefix(source, "oci");
}

const struct source_kind oci_image_source = {
	.takes_prefix = has_prefix,
	.list_layers = list_layers,
};
