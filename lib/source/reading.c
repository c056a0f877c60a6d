/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/reading.h"

#include <errno.h>
#include <sys/stat.h>

#include "source/kind/run_files.h"
#include "source/manifest/metadata.h"
#include "support/run/memory.h"
#include "unpack/spool_directory.h"
#include "unpack/unpacked_store.h"
#include "unpack/window_budget.h"

/* Thirty builds of large layers take 9 GiB with what else a build needs; with a quarter of the memory each, two filled
 * it. */
#define USUAL_BYTES (UINT64_C(256) << 20)

uint64_t source_usual_memory(void)
{
	const uint64_t available = memory_available();

	return available && available / 4 < USUAL_BYTES ? available / 4 : USUAL_BYTES;
}

static void see_outputs(const struct source_reading *reading, struct scan_options *options,
                        struct stat statuses[SCAN_OUTPUTS])
{
	for (int output = 0; output < SCAN_OUTPUTS; output++)
		if (reading->outputs[output] && stat(reading->outputs[output], &statuses[output]) == 0)
			options->outputs[output] = &statuses[output];
	if (options->files)
		run_files_see_outputs(options->files);
}

errcode_t sources_look(const struct source_reading *reading, struct pool *pool, struct problem *problem)
{
	struct scan_options options = *reading->scan;
	struct stat statuses[SCAN_OUTPUTS];

	see_outputs(reading, &options, statuses);
	return sources_look_at(reading->sources, reading->source_count, &reading->layering, &options, pool, problem);
}

errcode_t sources_read_unchanged(const struct source_reading *reading, struct pool *pool, struct tree **ret,
                                 struct problem *problem)
{
	struct window_budget windows = WINDOW_BUDGET_INITIALIZER;
	struct source_counts counts = { .limits = reading->limits };
	struct scan_options options = *reading->scan;
	struct stat statuses[SCAN_OUTPUTS];
	SCOPE_FREE char *spool = spool_directory(reading->outputs[SCAN_IMAGE]);

	if (!spool || unpacked_budget_create(reading->memory_bytes, &options.unpacked))
		return ENOMEM;
	options.windows = &windows;
	options.counts = &counts;
	options.unpack_threads = reading->threads > 1 ? reading->threads : 0;
	options.spool_directory = spool;
	see_outputs(reading, &options, statuses);
	errcode_t error =
		sources_scan(reading->sources, reading->source_count, &reading->layering, &options, pool, ret, problem);

	unpacked_budget_release(options.unpacked);
	return error;
}

errcode_t sources_read(const struct source_reading *reading, struct pool *pool, struct tree **ret,
                       struct problem *problem)
{
	errcode_t error = sources_read_unchanged(reading, pool, ret, problem);

	if (!error && reading->owners)
		error = owner_map_apply(reading->owners, *ret, problem);
	if (!error && reading->metadata)
		error = metadata_apply(reading->metadata, ret, pool, problem);
	return error;
}
