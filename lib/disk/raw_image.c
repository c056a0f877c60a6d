/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "disk/raw_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk/android_sparse.h"
#include "disk/qcow2.h"
#include "support/run/interrupt.h"
#include "unpack/archive_packer.h"
#include "unpack/sparse_file.h"

#define ACTION "cannot unpack"
#define READ_BYTES ((size_t)64 << 10) /* of libarchive at a time */
#define MOST_FORMS 4                  /* within each other: a file can unpack to itself */

/* One step from a file to the raw image. */
struct raw_step {
	int from, to;
	const char *name; /* for problems */
	struct source_counts *counts;
	struct progress *progress;
	struct problem *problem;
	uint8_t first; /* of a pipe, if it has been read: */
	size_t first_bytes;
};

static errcode_t failed(const struct raw_step *unpacking, errcode_t error)
{
	return problem_set(unpacking->problem, error, unpacking->name, ACTION);
}

/* --- Forms -------------------------------------------------------------------------------------------------------- */

static errcode_t copy_qcow2(const struct raw_step *unpacking)
{
	return qcow2_unpack(unpacking->from, unpacking->progress, unpacking->to, unpacking->name, unpacking->problem);
}

static errcode_t copy_android(const struct raw_step *unpacking)
{
	return android_sparse_unpack(unpacking->from, unpacking->counts, unpacking->progress, unpacking->to,
	                             unpacking->name, unpacking->problem);
}

/* Neither: it is raw. */
struct form {
	enum disk_form disk;           /* a form of its own */
	const struct packing *packing; /* NULL: it is not packed, or with what is not unpacked here: */
	const char *packer;
};

static struct form form_of(const uint8_t *bytes, size_t count)
{
	enum disk_form disk = disk_form_of(bytes, count);

	if (disk == DISK_FILESYSTEM || !count)
		return (struct form){ 0 };
	if (disk)
		return (struct form){ .disk = disk };
	return (struct form){ .packing = packing_find(bytes, count, true), .packer = packing_name(bytes, count) };
}

static bool is_raw(const struct form *form)
{
	return !form->disk && !form->packer;
}

static struct form form_of_file(int descriptor)
{
	uint8_t bytes[DISK_FORM_BYTES];
	ssize_t count = pread(descriptor, bytes, sizeof(bytes), 0);

	return form_of(bytes, count > 0 ? (size_t)count : 0);
}

