/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a container image: in a directory, or in a tar archive, where they are read in place. */
#pragma once

#include <json-c/json.h>

#include "source/kind/source_kind.h"
#include "source/layers/tar_members.h"

/* A larger document is refused, since it is read into memory as a whole; registries refuse it, too. */
#define IMAGE_DOCUMENT_BYTES (4u << 20)

struct image_files {
	char *path;                  /* owned; of the directory or the archive, unpacked if need be */
	char *name;                  /* owned; as messages call an archive */
	int descriptor;              /* owned; of the archive; -1: it is a directory */
	struct tar_members *members; /* owned; of the archive; NULL: it is a directory */
	struct file_version version; /* of the archive, when its members were listed */
	struct run_files *noted;     /* gets the files of a directory that are found; NULL: nobody asks */
};

#define IMAGE_FILES_INITIALIZER                                                                                        \
	{                                                                                                              \
		.descriptor = -1                                                                                       \
	}

/*
 * Opens an archive, packed perhaps; "-" is standard input. The name becomes the files', also after a failure. Errors of
 * raw_image_open(), open(2) and tar_members_read().
 */
MUST_CHECK errcode_t image_files_open_archive(struct image_files *files, char *name, const struct scan_options *options,
                                              struct problem *problem);

/* Also after a failure. */
void image_files_close(struct image_files *files);

/* Is there a file of this name? */
bool image_files_have(const struct image_files *files, const char *name);

/* One of the files. It lasts as long as they. */
struct image_file {
	char *path; /* owned; what is opened */
	char *name; /* owned; as messages call it */
	bool is_part;
	uint64_t start_bytes, bytes; /* of a part of the archive; of a file in a directory nothing is known yet */
	struct file_version version; /* likewise */
};

/* Finds one by its path within the directory or archive. ENOMEM; those of tar_members_find(). */
MUST_CHECK errcode_t image_files_find(const struct image_files *files, const char *name, struct image_file *file,
                                      struct problem *problem);
void image_file_release(struct image_file *file);

/*
 * Reads the file as a JSON object, which the caller releases with json_object_put(). If digest is not NULL, its size
 * and its sha256 or sha512 (64 or 128 digits) are checked. EINVAL with a reason, EFBIG, errors of reading.
 */
MUST_CHECK errcode_t image_file_document(const struct image_file *file, const char *digest, uint64_t size_bytes,
                                         json_object **document, struct problem *problem);

/* The file as a source, whose texts are borrowed from it: a layer. */
struct source image_file_layer(const struct image_file *file);

/* Returns a member's text; "" if it is missing or not a text. */
const char *image_text(const json_object *object, const char *key);

/* Returns the 64 hexadecimal digits that follow "sha256:", or 128 after "sha512:"; NULL: the text is no such digest. */
const char *image_digest(const char *text);

/* Are these the digits of a sha512? */
bool image_digest_is_sha512(const char *digits);

static inline void image_document_put(json_object **document)
{
	json_object_put(*document);
}

#define SCOPE_DOCUMENT __attribute__((cleanup(image_document_put)))
