/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/tar_packer.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Headers and short files are gathered in a buffer; longer bytes are passed on without a copy. */
#define GATHERED_BYTES ((size_t)256 << 10)
#define COPIED_BYTES ((size_t)64 << 10)

struct tar_packer {
	struct output_sink *sink;
	struct archive *archive; /* NULL: nothing is packed */
	struct archive_entry *entry;
	errcode_t sink_error;
	uint64_t bytes;
	size_t gathered;
	char gather[GATHERED_BYTES];
};

static la_ssize_t write_to_sink(struct archive *archive, void *context, const void *bytes, size_t count)
{
	struct tar_packer *packer = context;

	packer->sink_error = output_sink_write(packer->sink, bytes, count);
	if (!packer->sink_error)
		return (la_ssize_t)count;
	archive_set_error(archive, (int)packer->sink_error, "cannot write");
	return -1;
}

static errcode_t result_of(const struct tar_packer *packer, int result)
{
	if (result >= ARCHIVE_WARN)
		return 0;
	int error = archive_errno(packer->archive);

	return packer->sink_error ? packer->sink_error : error > 0 ? error : EIO;
}

static int add_filter(struct archive *archive, enum extract_packing packing, unsigned int threads)
{
	char text[16];
	int result;

	if (packing == EXTRACT_GZIP) {
		result = archive_write_add_filter_gzip(archive);
		/* The time of packing is left out, so that equal trees give equal bytes. */
		return result < ARCHIVE_WARN ? result :
		                               archive_write_set_filter_option(archive, "gzip", "timestamp", NULL);
	}
	result = archive_write_add_filter_zstd(archive);
	/* A libzstd without threads reports that; it is ignored. */
	snprintf(text, sizeof(text), "%u", threads);
	if (result >= ARCHIVE_WARN && threads)
		archive_write_set_filter_option(archive, "zstd", "threads", text);
	return result;
}

/* libarchive packs a single file in its raw format. */
static int open_archive(struct tar_packer *packer, enum extract_packing packing, unsigned int threads)
{
	int result = archive_write_set_format_raw(packer->archive);

	archive_entry_set_filetype(packer->entry, S_IFREG);
	archive_entry_set_pathname(packer->entry, "tar");
	if (result >= ARCHIVE_WARN)
		result = add_filter(packer->archive, packing, threads);
	archive_write_set_bytes_per_block(packer->archive, (int)GATHERED_BYTES);
	archive_write_set_bytes_in_last_block(packer->archive, 1);
	if (result >= ARCHIVE_WARN)
		result = archive_write_open(packer->archive, packer, NULL, write_to_sink, NULL);
	return result < ARCHIVE_WARN ? result : archive_write_header(packer->archive, packer->entry);
}

errcode_t tar_packer_create(enum extract_packing packing, unsigned int threads, struct output_sink *sink,
                            struct tar_packer **ret)
{
	struct tar_packer *packer = malloc(sizeof(*packer));

	*ret = packer;
	if (!packer)
		return ENOMEM;
	memset(packer, 0, offsetof(struct tar_packer, gather));
	packer->sink = sink;
	if (packing == EXTRACT_PLAIN)
		return 0;
	packer->archive = archive_write_new();
	packer->entry = archive_entry_new();
	if (!packer->archive || !packer->entry)
		return ENOMEM;
	return result_of(packer, open_archive(packer, packing, threads));
}

static errcode_t write_on(struct tar_packer *packer, const void *bytes, size_t count)
{
	if (!packer->archive)
		return output_sink_write(packer->sink, bytes, count);
	for (const char *at = bytes; count;) {
		la_ssize_t written = archive_write_data(packer->archive, at, count);

		if (written <= 0)
			return written ? result_of(packer, (int)written) : EIO;
		at += written;
		count -= (size_t)written;
	}
	return 0;
}

static errcode_t write_gathered(struct tar_packer *packer)
{
	errcode_t error = packer->gathered ? write_on(packer, packer->gather, packer->gathered) : 0;

	packer->gathered = 0;
	return error;
}

errcode_t tar_packer_write(struct tar_packer *packer, const void *bytes, size_t count)
{
	bool is_long = count >= COPIED_BYTES;
	errcode_t error = is_long || packer->gathered + count > GATHERED_BYTES ? write_gathered(packer) : 0;

	packer->bytes += count;
	if (error)
		return error;
	if (is_long)
		return write_on(packer, bytes, count);
	memcpy(packer->gather + packer->gathered, bytes, count);
	packer->gathered += count;
	return 0;
}

errcode_t tar_packer_end(struct tar_packer *packer)
{
	errcode_t error = write_gathered(packer);

	return error || !packer->archive ? error : result_of(packer, archive_write_close(packer->archive));
}

uint64_t tar_packer_bytes(const struct tar_packer *packer)
{
	return packer->bytes;
}

void tar_packer_destroy(struct tar_packer *packer)
{
	if (!packer)
		return;
	archive_entry_free(packer->entry);
	/* After a failure nothing more is written. */
	if (packer->archive) {
		archive_write_fail(packer->archive);
		archive_write_free(packer->archive);
	}
	free(packer);
}