/* Opens a regular file; -1: it is none. Checked before open(2), which can have effects on devices. */
static int open_regular(const char *path)
{
	struct stat status;

	return stat(path, &status) || !S_ISREG(status.st_mode) ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

bool raw_image_form(const char *path, char what[RAW_IMAGE_FORM_BYTES])
{
	SCOPE_CLOSE int descriptor = open_regular(path);
	const struct form form = descriptor < 0 ? (struct form){ 0 } : form_of_file(descriptor);

	snprintf(what, RAW_IMAGE_FORM_BYTES, "%s%s", form.packer ? "packed with " : "",
	         form.disk   ? disk_form_name(form.disk) :
	         form.packer ? form.packer :
	                       "");
	return !is_raw(&form);
}

/* --- What is compressed, or comes through a pipe ------------------------------------------------------------------ */

struct archive_reader {
	const struct packed_file *file;
	uint64_t at;
	uint8_t bytes[READ_BYTES];
};

static la_ssize_t read_packed(struct archive *archive, void *context, const void **bytes)
{
	struct archive_reader *reader = context;
	size_t got;
	errcode_t error = packed_file_read(reader->file, reader->bytes, READ_BYTES, reader->at, &got);

	if (error) {
		archive_set_error(archive, (int)error, "%s", strerror((int)error));
		return ARCHIVE_FATAL;
	}
	reader->at += got;
	*bytes = reader->bytes;
	return (la_ssize_t)got;
}

/* A file that is being unpacked. */
struct stream {
	struct packed_position position;
	struct packed_file file;
	struct archive *archive; /* of what libarchive unpacks */
	struct archive_reader reader;
	struct decoder decoder;
};

static void stream_close(struct stream **stream)
{
	if (!*stream)
		return;
	decoder_close(&(*stream)->decoder);
	archive_read_free((*stream)->archive);
	free(*stream);
}

#define SCOPE_STREAM __attribute__((cleanup(stream_close)))

static errcode_t refuse_packer(const struct raw_step *unpacking, const char *packer)
{
	return problem_set_reason(unpacking->problem, EINVAL, unpacking->name, ACTION,
	                          "it is packed with %s, which is not unpacked here", packer);
}

static errcode_t open_libarchive(struct stream *stream, const struct raw_step *unpacking, const struct packing *packing)
{
	struct archive_entry *entry;

	stream->archive = archive_read_new();
	stream->reader.file = &stream->file;
	if (!stream->archive || archive_read_support_format_raw(stream->archive) < ARCHIVE_WARN)
		return failed(unpacking, ENOMEM);
	/* ARCHIVE_WARN: a program would have to do it. */
	if (packing->support(stream->archive) != ARCHIVE_OK)
		return refuse_packer(unpacking, packing->name);
	if (archive_read_open(stream->archive, &stream->reader, NULL, read_packed, NULL) == ARCHIVE_OK &&
	    archive_read_next_header(stream->archive, &entry) == ARCHIVE_OK &&
	    archive_filter_count(stream->archive) > 1)
		return 0;
	const char *reason = archive_error_string(stream->archive);

	return problem_set_reason(unpacking->problem, EBADMSG, unpacking->name, ACTION, "%s",
	                          reason ? reason : "it is damaged");
}

/* Neither a packing nor a packer: bytes of a pipe as they are. */
static errcode_t stream_open(const struct raw_step *unpacking, const struct form *form, struct stream **ret)
{
	struct stream *stream = *ret = calloc(1, sizeof(*stream));
	const struct decoder_format *format = archive_packer_format_of(form->packing);
	struct stat status;
	errcode_t error = 0;

	if (!stream || fstat(unpacking->from, &status))
		return failed(unpacking, stream ? errno : ENOMEM);
	if (form->packer && !form->packing)
		return refuse_packer(unpacking, form->packer);
	stream->position.progress = unpacking->progress;
	stream->file.descriptor = unpacking->from;
	stream->file.position = &stream->position;
	stream->file.is_regular = form->packing;
	stream->file.beginning = &unpacking->first;
	stream->file.beginning_bytes = unpacking->first_bytes;
	stream->file.size_bytes = form->packing ? (uint64_t)status.st_size : 0;
	if (format == &archive_packer_format)
		error = open_libarchive(stream, unpacking, form->packing);
	if (error)
		return error;
	error = decoder_open(&stream->decoder, format, stream->archive, &stream->file, 0, false);
	return error ? failed(unpacking, error) : 0;
}

/* The next bytes; none: the end. */
static errcode_t stream_next(struct stream *stream, const struct raw_step *unpacking, uint8_t *bytes, size_t *count)
{
	errcode_t error = 0;

	*count = 0;
	while (!error && !*count && stream->decoder.place != DECODER_AT_END) {
		error = decoder_run(&stream->decoder, bytes, 2 * DECODER_LEAST_ROOM, count);
		if (!error && interrupt_pending())
			error = EINTR;
	}
	return error == EBADMSG ? problem_set_reason(unpacking->problem, error, unpacking->name, ACTION, "%s",
	                                             stream->decoder.reason) :
	       error            ? failed(unpacking, error) :
	                          0;
}

static errcode_t copy_stream(const struct raw_step *unpacking, const struct form *form)
{
	SCOPE_FREE uint8_t *bytes = malloc(2 * DECODER_LEAST_ROOM);
	SCOPE_STREAM struct stream *stream = NULL;
	errcode_t error = stream_open(unpacking, form, &stream);
	uint64_t at = 0;
	size_t count = 1;

	if (!error && !bytes)
		error = failed(unpacking, ENOMEM);
	if (!error)
		progress_stage(unpacking->progress, "unpack", stream->file.size_bytes, 0);
	for (; !error && count; at += count) {
		error = stream_next(stream, unpacking, bytes, &count);
		if (!error && source_counts_unpacked(unpacking->counts, count))
			error = source_counts_problem(unpacking->counts, unpacking->problem);
		if (!error)
			error = sparse_file_write(unpacking->to, bytes, count, at, unpacking->name, unpacking->problem);
	}
	return error ? error : sparse_file_end(unpacking->to, at, unpacking->name, unpacking->problem);
}

/* --- All of it ---------------------------------------------------------------------------------------------------- */

/* Takes one form off: image->descriptor is what is left, or a part of it after an error. */
static errcode_t unpack(struct raw_step *unpacking, const struct form *form, struct raw_image *image)
{
	errcode_t error = sparse_file_create(&unpacking->to, unpacking->problem);

	if (!error)
		error = form->disk == DISK_QCOW2 ? copy_qcow2(unpacking) :
		        form->disk               ? copy_android(unpacking) :
		                                   copy_stream(unpacking, form);
	if (image->descriptor >= 0)
		close(image->descriptor);
	unpacking->from = image->descriptor = unpacking->to;
	return error;
}

static errcode_t unpack_all(struct raw_step *unpacking, bool is_pipe, struct raw_image *image)
{
	errcode_t error = is_pipe ? unpack(unpacking, &(struct form){ 0 }, image) : 0;
	struct form form;

	for (int n = 0; !error && (form = form_of_file(unpacking->from), !is_raw(&form)); n++)
		error = n < MOST_FORMS ? unpack(unpacking, &form, image) :
		                         problem_set_reason(unpacking->problem, EINVAL, unpacking->name, ACTION,
		                                            "it is packed more than %d times", MOST_FORMS);
	return error;
}

static errcode_t set_path(const struct raw_step *unpacking, const char *path, struct raw_image *image)
{
	char own[32];

	snprintf(own, sizeof(own), "/proc/self/fd/%d", image->descriptor);
	image->path = strdup(image->descriptor >= 0 ? own : path);
	return image->path ? 0 : failed(unpacking, ENOMEM);
}

/* A pipe by its name, in which nobody writes, is not waited for. */
static errcode_t begin_pipe(struct raw_step *unpacking)
{
	const ssize_t count = read(unpacking->from, &unpacking->first, 1);

	if (!count)
		return problem_set_reason(unpacking->problem, EINVAL, unpacking->name, "cannot read",
		                          "it is a pipe, and nothing writes into it");
	if ((count < 0 && errno != EAGAIN) || fcntl(unpacking->from, F_SETFL, 0))
		return failed(unpacking, errno);
	unpacking->first_bytes = count > 0;
	return 0;
}

errcode_t raw_image_open(const char *name, struct source_counts *counts, struct progress *progress,
                         struct raw_image *image, struct problem *problem)
{
	const bool is_input = !strcmp(name, "-");
	const char *path = is_input ? "/proc/self/fd/0" : name;
	struct raw_step unpacking = {
		.name = is_input ? "standard input" : name, .counts = counts, .progress = progress, .problem = problem
	};
	SCOPE_CLOSE int from = -1;
	struct stat status;

	*image = (struct raw_image){ .descriptor = -1 };
	if (is_input ? fstat(STDIN_FILENO, &status) : stat(path, &status))
		return set_path(&unpacking, path, image);
	if (is_input && isatty(STDIN_FILENO))
		return problem_set_reason(problem, EINVAL, unpacking.name, "cannot read", "it is a terminal");
	const bool is_pipe = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);

	if (!is_pipe && !S_ISREG(status.st_mode))
		return set_path(&unpacking, path, image);
	from = is_input && is_pipe ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) :
	                             open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (from < 0)
		return problem_set(problem, errno, unpacking.name, "cannot open");
	unpacking.from = from;
	errcode_t error = is_pipe && !is_input ? begin_pipe(&unpacking) : 0;

	if (!error)
		error = unpack_all(&unpacking, is_pipe, image);
	if (!error)
		error = set_path(&unpacking, path, image);
	if (error)
		cleanup_close_descriptor(&image->descriptor);
	return error;
}

