/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of an OCI image layout: JSON documents, and blobs named by their sha256. */
#pragma once

#include <json-c/json.h>
#include <stdint.h>

#include "support/problem.h"

/* A document that is larger is refused, as registries do: it is read into memory as a whole. */
#define OCI_DOCUMENT_BYTES (4u << 20)

static inline void oci_document_put(json_object **document)
{
	json_object_put(*document);
}

#define SCOPE_DOCUMENT __attribute__((cleanup(oci_document_put)))

/* What one document says of a blob. Borrowed from the document, but for path. */
struct oci_blob {
	const char *media_type;
	const char *digest; /* 64 digits */
	uint64_t size_bytes;
	char *path; /* owned */
};

/*
 * Reads a descriptor, which is checked: a blob's path leads nowhere else. EINVAL with a reason, naming document, the
 * path of the file that has it; ENOMEM. The caller frees blob->path.
 */
MUST_CHECK errcode_t oci_blob_describe(const char *directory, const char *document, const json_object *descriptor,
                                       struct oci_blob *blob, struct problem *problem);

/* A member's text, "" where it is missing or no text; its members, NULL where it is missing. */
const char *oci_text_at(const json_object *object, const char *key);
json_object *oci_member(const json_object *object, const char *key);

/* Reads a JSON object. EINVAL with a reason where it is not one, EFBIG, errors of open(2) and read(2). */
MUST_CHECK errcode_t oci_document_read(const char *path, json_object **ret, struct problem *problem);

/* The same of a blob, whose size and sha256 are checked; EINVAL with a reason for another one. */
MUST_CHECK errcode_t oci_blob_read(const struct oci_blob *blob, json_object **ret, struct problem *problem);

/*
 * Reads a blob of any size to check it. Any thread. EINTR. *descriptor is open at its beginning, and the caller closes
 * it: to open the path again could give another file, which has not been checked.
 */
MUST_CHECK errcode_t oci_blob_check(const struct oci_blob *blob, int *descriptor, struct problem *problem);
