/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/layers/image_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "disk/raw_image.h"
#include "source/archive/archive_kind.h"
#include "source/kind/run_files.h"
#include "source/kind/source_digest.h"
#include "support/io/whole_io.h"
#include "support/text/json_document.h"
#include "support/vector.h"

/* Layers are opened anew by the path, so what was unpacked has to stay open. */
static errcode_t take_raw(struct image_files *files, struct raw_image *raw, const struct scan_options *options)
{
	struct held_descriptors *held = options->held;

	files->path = TAKE(raw->path);
	return raw->descriptor < 0 ? 0 :
	                             vector_add(&held->list, &held->count, &held->capacity, &raw->descriptor,
	                                        sizeof(raw->descriptor));
}

errcode_t image_files_open_archive(struct image_files *files, char *name, const struct scan_options *options,
                                   struct problem *problem)
{
	struct raw_image raw;
	struct stat status;

	files->name = name;
	if (!name)
		return ENOMEM;
	errcode_t error = raw_image_open(name, options->counts, options->progress, &raw, problem);

	if (!error)
		error = take_raw(files, &raw, options);
	if (!error && !strcmp(name, "-")) {
		free(files->name);
		files->name = name = strdup("standard input");
		error = name ? 0 : ENOMEM;
	}
	if (error)
		return error;
	files->descriptor = open(files->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (files->descriptor < 0 || fstat(files->descriptor, &status))
		return problem_set(problem, errno, name, "cannot open");
	files->version = file_version_of(&status);
	return tar_members_read(files->descriptor, name, &files->members, problem);
}

void image_files_close(struct image_files *files)
{
	tar_members_destroy(files->members);
	cleanup_close_descriptor(&files->descriptor);
	free(files->path);
	free(files->name);
}

bool image_files_have(const struct image_files *files, const char *name)
{
	if (files->members)
		return tar_members_have(files->members, name);
	SCOPE_FREE char *path = path_from(files->path, name);

	return !path || access(path, F_OK) == 0;
}

errcode_t image_files_find(const struct image_files *files, const char *name, struct image_file *file,
                           struct problem *problem)
{
	*file = (struct image_file){ .is_part = files->members, .version = files->version };
	if (files->members) {
		errcode_t error = tar_members_find(files->members, name, &file->start_bytes, &file->bytes, problem);

		if (error)
			return error;
		file->path = strdup(files->path);
		if (asprintf(&file->name, "%s: %s", files->name, name) < 0)
			file->name = NULL;
	} else {
		file->path = path_from(files->path, name);
		file->name = file->path ? strdup(file->path) : NULL;
	}
	if (file->path && file->name)
		return files->noted ? run_files_read(files->noted, "source", file->path, 0) : 0;
	image_file_release(file);
	return problem_set(problem, ENOMEM, files->path, "cannot use");
}

void image_file_release(struct image_file *file)
{
	free(TAKE(file->path));
	free(TAKE(file->name));
}

/* Opens the regular file that has it; *bytes: how many it has. */
static errcode_t open_file(const struct image_file *file, int *descriptor, uint64_t *bytes, struct problem *problem)
{
	struct stat status;

	*descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*descriptor < 0 || fstat(*descriptor, &status))
		return problem_set(problem, errno, file->name, "cannot open");
	if (!S_ISREG(status.st_mode))
		return problem_set_reason(problem, EINVAL, file->name, "cannot open", "it is not a regular file");
	if (file->is_part && !file_version_is(&file->version, &status))
		return problem_set_reason(problem, EBUSY, file->name, "cannot read", "it has been changed meanwhile");
	*bytes = file->is_part ? file->bytes : (uint64_t)status.st_size;
	return 0;
}

static errcode_t check_digest(const char *name, const char *digest, const char *text, size_t bytes,
                              struct problem *problem)
{
	char digits[SOURCE_SHA512_DIGITS + 1];
	struct sha256_ctx sha256;
	struct sha512_ctx sha512;

	if (image_digest_is_sha512(digest)) {
		sha512_init(&sha512);
		sha512_update(&sha512, bytes, (const uint8_t *)text);
		source_sha512_text(&sha512, digits);
	} else {
		sha256_init(&sha256);
		sha256_update(&sha256, bytes, (const uint8_t *)text);
		source_digest_text(&sha256, digits);
	}
	if (strcmp(digits, digest) == 0)
		return 0;
	return problem_set_reason(problem, EINVAL, name, "cannot use", "it is damaged: its sha%d is %s",
	                          image_digest_is_sha512(digest) ? 512 : 256, digits);
}

errcode_t image_file_document(const struct image_file *file, const char *digest, uint64_t size_bytes, json_object **ret,
                              struct problem *problem)
{
	SCOPE_DOCUMENT json_object *document = NULL;
	SCOPE_CLOSE int descriptor = -1;
	uint64_t bytes = 0;

	*ret = NULL;
	errcode_t error = open_file(file, &descriptor, &bytes, problem);

	if (error)
		return error;
	if (digest && bytes != size_bytes)
		return problem_set_reason(problem, EINVAL, file->name, "cannot use",
		                          "it is damaged: it has %" PRIu64 " bytes, not %" PRIu64, bytes, size_bytes);
	if (bytes > IMAGE_DOCUMENT_BYTES)
		return problem_set_reason(problem, EFBIG, file->name, "cannot use", "it has more than %u bytes",
		                          IMAGE_DOCUMENT_BYTES);
	SCOPE_FREE char *text = malloc(bytes + 1);

	error = text ? whole_read(descriptor, text, bytes, file->start_bytes) : ENOMEM;
	if (error)
		return problem_set(problem, error, file->name, "cannot read");
	error = digest ? check_digest(file->name, digest, text, bytes, problem) : 0;
	if (!error)
		error = json_document_parse(file->name, "cannot use", text, bytes, &document, problem);
	if (error)
		return error;
	*ret = TAKE(document);
	return 0;
}

struct source image_file_layer(const struct image_file *file)
{
	return (struct source){
		.kind = &archive_source,
		.path = file->path,
		.name = file->name,
		.archive = &archive_kind_layer,
		.is_part = file->is_part,
		.start_bytes = file->start_bytes,
		.bytes = file->bytes,
		.version = file->version,
	};
}

const char *image_text(const json_object *object, const char *key)
{
	json_object *text = json_object_object_get(object, key);

	return json_object_is_type(text, json_type_string) ? json_object_get_string(text) : "";
}

const char *image_digest(const char *text)
{
	const size_t prefix = strlen("sha256:");
	const char *digits = text && strlen(text) > prefix ? text + prefix : "";

	return (source_digest_is_valid(digits, SOURCE_DIGEST_DIGITS) && !strncmp(text, "sha256:", prefix)) ||
	                       (source_digest_is_valid(digits, SOURCE_SHA512_DIGITS) &&
	                        !strncmp(text, "sha512:", prefix)) ?
	               digits :
	               NULL;
}

bool image_digest_is_sha512(const char *digits)
{
	return strlen(digits) == SOURCE_SHA512_DIGITS;
}