void raw_image_close(struct raw_image *image)
{
	if (image->path && image->descriptor >= 0)
		close(image->descriptor);
	free(TAKE(image->path));
}

errcode_t raw_image_rename(const struct raw_image *image, errcode_t error, const char *name, struct problem *problem)
{
	if (problem->path && image->path && strcmp(image->path, name) != 0 && !strcmp(problem->path, image->path)) {
		free(problem->path);
		problem->path = strdup(strcmp(name, "-") != 0 ? name : "standard input");
	}
	return error;
}

static bool read_head(const struct raw_step *unpacking, const struct form *form, uint8_t *bytes)
{
	SCOPE_FREE uint8_t *piece = malloc(2 * DECODER_LEAST_ROOM);
	SCOPE_STREAM struct stream *stream = NULL;
	size_t done = 0, count = 1;

	if (!piece || stream_open(unpacking, form, &stream))
		return false;
	while (count && done < DISK_FORM_BYTES) {
		if (stream_next(stream, unpacking, piece, &count))
			return false;
		size_t part = count < DISK_FORM_BYTES - done ? count : DISK_FORM_BYTES - done;

		memcpy(bytes + done, piece, part);
		done += part;
	}
	return done == DISK_FORM_BYTES;
}

bool raw_image_head(const char *path, uint8_t bytes[DISK_FORM_BYTES])
{
	struct problem problem = { 0 };
	struct stat status;

	if (stat(path, &status) || (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode)))
		return false;
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const struct raw_step unpacking = { .from = descriptor, .name = path, .problem = &problem };
	const ssize_t count = descriptor < 0 ? -1 : pread(descriptor, bytes, DISK_FORM_BYTES, 0);
	const struct form form = form_of(bytes, count > 0 ? (size_t)count : 0);
	bool is_read =
		form.packer && S_ISREG(status.st_mode) ? read_head(&unpacking, &form, bytes) : count == DISK_FORM_BYTES;

	problem_clear(&problem);
	return is_read;
}
