/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters since the allocator was opened, and the present state: mb_stats, stats. */
#include <stddef.h>
#include <string.h>

#include "listing.h"
#include "requests.h"
#include "words.h"

/* The members of struct ext2mb_stats, in their order. */
static const char *const counter_names[] = {
	"requests",
	"successes",
	"blocks_allocated",
	"frees",
	"blocks_freed",
	"goal_hits",
	"stream_goal_hits",
	"length_hits",
	"packed",
	"extents_scanned",
	"groups_scanned",
	"busy_skips",
	"busy_waits",
	"lost_chunks",
	"breaks",
	"repeated_sweeps",
	"inodes_allocated",
	"inodes_freed",
	"corrupt_groups",
	"preallocation_hits",
	"preallocations_opened",
	"preallocation_discards",
	"least_requests",
	"least_refusals",
};

#define COUNTERS_SHOWN (sizeof(counter_names) / sizeof(*counter_names))
_Static_assert(sizeof(struct ext2mb_stats) - offsetof(struct ext2mb_stats, requests) ==
                       COUNTERS_SHOWN * sizeof(uint64_t),
               "each counter has a name");

static uint64_t counter_of(const struct ext2mb_stats *stats, size_t index)
{
	const char *first = (const char *)stats + offsetof(struct ext2mb_stats, requests);
	uint64_t value;

	memcpy(&value, first + index * sizeof(value), sizeof(value));
	return value;
}

errcode_t request_mb_stats(struct shell *shell)
{
	return listing_kernel_form(shell->is_json, KERNEL_MB_STATS, shell->filesystem.mb);
}

/* Prints the present state, then what was counted since the allocator was opened or since stats -r. */
static errcode_t show(const struct shell *shell, const struct ext2mb_stats *stats)
{
	static const struct column columns[] = { { "counter", -22 }, { "value", 12 }, { 0 } };
	struct ext2mb *mb = shell->filesystem.mb;
	const struct {
		const char *name;
		uint64_t value;
	} now[] = {
		{ "free_blocks", ext2mb_free_blocks(mb) },
		{ "free_inodes", ext2mb_free_inodes(mb) },
		{ "preallocated_blocks", ext2mb_reserved_blocks(mb) },
	};
	struct listing listing;

	listing_begin(&listing, shell->is_json, columns);
	for (size_t index = 0; index < sizeof(now) / sizeof(*now); index++)
		listing_row(&listing, (const struct cell[]){
					      TEXT_CELL(now[index].name),
					      NUMBER_CELL(now[index].value),
				      });
	for (size_t index = 0; index < COUNTERS_SHOWN; index++)
		listing_row(&listing,
		            (const struct cell[]){
				    TEXT_CELL(counter_names[index]),
				    NUMBER_CELL(counter_of(stats, index) - counter_of(&shell->counted, index)),
			    });
	return listing_end(&listing);
}

errcode_t request_stats(struct shell *shell)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };

	if (shell->word_count > 1 && strcmp(shell->words[1], "-r"))
		return WRONG_USAGE;
	errcode_t error = ext2mb_read_stats(shell->filesystem.mb, &stats);

	if (error || shell->word_count == 1)
		return error ? error : show(shell, &stats);
	shell->counted = stats;
	return 0;
}
