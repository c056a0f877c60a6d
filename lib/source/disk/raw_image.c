/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/disk/raw_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/archive/archive_packer.h"
#include "source/disk/qcow2.h"
#include "source/disk/sparse_file.h"
#include "support/run/interrupt.h"

#define ACTION "cannot unpack"
#define READ_BYTES ((size_t)64 << 10) /* of libarchive at a time */

/* The place of the magic number of ext4's superblock. */
#define SUPERBLOCK_MAGIC_AT 1080

enum raw_image_packing raw_image_packing_of(const char *path)
{
	static const struct {
		const char *magic;
		size_t bytes;
		enum raw_image_packing packing;
	} known[] = {
		{ "\x1f\x8b\x08", 3, RAW_IMAGE_GZIP },
		{ "\x28\xb5\x2f\xfd", 4, RAW_IMAGE_ZSTD },
		{ "\xfd\x37zXZ", 6, RAW_IMAGE_XZ },
		{ "QFI\xfb", 4, RAW_IMAGE_QCOW2 },
	};
	uint8_t bytes[SUPERBLOCK_MAGIC_AT + 2] = { 0 };
	struct stat status;

	/* Checked before open(2), which can have effects on devices. */
	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return RAW_IMAGE_NOT_PACKED;
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (descriptor < 0 || pread(descriptor, bytes, sizeof(bytes), 0) < 0)
		return RAW_IMAGE_NOT_PACKED;
	if (bytes[SUPERBLOCK_MAGIC_AT] == 0x53 && bytes[SUPERBLOCK_MAGIC_AT + 1] == 0xef)
		return RAW_IMAGE_NOT_PACKED;
	for (size_t n = 0; n < sizeof(known) / sizeof(*known); n++)
		if (!memcmp(bytes, known[n].magic, known[n].bytes))
			return known[n].packing;
	return RAW_IMAGE_NOT_PACKED;
}

/* --- What is compressed ------------------------------------------------------------------------------------------- */

static errcode_t copy_unpacked(struct decoder *decoder, int to, const char *path, struct problem *problem)
{
	SCOPE_FREE uint8_t *bytes = malloc(2 * DECODER_LEAST_ROOM);
	uint64_t at = 0;

	if (!bytes)
		return problem_set(problem, ENOMEM, path, ACTION);
	while (decoder->place != DECODER_AT_END) {
		size_t written;
		errcode_t error = decoder_run(decoder, bytes, 2 * DECODER_LEAST_ROOM, &written);

		if (!error && interrupt_pending())
			error = EINTR;
		if (error == EBADMSG)
			return problem_set_reason(problem, error, path, ACTION, "%s", decoder->reason);
		if (error)
			return problem_set(problem, error, path, ACTION);
		error = sparse_file_write(to, bytes, written, at, path, problem);
		if (error)
			return error;
		at += written;
	}
	return sparse_file_end(to, at, path, problem);
}

static errcode_t unpack_with(const struct decoder_format *format, void *context, const struct packed_file *file, int to,
                             const char *path, struct problem *problem)
{
	struct decoder decoder;
	errcode_t error = decoder_open(&decoder, format, context, file, 0, false);

	error = error ? problem_set(problem, error, path, ACTION) : copy_unpacked(&decoder, to, path, problem);
	decoder_close(&decoder);
	return error;
}

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

static void cleanup_archive(struct archive **archive)
{
	archive_read_free(*archive);
}

/* xz, and zstd where this program was built without its library: libarchive unpacks them. */
static errcode_t unpack_with_libarchive(enum raw_image_packing packing, const struct packed_file *file, int to,
                                        const char *path, struct problem *problem)
{
	__attribute__((cleanup(cleanup_archive))) struct archive *archive = archive_read_new();
	SCOPE_FREE struct archive_reader *reader = malloc(sizeof(*reader));
	struct archive_entry *entry;

	if (!archive || !reader || archive_read_support_format_raw(archive) < ARCHIVE_WARN)
		return problem_set(problem, ENOMEM, path, ACTION);
	reader->file = file;
	reader->at = 0;
	/* ARCHIVE_WARN: a program does it. */
	if ((packing == RAW_IMAGE_XZ ? archive_read_support_filter_xz : archive_read_support_filter_zstd)(archive) <
	            ARCHIVE_WARN ||
	    archive_read_open(archive, reader, NULL, read_packed, NULL) != ARCHIVE_OK ||
	    archive_read_next_header(archive, &entry) != ARCHIVE_OK) {
		const char *reason = archive_error_string(archive);

		return problem_set_reason(problem, EBADMSG, path, ACTION, "%s", reason ? reason : "it is damaged");
	}
	return unpack_with(&archive_packer_format, archive, file, to, path, problem);
}

static errcode_t unpack_compressed(int from, enum raw_image_packing packing, struct progress *progress, int to,
                                   const char *path, struct problem *problem)
{
	struct packed_position position = { .progress = progress };
	struct packed_file file = { .descriptor = from, .is_regular = true, .position = &position };
	struct stat status;

	if (fstat(from, &status))
		return problem_set(problem, errno, path, ACTION);
	file.size_bytes = (uint64_t)status.st_size;
	progress_stage(progress, "unpack", file.size_bytes, 0);
	if (packing == RAW_IMAGE_GZIP)
		return unpack_with(&gzip_format, NULL, &file, to, path, problem);
	if (packing == RAW_IMAGE_ZSTD && zstd_format)
		return unpack_with(zstd_format, NULL, &file, to, path, problem);
	return unpack_with_libarchive(packing, &file, to, path, problem);
}

errcode_t raw_image_unpack(const char *path, enum raw_image_packing packing, struct progress *progress, int *ret,
                           struct problem *problem)
{
	SCOPE_CLOSE int from = open(path, O_RDONLY | O_CLOEXEC);
	SCOPE_CLOSE int to = -1;

	*ret = -1;
	if (from < 0)
		return problem_set(problem, errno, path, "cannot open");
	errcode_t error = sparse_file_create(&to, problem);

	if (error)
		return error;
	error = packing == RAW_IMAGE_QCOW2 ? qcow2_unpack(from, progress, to, path, problem) :
	                                     unpack_compressed(from, packing, progress, to, path, problem);
	if (error)
		return error;
	*ret = to;
	to = -1;
	return 0;
}
