/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images of a filesystem, as e2frag reads them: descriptors, bitmaps, inodes, maps, directories, and every form of the
 * report. An input is a list of pieces, so that it is not larger than what is in the image: the number of a block of
 * 1 KiB and how many bytes follow, of 16 bits each (little-endian), and these bytes. All else is zeros.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "analyze/forms/forms.h"
#include "analyze/read/paths.h"

#define PIECE_BYTES 1024
#define IMAGE_BYTES (UINT64_C(2) << 20)

static void unfold(const char *path, const uint8_t *bytes, size_t count)
{
	SCOPE_CLOSE int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	FUZZ_CHECK(descriptor >= 0 && ftruncate(descriptor, IMAGE_BYTES) == 0);
	while (count >= 4) {
		size_t block = bytes[0] | (size_t)bytes[1] << 8, length = bytes[2] | (size_t)bytes[3] << 8;

		bytes += 4;
		count -= 4;
		length = length < PIECE_BYTES ? length : PIECE_BYTES;
		length = length < count ? length : count;
		block %= IMAGE_BYTES / PIECE_BYTES;
		FUZZ_CHECK(pwrite(descriptor, bytes, length, (off_t)(block * PIECE_BYTES)) == (ssize_t)length);
		bytes += length;
		count -= length;
	}
}

static void check_report(const struct report *report)
{
	FUZZ_CHECK(report->free.sizes.sum <= report->filesystem.blocks);
	FUZZ_CHECK(report->files.regular.runs <= report->files.regular.records);
	FUZZ_CHECK(report->files.regular.records <= report->files.regular.blocks);
	FUZZ_CHECK(report->files.extent_blocks.count == report->files.regular.extents);
	FUZZ_CHECK(report->worst.count <= report->worst.limit);
}

static void print_all(const struct report *report)
{
	static const struct form_parts parts = { true, true, true, true, true };
	SCOPE_FREE char *text = NULL;
	size_t text_bytes;
	FILE *stream = open_memstream(&text, &text_bytes);

	FUZZ_CHECK(stream);
	for (unsigned int form = 0; form_get(form); form++)
		FUZZ_CHECK(!form_get(form)->print || form_get(form)->print(report, &parts, stream) == 0);
	fclose(stream);
}

/* A file that a path leads to, as --path shows it. */
static void print_path(const struct volume *volume, const char *path, struct damage_list *damage)
{
	SCOPE_FREE char *text = NULL;
	size_t text_bytes;
	FILE *stream = open_memstream(&text, &text_bytes);
	uint32_t ino;

	FUZZ_CHECK(stream);
	if (!paths_lookup(volume, path, damage, &ino) && file_extents_print(volume, ino, path, true, damage, stream))
		fputs("refused", stream);
	fclose(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static const struct analyze_options options = {
		.with_groups = true,
		.by_directory = true,
		.directory_depth = 2,
		.unlink_batch_files = 10,
		.chunk_blocks = 16,
		.worst_limit = 5,
	};
	SCOPE_FREE struct report *report = calloc(1, sizeof(*report));
	struct fuzz_path path = fuzz_file("image", "", 0);
	struct problem problem = { 0 };
	struct volume volume;

	FUZZ_CHECK(report);
	unfold(path.text, bytes, count);
	if (volume_open(path.text, 0, &volume, &report->filesystem, &problem)) {
		FUZZ_CHECK(problem.error);
		problem_clear(&problem);
		return 0;
	}
	report->filesystem.target = path.text;
	errcode_t error = analyze(&volume, &options, report, &problem);

	fuzz_check_problem(error, &problem);
	if (!error) {
		check_report(report);
		print_all(report);
		print_path(&volume, "/directory/file", &report->damage);
		print_path(&volume, "<13>", &report->damage);
	}
	report_destroy(report);
	volume_close(&volume);
	return 0;
}
