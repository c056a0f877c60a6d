/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images of a filesystem, as e2frag reads them: descriptors, bitmaps, inodes, maps, directories, and every form of the
 * report; and as a source, with xattrs and contents. An input is a list of pieces, so that it is not larger than what
 * is in the image: the number of a block of 1 KiB and how many bytes follow, of 16 bits each (little-endian), and these
 * bytes. All else is zeros.
 */
#include "fuzz.h"
#include "text_mutator.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "analyze/forms/forms.h"
#include "analyze/read/filesystem.h"
#include "image/lookup.h"
#include "image/replayed.h"
#include "support/crc32c.h"

#define PIECE_HEAD_BYTES 4
#define PIECE_BYTES 1024
#define IMAGE_BYTES (UINT64_C(2) << 20)
#define MOST_PIECES 256

/* A piece of the input. */
struct piece {
	size_t at; /* of its bytes */
	size_t block, count;
};

static uint16_t little_endian(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

/* The piece whose head is at a place; false: nothing is left. */
static bool piece_at(const uint8_t *bytes, size_t count, size_t at, struct piece *piece)
{
	if (count < PIECE_HEAD_BYTES || at > count - PIECE_HEAD_BYTES)
		return false;
	size_t most = little_endian(bytes + at + 2), left = count - at - PIECE_HEAD_BYTES;

	most = most < PIECE_BYTES ? most : PIECE_BYTES;
	*piece = (struct piece){
		.at = at + PIECE_HEAD_BYTES,
		.block = little_endian(bytes + at) % (IMAGE_BYTES / PIECE_BYTES),
		.count = most < left ? most : left,
	};
	return true;
}

static void unfold(const char *path, const uint8_t *bytes, size_t count)
{
	SCOPE_CLOSE int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct piece piece;

	FUZZ_CHECK(descriptor >= 0 && ftruncate(descriptor, IMAGE_BYTES) == 0);
	for (size_t at = 0; piece_at(bytes, count, at, &piece); at = piece.at + piece.count)
		FUZZ_CHECK(pwrite(descriptor, bytes + piece.at, piece.count, (off_t)(piece.block * PIECE_BYTES)) ==
		           (ssize_t)piece.count);
}

/* A number of the image, one near it, or one at which something ends. */
static uint32_t choose_value(const uint8_t *bytes, const struct piece *piece, uint32_t old, uint32_t *state)
{
	static const uint32_t ends[] = { 0,      1,      2,       3,          4,          7,         8,
		                         0x7f,   0xff,   0x100,   0x400,      0x3fff,     0x7fff,    0x8000,
		                         0x8001, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff };

	switch (next_number(state, 6)) {
	case 0:
		return old + 1 + next_number(state, 8);
	case 1:
		return old - 1 - next_number(state, 8);
	case 2:
		return old ^ UINT32_C(1) << next_number(state, 32);
	case 3:
		return little_endian(bytes + piece->at + next_number(state, (uint32_t)piece->count - 1));
	case 4:
		return next_number(state, IMAGE_BYTES / PIECE_BYTES + 2);
	default:
		return ends[next_number(state, sizeof(ends) / sizeof(*ends))];
	}
}

static void change(uint8_t *bytes, const struct piece *piece, size_t at, unsigned int width, uint32_t *state)
{
	uint8_t *number = bytes + piece->at + at;
	uint32_t old = 0;

	if (at + width > piece->count)
		return;
	for (unsigned int n = width; n--;)
		old = old << 8 | number[n];
	uint32_t value = choose_value(bytes, piece, old, state);

	for (unsigned int n = 0; n < width; n++, value >>= 8)
		number[n] = (uint8_t)value;
}

/* Numbers of a node of an extent tree, of its header above all; some make sense only together. False: there is none
 * here. */
static bool change_node(uint8_t *bytes, const struct piece *piece, uint32_t *state)
{
	size_t nodes[PIECE_BYTES / 4], count = 0;

	for (size_t n = 0; n + 12 <= piece->count; n += 4)
		if (little_endian(bytes + piece->at + n) == 0xf30a)
			nodes[count++] = n;
	if (!count)
		return false;
	size_t node = nodes[next_number(state, (uint32_t)count)];

	for (uint32_t changes = 1 + next_number(state, 3); changes--;)
		change(bytes, piece, node + 2 * (1 + next_number(state, next_number(state, 2) ? 3 : 23)), 2, state);
	return true;
}

/* A number where something stands, or beside it, mostly: that says that it means something. */
static void change_number(uint8_t *bytes, const struct piece *piece, uint32_t *state)
{
	static const unsigned int widths[] = { 1, 2, 4, 2 };
	unsigned int width = widths[next_number(state, 4)];
	size_t at = 0;

	for (unsigned int tries = 0; tries < 8 && (!tries || !bytes[piece->at + at]); tries++)
		at = next_number(state, (uint32_t)piece->count);
	at = (at + next_number(state, 2) * next_number(state, 8)) / width * width;
	for (uint32_t changes = next_number(state, 3); changes--;)
		change(bytes, piece, at / 2 * 2 + 2 * next_number(state, 4), 2, state);
	change(bytes, piece, at, width, state);
}

/* Most of an image is bitmaps and names, so of the structures one number after another is changed where it is. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t most, unsigned int seed)
{
	uint32_t state = seed | 1; /* never 0, where it would stay */
	struct piece pieces[MOST_PIECES];
	uint32_t piece_count = 0;

	for (size_t at = 0; piece_count < MOST_PIECES && piece_at(bytes, count, at, &pieces[piece_count]);
	     at = pieces[piece_count - 1].at + pieces[piece_count - 1].count)
		piece_count++;
	if (!piece_count || !next_number(&state, 8))
		return LLVMFuzzerMutate(bytes, count, most);
	for (uint32_t changes = 1 + next_number(&state, 3); changes--;) {
		const struct piece *piece = &pieces[next_number(&state, piece_count)];

		if (piece->count >= 4 && (next_number(&state, 2) || !change_node(bytes, piece, &state)))
			change_number(bytes, piece, &state);
	}
	return count;
}

