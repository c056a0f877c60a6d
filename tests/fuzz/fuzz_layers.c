/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OCI images: the index, what it leads to, layers with their whiteouts, and the names of accounts in the tree that
 * comes of them. The first part of the input is index.json, each other one a blob. In a part that is JSON, @N@ is the
 * digest of blob N (1 to 9) and #N# its size; a blob may name those that follow it. Any other part is an archive
 * (tar_text.h).
 */
#include "fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nettle/sha2.h>

#include "source/owners/account_names.h"
#include "tar_text.h"
#include "text_mutator.h"

#define MOST_BLOBS 9
#define DIGEST_CHARACTERS (2 * SHA256_DIGEST_SIZE)

struct blob {
	struct fuzz_part part;
	char digest[DIGEST_CHARACTERS + 1];
	size_t bytes; /* once it has been written */
};

static void take_digest(struct blob *blob, const void *bytes, size_t count)
{
	struct sha256_ctx context;
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_init(&context);
	sha256_update(&context, count, bytes);
	sha256_digest(&context, sizeof(digest), digest);
	for (size_t n = 0; n < sizeof(digest); n++)
		snprintf(blob->digest + 2 * n, 3, "%02x", digest[n]);
	blob->bytes = count;
}

/* The part with what it names put in; the caller frees it. */
static char *fill_in(const struct fuzz_part *part, const struct blob *blobs, size_t *count)
{
	char *filled = malloc(part->count * DIGEST_CHARACTERS + 1);
	size_t used = 0;

	FUZZ_CHECK(filled);
	for (size_t n = 0; n < part->count; n++) {
		char mark = (char)part->bytes[n];
		unsigned int number = n + 2 < part->count ? part->bytes[n + 1] - '1' : MOST_BLOBS;

		if ((mark != '@' && mark != '#') || number >= MOST_BLOBS || part->bytes[n + 2] != (uint8_t)mark) {
			filled[used++] = mark;
			continue;
		}
		used += (size_t)(mark == '@' ? sprintf(filled + used, "sha256:%.64s", blobs[number].digest) :
		                               sprintf(filled + used, "%zu", blobs[number].bytes));
		n += 2;
	}
	*count = used;
	return filled;
}

static void write_part(const char *name, const struct fuzz_part *part, struct blob *blobs, struct blob *blob)
{
	bool is_text = part->count && part->bytes[0] == '{';
	size_t count;
	SCOPE_FREE void *bytes =
		is_text ? (void *)fill_in(part, blobs, &count) : tar_of_text(part->bytes, part->count, &count);
	char path[100];

	if (blob)
		take_digest(blob, bytes, count);
	snprintf(path, sizeof(path), "%s%s", name, blob ? blob->digest : "");
	fuzz_file(path, bytes, count);
}

/* Whiteouts remove others, and are no files themselves. */
static void check_markers(const struct tree *tree)
{
	for (uint32_t number = 1; number < tree->node_count; number++)
		FUZZ_CHECK(strncmp(tree->nodes[number].name, ".wh.", 4));
}

static void find_accounts(const struct tree *tree)
{
	static const char *const wanted[] = { "root", "user", "nobody at all", "" };
	struct account_names names = { .tree = tree };

	for (size_t n = 0; n < sizeof(wanted) / sizeof(*wanted); n++) {
		for (unsigned int kind = 0; kind < ACCOUNT_KINDS; kind++) {
			struct problem problem = { 0 };
			uint32_t id;

			fuzz_check_problem(account_names_find(&names, kind, wanted[n], "here", &id, &problem),
			                   &problem);
		}
	}
	account_names_destroy(&names);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t most, unsigned int seed)
{
	return mutate_text(bytes, count, most, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static const char layout[] = "{\"imageLayoutVersion\":\"1.0.0\"}";
	struct fuzz_part rest = { bytes, count };
	struct fuzz_part index = fuzz_next_part(&rest);
	struct blob blobs[MOST_BLOBS] = { 0 };
	char name[PATH_MAX];
	size_t blob_count = 0;

	while (rest.count && blob_count < MOST_BLOBS)
		blobs[blob_count++].part = fuzz_next_part(&rest);
	fuzz_file("image/oci-layout", layout, sizeof(layout) - 1);
	for (size_t n = blob_count; n--;)
		write_part("image/blobs/sha256/", &blobs[n].part, blobs, &blobs[n]);
	write_part("image/index.json", &index, blobs, NULL);
	FUZZ_CHECK((size_t)snprintf(name, sizeof(name), "oci:%s/image", fuzz_folder()) < sizeof(name));
	struct tree *tree = fuzz_scan(name);

	if (tree) {
		check_markers(tree);
		find_accounts(tree);
		tree_destroy(tree);
	}
	for (size_t n = 0; n < blob_count; n++) {
		FUZZ_CHECK((size_t)snprintf(name, sizeof(name), "%s/image/blobs/sha256/%s", fuzz_folder(),
		                            blobs[n].digest) < sizeof(name));
		remove(name);
	}
	return 0;
}
