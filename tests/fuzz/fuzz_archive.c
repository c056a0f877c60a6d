/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Archives: headers of tar as they are checked before libarchive reads them, members, ACLs, sparse files, the tree; see
 * tar_text.h. */
#include "fuzz.h"
#include "tar_text.h"
#include "text_mutator.h"

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t most, unsigned int seed)
{
	return mutate_text(bytes, count, most, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	size_t archive_bytes;
	SCOPE_FREE uint8_t *archive = tar_of_text(bytes, count, &archive_bytes);
	struct fuzz_path path = fuzz_file("archive", archive, archive_bytes);
	struct tree *tree = fuzz_scan(path.text);

	if (tree)
		tree_destroy(tree);
	return 0;
}
