/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An image in an archive: where its members lie, to which links lead, and the images that manifest.json or index.json
 * tell of. The first part of the input is the archive's text (tar_text.h), with digests and sizes put in; each other
 * one is a blob (blobs.h), a member before those of the text.
 */
#include "blobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tar_text.h"
#include "text_mutator.h"

#define BLOCK_BYTES 512

/* As a member: its header is the first block of an archive that has nothing else. */
static void write_blob(FILE *stream, const struct blob *blob)
{
	static const uint8_t zeros[BLOCK_BYTES];
	char text[200];
	size_t bytes;
	int length = snprintf(text, sizeof(text), "tar\n0blobs/sha256/%s\n=124 %011zo\n", blob->digest, blob->count);
	SCOPE_FREE uint8_t *header = tar_of_text((const uint8_t *)text, (size_t)length, &bytes);

	FUZZ_CHECK(bytes >= BLOCK_BYTES);
	fwrite(header, 1, BLOCK_BYTES, stream);
	fwrite(blob->bytes, 1, blob->count, stream);
	fwrite(zeros, 1, (BLOCK_BYTES - blob->count % BLOCK_BYTES) % BLOCK_BYTES, stream);
}

static void scan_as(const char *kind, const char *path)
{
	char name[PATH_MAX + 32];

	snprintf(name, sizeof(name), "%s:%s", kind, path);
	struct tree *tree = fuzz_scan(name);

	if (tree)
		blobs_check_markers(tree);
	tree_destroy(tree);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t most, unsigned int seed)
{
	return mutate_text(bytes, count, most, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct fuzz_part rest = { bytes, count };
	struct fuzz_part listing = fuzz_next_part(&rest);
	struct blobs blobs;
	char *archive = NULL;
	size_t archive_bytes = 0, text_bytes = 0, members_bytes = 0;
	FILE *stream = open_memstream(&archive, &archive_bytes);

	FUZZ_CHECK(stream);
	blobs_take(&blobs, rest);
	for (size_t n = 0; n < blobs.count; n++)
		write_blob(stream, &blobs.list[n]);
	SCOPE_FREE char *text = blobs_fill_in(&blobs, &listing, &text_bytes);
	SCOPE_FREE uint8_t *members = tar_of_text((const uint8_t *)text, text_bytes, &members_bytes);

	fwrite(members, 1, members_bytes, stream);
	fclose(stream);
	struct fuzz_path path = fuzz_file("archive", archive, archive_bytes);

	free(archive);
	scan_as("docker-archive", path.text);
	scan_as("oci-archive", path.text);
	blobs_free(&blobs);
	return 0;
}
