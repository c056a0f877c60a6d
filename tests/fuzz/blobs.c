/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "blobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tar_text.h"

static void take_digest(struct blob *blob)
{
	struct sha256_ctx context;
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_init(&context);
	sha256_update(&context, blob->count, blob->bytes);
	sha256_digest(&context, sizeof(digest), digest);
	for (size_t n = 0; n < sizeof(digest); n++)
		snprintf(blob->digest + 2 * n, 3, "%02x", digest[n]);
}

char *blobs_fill_in(const struct blobs *blobs, const struct fuzz_part *part, size_t *count)
{
	char *filled = malloc(part->count * DIGEST_CHARACTERS + 1);
	size_t used = 0;

	FUZZ_CHECK(filled);
	for (size_t n = 0; n < part->count; n++) {
		char mark = (char)part->bytes[n];
		unsigned int number = n + 2 < part->count ? part->bytes[n + 1] - '1' : MOST_BLOBS;

		if ((mark != '@' && mark != '#' && mark != '~') || number >= MOST_BLOBS ||
		    part->bytes[n + 2] != (uint8_t)mark) {
			filled[used++] = mark;
			continue;
		}
		const struct blob *blob = &blobs->list[number];

		if (mark == '#')
			used += (size_t)sprintf(filled + used, "%zu", blob->count);
		else
			used += (size_t)sprintf(filled + used, "%s%.64s", mark == '@' ? "sha256:" : "", blob->digest);
		n += 2;
	}
	*count = used;
	return filled;
}

void blobs_take(struct blobs *blobs, struct fuzz_part rest)
{
	struct fuzz_part parts[MOST_BLOBS];

	*blobs = (struct blobs){ 0 };
	while (rest.count && blobs->count < MOST_BLOBS)
		parts[blobs->count++] = fuzz_next_part(&rest);
	for (size_t n = blobs->count; n--;) {
		struct blob *blob = &blobs->list[n];
		bool is_text = parts[n].count && parts[n].bytes[0] == '{';

		blob->bytes = is_text ? (uint8_t *)blobs_fill_in(blobs, &parts[n], &blob->count) :
		                        tar_of_text(parts[n].bytes, parts[n].count, &blob->count);
		take_digest(blob);
	}
}

void blobs_free(struct blobs *blobs)
{
	for (size_t n = 0; n < blobs->count; n++)
		free(blobs->list[n].bytes);
}

void blobs_check_markers(const struct tree *tree)
{
	for (uint32_t number = 1; number < tree->node_count; number++)
		FUZZ_CHECK(strncmp(tree->nodes[number].name, ".wh.", 4));
}
