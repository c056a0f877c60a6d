/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/read/scan_worker.h"

#include <errno.h>
#include <string.h>

#include "support/vector.h"

errcode_t scan_worker_open(struct scan_worker *worker, struct inode_scan *scan, size_t table_bytes)
{
	worker->far_blocks = scan->far_blocks;
	worker->worst.limit = scan->worst_limit;
	worker->table = malloc(table_bytes);
	if (!worker->table)
		return ENOMEM;
	return directory_walker_open(scan->volume, &worker->damage, &scan->map_blocks_read,
	                             &scan->directory_blocks_read, &worker->walker);
}

void scan_worker_close(struct scan_worker *worker)
{
	directory_walker_close(&worker->walker);
	free(worker->table);
	free(worker->worst.files);
	free(worker->directories);
	free(worker->segments);
}

errcode_t scan_worker_add_segment(struct scan_worker *worker, const struct scan_segment *segment)
{
	if (worker->is_in_segment && !segment->is_large) {
		struct scan_segment *last = &worker->segments[worker->segment_count - 1];

		seek_count(&worker->files.between, last->end, segment->first, worker->far_blocks);
		last->end = segment->end;
		return 0;
	}
	errcode_t error = vector_reserve(&worker->segments, &worker->segment_capacity, worker->segment_count + 1,
	                                 sizeof(*worker->segments));

	if (error)
		return error;
	worker->segments[worker->segment_count++] = *segment;
	worker->is_in_segment = !segment->is_large;
	return 0;
}

/* All members of struct report_sums are counts. */
static void merge_sums(struct report_sums *to, const struct report_sums *from)
{
	uint64_t *sums = (uint64_t *)to;
	const uint64_t *more = (const uint64_t *)from;

	for (size_t n = 0; n < sizeof(*to) / sizeof(*sums); n++)
		sums[n] += more[n];
}

static void merge_files(struct report_files *to, const struct report_files *from)
{
	merge_sums(&to->regular, &from->regular);
	to->inodes += from->inodes;
	to->empty += from->empty;
	to->inline_data += from->inline_data;
	to->by_extents += from->by_extents;
	to->by_indirect += from->by_indirect;
	if (from->largest_depth > to->largest_depth)
		to->largest_depth = from->largest_depth;
	histogram_merge(&to->extents_per_file, &from->extents_per_file);
	histogram_merge(&to->extent_blocks, &from->extent_blocks);
	seek_merge(&to->between, &from->between);
	merge_sums(&to->symlinks, &from->symlinks);
	merge_sums(&to->xattr_values, &from->xattr_values);
	to->xattr_blocks += from->xattr_blocks;
}

static void merge_directories(struct report_directories *to, const struct report_directories *from)
{
	merge_sums(&to->sums, &from->sums);
	to->count += from->count;
	to->inline_data += from->inline_data;
	to->linear += from->linear;
	for (unsigned int level = 0; level < REPORT_HTREE_LEVELS; level++)
		to->indexed[level] += from->indexed[level];
	to->entries += from->entries;
	histogram_merge(&to->blocks_per_directory, &from->blocks_per_directory);
}

errcode_t scan_worker_merge(struct inode_scan *scan, const struct scan_worker *worker)
{
	merge_files(&scan->files, &worker->files);
	merge_directories(&scan->directories_report, &worker->directories_report);
	damage_merge(&scan->damage, &worker->damage);
	for (size_t n = 0; n < worker->worst.count; n++) {
		errcode_t error = worst_add(&scan->worst, &worker->worst.files[n]);

		if (error)
			return error;
	}
	if (!worker->directory_count)
		return 0;
	uint32_t *more = realloc(scan->directories,
	                         (scan->directory_count + worker->directory_count) * sizeof(*scan->directories));

	if (!more)
		return ENOMEM;
	memcpy(more + scan->directory_count, worker->directories, worker->directory_count * sizeof(*more));
	scan->directories = more;
	scan->directory_count += worker->directory_count;
	return 0;
}
