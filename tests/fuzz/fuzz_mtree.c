/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Manifests: the first part as a source, a second one as --metadata over it, and a third one as a layer over the first.
 */
#include "fuzz.h"

#include "source/manifest/metadata.h"
#include "source/mtree/mtree.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct fuzz_part rest = { bytes, count };
	struct fuzz_part source = fuzz_next_part(&rest);
	struct fuzz_path path = fuzz_file("source.mtree", source.bytes, source.count);
	struct problem problem = { 0 };
	struct pool *pool;

	mtree_recognize((const char *)source.bytes, source.count);
	struct tree *tree = fuzz_scan(path.text);

	if (!tree)
		return 0;
	struct fuzz_part metadata = fuzz_next_part(&rest);

	path = fuzz_file("metadata.mtree", metadata.bytes, metadata.count);
	FUZZ_CHECK(pool_create(0, &pool) == 0);
	fuzz_check_problem(metadata_apply(path.text, &tree, pool, &problem), &problem);
	pool_destroy(pool);
	if (tree)
		tree_destroy(tree);
	if (!rest.count)
		return 0;
	struct fuzz_path lower = fuzz_file("source.mtree", source.bytes, source.count);

	path = fuzz_file("upper.mtree", rest.bytes, rest.count);
	tree = fuzz_scan_layers((const char *const[]){ lower.text, path.text }, 2, WHITEOUTS_OVERLAYFS);
	if (tree)
		tree_destroy(tree);
	return 0;
}
