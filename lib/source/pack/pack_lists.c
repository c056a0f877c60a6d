/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/pack/pack_index.h"

#include <endian.h>

/* Returns where a list begins, and moves *at to its end. No sum can overflow: each count has 32 bits but the last two.
 */
static void *place(char *index, uint64_t *at, uint64_t count, size_t item_bytes)
{
	void *list = index ? index + *at : NULL;

	*at += count * item_bytes;
	return list;
}

uint64_t pack_lists_place(struct pack_lists *lists, void *index)
{
	const struct pack_counts *counts = &lists->counts;
	uint64_t at = sizeof(struct pack_counts);

	if (lists->slices > UINT64_MAX / 16 || counts->string_bytes > UINT64_MAX / 4)
		return UINT64_MAX;
	lists->nodes = place(index, &at, counts->nodes, sizeof(*lists->nodes));
	lists->details = place(index, &at, counts->details, sizeof(*lists->details));
	lists->segments = place(index, &at, counts->segments, sizeof(*lists->segments));
	lists->xattrs = place(index, &at, counts->xattrs, sizeof(*lists->xattrs));
	lists->links = place(index, &at, counts->links_below, sizeof(*lists->links));
	lists->set_counts = place(index, &at, counts->xattr_sets, sizeof(*lists->set_counts));
	lists->map_counts = place(index, &at, counts->maps, sizeof(*lists->map_counts));
	lists->order = place(index, &at, counts->marks & PACK_HAS_ORDER ? counts->nodes : 0, sizeof(*lists->order));
	lists->checksums = place(index, &at, lists->slices, sizeof(*lists->checksums));
	lists->strings = place(index, &at, counts->string_bytes, 1);
	return at;
}

static void read_counts(const struct pack_counts *stored, struct pack_counts *counts)
{
	*counts = (struct pack_counts){
		.nodes = le32toh(stored->nodes),
		.xattr_sets = le32toh(stored->xattr_sets),
		.xattrs = le32toh(stored->xattrs),
		.details = le32toh(stored->details),
		.maps = le32toh(stored->maps),
		.segments = le32toh(stored->segments),
		.links_below = le32toh(stored->links_below),
		.marks = le32toh(stored->marks),
		.string_bytes = le64toh(stored->string_bytes),
		.zero_pieces = le64toh(stored->zero_pieces),
		.zero_ends = le64toh(stored->zero_ends),
		.names = le64toh(stored->names),
		.metadata_bytes = le64toh(stored->metadata_bytes),
		.unpacked_bytes = le64toh(stored->unpacked_bytes),
		.path_bytes = le64toh(stored->path_bytes),
	};
}

bool pack_index_lists(void *index, uint64_t index_bytes, uint64_t contents_bytes, struct pack_lists *lists)
{
	if (index_bytes < sizeof(struct pack_counts))
		return false;
	read_counts(index, &lists->counts);
	lists->slices = pack_slices(contents_bytes);
	if (!lists->counts.nodes || lists->counts.nodes == UINT32_MAX || pack_lists_place(lists, NULL) != index_bytes)
		return false;
	pack_lists_place(lists, index);
	return true;
}
