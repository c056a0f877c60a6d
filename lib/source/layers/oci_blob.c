// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/layers/oci_blob.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <string.h>
#include <sys/stat.h>

#include "support/io/whole_io.h"
#include "support/run/interrupt.h"
#include "support/text/json_document.h"

#define DIGEST_DIGITS BASE16_ENCODE_LENGTH(SHA256_DIGEST_SIZE)
#define BUFFER_BYTES ((size_t)256 << 10)

json_object *oci_member(const json_object *object, const char *key)
{
	json_object *member = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, key, &member);
	return member;
}

const char *oci_text_at(const json_object *object, const char *key)
{
	json_object *text = oci_member(object, key);

	return json_object_is_type(text, json_type_string) ? json_object_get_string(text) : "";
}

errcode_t oci_blob_describe(const char *directory, const char *document, const json_object *descriptor,
                            struct oci_blob *blob, struct problem *problem)
{
	static const char algorithm[] = "sha256:";
	const char *media_type = oci_text_at(descriptor, "mediaType");
	const char *digest = oci_text_at(descriptor, "digest");
	const json_object *size = oci_member(descriptor, "size");

	*blob = (struct oci_blob){ 0 };
	if (!*media_type || !*digest || !json_object_is_type(size, json_type_int) || json_object_get_int64(size) < 0)
		return problem_set_reason(problem, EINVAL, document, "cannot use",
		                          "a descriptor needs mediaType, digest and size");
	if (strncmp(digest, algorithm, strlen(algorithm)) ||
	    strspn(digest + strlen(algorithm), "0123456789abcdef") != DIGEST_DIGITS ||
	    digest[strlen(algorithm) + DIGEST_DIGITS])
		return problem_set_reason(problem, EINVAL, document, "cannot use",
		                          "the digest \"%.160s\" is not \"sha256:\" and 64 hexadecimal digits",
		                          digest);
	*blob = (struct oci_blob){ media_type, digest + strlen(algorithm), (uint64_t)json_object_get_int64(size),
		                   NULL };
	if (asprintf(&blob->path, "%s/blobs/sha256/%s", directory, blob->digest) < 0) {
		blob->path = NULL;
		return problem_set(problem, ENOMEM, document, "cannot use");
	}
	return 0;
}

static errcode_t check_digest(const struct oci_blob *blob, struct sha256_ctx *hash, struct problem *problem)
{
	uint8_t bytes[SHA256_DIGEST_SIZE];
	char digits[DIGEST_DIGITS + 1] = "";

	sha256_digest(hash, sizeof(bytes), bytes);
	base16_encode_update(digits, sizeof(bytes), bytes);
	if (strcmp(digits, blob->digest) == 0)
		return 0;
	return problem_set_reason(problem, EINVAL, blob->path, "cannot use", "it is damaged: its sha256 is %s", digits);
}

/* Opens a regular file; blob may be NULL, else the size is checked. */
static errcode_t open_file(const char *path, const struct oci_blob *blob, int *descriptor, uint64_t *size_bytes,
                           struct problem *problem)
{
	struct stat status;

	*descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*descriptor < 0 || fstat(*descriptor, &status))
		return problem_set(problem, errno, path, "cannot open");
	if (!S_ISREG(status.st_mode))
		return problem_set_reason(problem, EINVAL, path, "cannot open", "it is not a regular file");
	*size_bytes = (uint64_t)status.st_size;
	if (blob && blob->size_bytes != *size_bytes)
		return problem_set_reason(problem, EINVAL, path, "cannot use",
		                          "it is damaged: it has %" PRIu64 " bytes, not %" PRIu64, *size_bytes,
		                          blob->size_bytes);
	return 0;
}

static errcode_t parse(const char *path, const char *text, size_t bytes, json_object **ret, struct problem *problem)
{
	SCOPE_DOCUMENT json_object *document = NULL;
	size_t wrong_byte;
	errcode_t error = json_document_parse(text, bytes, &document, &wrong_byte);

	if (error == EBADMSG)
		return problem_set_reason(problem, EINVAL, path, "cannot use", "it is not JSON: see byte %zu",
		                          wrong_byte);
	if (error)
		return problem_set(problem, error, path, "cannot read");
	if (!json_object_is_type(document, json_type_object))
		return problem_set_reason(problem, EINVAL, path, "cannot use", "it is not a JSON object");
	*ret = TAKE(document);
	return 0;
}

static errcode_t read_document(const char *path, const struct oci_blob *blob, json_object **ret,
                               struct problem *problem)
{
	SCOPE_CLOSE int descriptor = -1;
	struct sha256_ctx hash;
	uint64_t size_bytes;

	*ret = NULL;
	errcode_t error = open_file(path, blob, &descriptor, &size_bytes, problem);

	if (error)
		return error;
	if (size_bytes > OCI_DOCUMENT_BYTES)
		return problem_set_reason(problem, EFBIG, path, "cannot use", "it has more than %u bytes",
		                          OCI_DOCUMENT_BYTES);
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

errcode_t oci_document_read(const char *path, json_object **ret, struct problem *problem)
{
	return read_document(path, NULL, ret, problem);
}

errcode_t oci_blob_read(const struct oci_blob *blob, json_object **ret, struct problem *problem)
{
	return read_document(blob->path, blob, ret, problem);
}

errcode_t oci_blob_check(const struct oci_blob *blob, int *ret, struct problem *problem)
{
	SCOPE_CLOSE int descriptor = -1;
	SCOPE_FREE uint8_t *buffer = malloc(BUFFER_BYTES);
	struct sha256_ctx hash;
	uint64_t size_bytes;

	*ret = -1;
	if (!buffer)
		return problem_set(problem, ENOMEM, blob->path, "cannot read");
	errcode_t error = open_file(blob->path, blob, &descriptor, &size_bytes, problem);

	sha256_init(&hash);
	for (uint64_t at = 0; !error && at < size_bytes; at += BUFFER_BYTES) {
		size_t count = size_bytes - at < BUFFER_BYTES ? size_bytes - at : BUFFER_BYTES;

		error = interrupt_pending() ? EINTR : whole_read(descriptor, buffer, count, at);
		if (!error)
			sha256_update(&hash, count, buffer);
	}
	if (error)
		return problem_set(problem, error, blob->path, "cannot read");
	error = check_digest(blob, &hash, problem);
	if (error)
		return error;
	*ret = descriptor;
	descriptor = -1;
	return 0;
}
