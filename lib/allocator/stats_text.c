/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's own forms: what Linux 6.18 shows as mb_stats, mb_groups and mb_structs_summary in /proc/fs/ext4. */
#include "allocator/stats_text.h"

#include <stdarg.h>
#include <stdio.h>

#include "allocator/core/criterion.h"
#include "allocator/group/group.h"
#include "allocator/group/group_index.h"
#include "allocator/group/totals.h"
#include "allocator/search/stream_goals.h"

#define KERNEL_COLUMNS 14 /* orders in mb_groups, whatever the block size */

/* The first error ends it all. */
struct writer {
	ext2mb_write_function write;
	void *context;
	errcode_t error;
};

static void __attribute__((format(printf, 2, 3))) put(struct writer *writer, const char *format, ...)
{
	char text[256];
	va_list arguments;

	if (writer->error)
		return;
	va_start(arguments, format);
	int bytes = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	writer->error = writer->write(writer->context, text, (size_t)bytes);
}

static void put_count(struct writer *writer, const char *indent, const char *name, uint64_t count)
{
	put(writer, "%s%s: %llu\n", indent, name, (unsigned long long)count);
}

static void put_criteria(struct writer *writer, struct ext2mb *mb)
{
	static const char *const names[] = { "cr_p2_aligned_stats", "cr_goal_fast_stats", "cr_best_avail_stats",
		                             "cr_goal_slow_stats", "cr_any_free_stats" };

	_Static_assert(sizeof(names) / sizeof(*names) == CRITERIA, "each criterion has a name");
	for (unsigned int index = 0; index < CRITERIA; index++) {
		put(writer, "\t%s:\n", names[index]);
		put_count(writer, "\t\t", "hits", totals_count(mb, COUNT_CRITERION_HITS + index));
		put_count(writer, "\t\t", "groups_considered", totals_count(mb, COUNT_CRITERION_GROUPS + index));
		put_count(writer, "\t\t", "extents_scanned", totals_count(mb, COUNT_CRITERION_EXTENTS + index));
		put_count(writer, "\t\t", "useless_loops", totals_count(mb, COUNT_CRITERION_FAILURES + index));
	}
}

errcode_t ext2mb_write_mb_stats(struct ext2mb *mb, ext2mb_write_function write, void *context)
{
	struct writer writer = { write, context, 0 };
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	errcode_t error = write ? ext2mb_read_stats(mb, &stats) : EXT2MB_ET_BAD_ARGUMENT;
	uint32_t built = 0;

	if (error)
		return error;
	for (uint32_t number = 0; number < mb->geometry.groups; number++)
		built += group_summary_read(&mb->groups[number]).state == GROUP_LOADED;
	put(&writer, "mballoc:\n");
	put_count(&writer, "\t", "reqs", stats.requests);
	put_count(&writer, "\t", "success", stats.successes);
	put_count(&writer, "\t", "groups_scanned", stats.groups_scanned);
	put_criteria(&writer, mb);
	put_count(&writer, "\t", "extents_scanned", stats.extents_scanned);
	put_count(&writer, "\t\t", "goal_hits", stats.goal_hits);
	if (mb->policy.goals->hit_counter == COUNT_STREAM_GOAL_HITS)
		put_count(&writer, "\t\t", "stream_goal_hits", stats.stream_goal_hits);
	put_count(&writer, "\t\t", "len_goal_hits", stats.length_hits);
	put_count(&writer, "\t\t", "2^n_hits", totals_count(mb, COUNT_CRITERION_HITS));
	put_count(&writer, "\t\t", "breaks", stats.breaks);
	put_count(&writer, "\t\t", "lost", stats.lost_chunks);
	put(&writer, "\tbuddies_generated: %u/%u\n", built, mb->geometry.groups);
	put_count(&writer, "\t", "buddies_time_used",
	          atomic_load_explicit(&mb->build_nanoseconds, memory_order_relaxed));
	put_count(&writer, "\t", "preallocated", totals_count(mb, COUNT_CLUSTERS_RESERVED));
	put_count(&writer, "\t", "discarded", totals_count(mb, COUNT_CLUSTERS_UNRESERVED));
	return writer.error;
}

static unsigned int columns(const struct ext2mb *mb)
{
	return mb->orders > KERNEL_COLUMNS ? mb->orders : KERNEL_COLUMNS;
}

errcode_t stats_text_read_row(struct ext2mb *mb, uint32_t number, struct group_row *row)
{
	errcode_t error = group_enter(mb, number);

	*row = (struct group_row){ .is_corrupt = error == EXT2MB_ET_CORRUPT_GROUP };
	if (row->is_corrupt)
		return 0;
	if (error)
		return error;
	const struct buddy *buddy = mb->groups[number].buddy;
	row->free_clusters = buddy->free_clusters;
	row->fragments = buddy->fragments;
	/* If nothing is free, it is the end of a whole group, even in the last group. */
	row->first_free =
		buddy->free_clusters ? buddy_next_free(buddy, 0, buddy->clusters) : mb->geometry.clusters_per_group;
	for (unsigned int order = 0; order < mb->orders; order++)
		row->counters[order] = buddy->counters[order];
	group_leave(mb, number);
	return 0;
}

static void put_row(struct writer *writer, const struct ext2mb *mb, uint32_t number, const struct group_row *row)
{
	put(writer, "#%-5u: %-5u %-5u %-5u [", number, row->free_clusters, row->fragments, row->first_free);
	for (unsigned int order = 0; order < columns(mb); order++)
		put(writer, " %-5u", order < mb->orders ? row->counters[order] : 0);
	put(writer, " ]%s\n", row->is_corrupt ? " Block bitmap corrupted!" : "");
}

errcode_t stats_text_write_groups(struct ext2mb *mb, uint32_t first, uint32_t end, ext2mb_write_function write,
                                  void *context)
{
	struct writer writer = { write, context, 0 };

	put(&writer, "#group: free  frags first [");
	for (unsigned int order = 0; order < columns(mb); order++)
		put(&writer, " 2^%-3u", order);
	put(&writer, " ]\n");
	for (uint32_t number = first; number < end && !writer.error; number++) {
		struct group_row row;
		errcode_t error = stats_text_read_row(mb, number, &row);

		if (error)
			return error;
		put_row(&writer, mb, number, &row);
	}
	return writer.error;
}

errcode_t ext2mb_write_mb_groups(struct ext2mb *mb, ext2mb_write_function write, void *context)
{
	return mb && write ? stats_text_write_groups(mb, 0, mb->geometry.groups, write, context) :
	                     EXT2MB_ET_BAD_ARGUMENT;
}

static void put_sets(struct writer *writer, struct ext2mb *mb, enum index_kind kind, const char *name)
{
	put(writer, "%s:\n", name);
	for (unsigned int order = 0; order < mb->orders; order++)
		put(writer, "\tlist_order_%u_groups: %u\n", order, group_index_count(mb, kind, order));
}

errcode_t ext2mb_write_mb_structs_summary(struct ext2mb *mb, ext2mb_write_function write, void *context)
{
	struct writer writer = { write, context, 0 };

	if (!mb || !write)
		return EXT2MB_ET_BAD_ARGUMENT;
	put(&writer, "optimize_scan: %d\n", group_index_is_on(mb));
	put_sets(&writer, mb, INDEX_LARGEST, "max_free_order_lists");
	put_sets(&writer, mb, INDEX_AVERAGE, "avg_fragment_size_lists");
	return writer.error;
}
