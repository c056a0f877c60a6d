/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Archives: headers of tar as they are checked before libarchive reads them, members, ACLs, sparse files, the tree. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct fuzz_path path = fuzz_file("archive", bytes, count);
	struct tree *tree = fuzz_scan(path.text);

	if (tree)
		tree_destroy(tree);
	return 0;
}
