/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OCI images: the index, what it leads to, layers with their whiteouts, and the names of accounts in the tree that
 * comes of them. The first part of the input is index.json, each other one a blob.
 */
#include "blobs.h"

#include <stdio.h>
#include <stdlib.h>

#include "source/owners/account_names.h"
#include "text_mutator.h"

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
	struct blobs blobs;
	char name[PATH_MAX];

	blobs_take(&blobs, rest);
	fuzz_file("image/oci-layout", layout, sizeof(layout) - 1);
	for (size_t n = 0; n < blobs.count; n++) {
		snprintf(name, sizeof(name), "image/blobs/sha256/%s", blobs.list[n].digest);
		fuzz_file(name, blobs.list[n].bytes, blobs.list[n].count);
	}
	SCOPE_FREE char *text = blobs_fill_in(&blobs, &index, &count);

	fuzz_file("image/index.json", text, count);
	FUZZ_CHECK((size_t)snprintf(name, sizeof(name), "oci:%s/image", fuzz_folder()) < sizeof(name));
	struct tree *tree = fuzz_scan(name);

	if (tree) {
		blobs_check_markers(tree);
		find_accounts(tree);
		tree_destroy(tree);
	}
	for (size_t n = 0; n < blobs.count; n++) {
		FUZZ_CHECK((size_t)snprintf(name, sizeof(name), "%s/image/blobs/sha256/%s", fuzz_folder(),
		                            blobs.list[n].digest) < sizeof(name));
		remove(name);
	}
	blobs_free(&blobs);
	return 0;
}