static void check_report(const struct report *report)
{
	FUZZ_CHECK(report->free.sizes.sum <= report->filesystem.blocks);
	FUZZ_CHECK(report->files.regular.counts.runs <= report->files.regular.counts.records);
	FUZZ_CHECK(report->files.regular.counts.records <= report->files.regular.counts.blocks);
	FUZZ_CHECK(report->files.extent_blocks.count == report->files.regular.counts.extents);
	FUZZ_CHECK(report->worst.count <= report->worst.limit);
}

/* All forms say the same, so one of them is enough. */
static void print_one(const struct report *report, unsigned int number)
{
	static const struct form_parts parts = { true, true, true, true, true };
	SCOPE_FREE char *text = NULL;
	size_t text_bytes;
	FILE *stream = open_memstream(&text, &text_bytes);

	unsigned int forms = 0;

	while (report_forms[forms].name)
		forms++;
	const struct report_form *form = &report_forms[number % forms];

	FUZZ_CHECK(stream);
	FUZZ_CHECK(!form->print || form->print(report, &parts, stream) == 0);
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
	if (!paths_lookup(volume, path, damage_list_listener(damage), &ino) &&
	    file_extents_print(volume, ino, path, true, damage, stream))
		fputs("refused", stream);
	fclose(stream);
}

static void read_source(const char *path)
{
	char name[PATH_MAX + 8];

	snprintf(name, sizeof(name), "image:%s", path);
	const char *names[] = { name };

	tree_destroy(fuzz_scan_layers(names, 1, WHITEOUTS_NONE));
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
	read_source(path.text);
	bool is_refused = volume_open_as_replayed(path.text, 0, &volume, &problem);

	FUZZ_CHECK(!is_refused == !problem.error);
	problem_clear(&problem);
	if (is_refused && volume_open(path.text, 0, &volume, &problem)) {
		FUZZ_CHECK(problem.error);
		problem_clear(&problem);
		return 0;
	}
	report_filesystem_describe(&volume, &report->filesystem);
	report->filesystem.target = path.text;
	errcode_t error = analyze(&volume, &options, report, &problem);

	fuzz_check_problem(error, &problem);
	if (!error) {
		check_report(report);
		print_one(report, crc32c(0, bytes, count));
		print_path(&volume, "/directory/file", &report->damage);
		print_path(&volume, "<13>", &report->damage);
	}
	report_destroy(report);
	volume_close(&volume);
	return 0;
}
