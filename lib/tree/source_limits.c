/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/source_limits.h"

#include <errno.h>
#include <inttypes.h>

#include "support/text/units.h"

static errcode_t count(atomic_uint_fast64_t *counted, uint64_t more, uint64_t most)
{
	uint64_t before = atomic_fetch_add_explicit(counted, more, memory_order_relaxed);

	return most && (before > most || more > most - before) ? EDQUOT : 0;
}

errcode_t source_counts_metadata(struct source_counts *counts, uint64_t bytes)
{
	return counts ? count(&counts->metadata_bytes, bytes, counts->limits.metadata_bytes) : 0;
}

errcode_t source_counts_name(struct source_counts *counts, uint64_t metadata_bytes)
{
	errcode_t error = counts ? count(&counts->names, 1, counts->limits.names) : 0;

	return error ? error : source_counts_metadata(counts, metadata_bytes);
}

errcode_t source_counts_unpacked(struct source_counts *counts, uint64_t bytes)
{
	return counts ? count(&counts->unpacked_bytes, bytes, counts->limits.unpacked_bytes) : 0;
}

errcode_t source_counts_add(struct source_counts *counts, uint64_t names, uint64_t metadata_bytes,
                            uint64_t unpacked_bytes)
{
	errcode_t error = counts ? count(&counts->names, names, counts->limits.names) : 0;

	if (!error)
		error = source_counts_metadata(counts, metadata_bytes);
	return error ? error : source_counts_unpacked(counts, unpacked_bytes);
}

void source_counts_path(struct source_counts *counts, uint64_t bytes)
{
	uint_fast64_t longest = counts ? atomic_load_explicit(&counts->path_bytes, memory_order_relaxed) : bytes;

	while (longest < bytes && !atomic_compare_exchange_weak(&counts->path_bytes, &longest, bytes))
		;
}

static bool is_over(const atomic_uint_fast64_t *counted, uint64_t most)
{
	return most && atomic_load_explicit(counted, memory_order_relaxed) > most;
}

errcode_t source_counts_problem(const struct source_counts *counts, struct problem *problem)
{
	const struct source_limits *limits = &counts->limits;
	static const char action[] = "cannot read the sources";

	if (is_over(&counts->names, limits->names))
		return problem_set_reason(problem, EDQUOT, NULL, action,
		                          "they have more than %" PRIu64 " names (--limit=names=N allows more)",
		                          limits->names);
	if (is_over(&counts->metadata_bytes, limits->metadata_bytes))
		return problem_set_reason(problem, EDQUOT, NULL, action,
		                          "names, links, extended attributes and holes take more than %s of memory "
		                          "(--limit=metadata=SIZE allows more)",
		                          units_bytes(limits->metadata_bytes).text);
	return problem_set_reason(problem, EDQUOT, NULL, action,
	                          "they unpack to more than %s (--limit=unpacked=SIZE allows more)",
	                          units_bytes(limits->unpacked_bytes).text);
}
