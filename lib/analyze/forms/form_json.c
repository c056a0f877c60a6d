/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "analyze/forms/form_delta.h"
#include "analyze/forms/forms.h"
#include "analyze/report/verdict.h"

static double block_kilobytes(const struct report *report)
{
	return report->filesystem.block_bytes / 1024.0;
}

static void write_filesystem(struct json *json, const struct report *report)
{
	const struct report_filesystem *filesystem = &report->filesystem;

	json_open_object(json, "filesystem");
	json_string(json, "target", filesystem->target);
	json_string(json, "device", filesystem->device);
	json_unsigned(json, "offset_bytes", filesystem->offset_bytes);
	json_string(json, "label", filesystem->label);
	json_string(json, "uuid", filesystem->uuid);
	json_counts(json, { "block_bytes", filesystem->block_bytes }, { "cluster_blocks", filesystem->cluster_blocks },
	            { "blocks", filesystem->blocks }, { "missing_blocks", filesystem->missing_blocks },
	            { "blocks_per_group", filesystem->blocks_per_group }, { "groups", filesystem->groups },
	            { "inodes", filesystem->inodes });
	json_boolean(json, "mounted", filesystem->is_mounted);
	json_boolean(json, "needs_recovery", filesystem->needs_recovery);
	json_close_object(json);
}

/* Writes the powers of two that have values; the keys name what is counted. */
static void write_histogram(struct json *json, const char *key, const struct histogram *histogram, const char *from_key,
                            const char *sum_key)
{
	json_open_array(json, key);
	for (unsigned int power = 0; power < HISTOGRAM_POWERS; power++) {
		uint64_t count, sum;

		histogram_power(histogram, power, &count, &sum);
		if (!count)
			continue;
		json_open_row(json, NULL);
		json_unsigned(json, from_key, UINT64_C(1) << power);
		json_unsigned(json, "count", count);
		json_unsigned(json, sum_key, sum);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_percentiles(struct json *json, const char *key, const struct histogram *histogram)
{
	static const struct {
		const char *key;
		double percent;
	} shown[] = { { "p1", 1 },   { "p5", 5 },   { "p10", 10 }, { "p25", 25 }, { "p50", 50 },
		      { "p75", 75 }, { "p90", 90 }, { "p95", 95 }, { "p99", 99 } };

	json_open_row(json, key);
	for (size_t n = 0; n < sizeof(shown) / sizeof(*shown); n++)
		json_unsigned(json, shown[n].key, histogram_percentile(histogram, shown[n].percent));
	json_close_object(json);
}

static void write_groups(struct json *json, const struct report *report)
{
	const struct report_free *space = &report->free;

	json_open_array(json, "groups");
	for (uint32_t number = 0; number < report->filesystem.groups; number++) {
		const struct report_group *group = &space->groups[number];

		json_open_row(json, NULL);
		json_unsigned(json, "group", number);
		if (group->is_unreadable)
			json_boolean(json, "unreadable", true);
		json_counts(json, { "free_clusters", group->free_clusters }, { "fragments", group->fragments },
		            { "first_free", group->first_free }, { "largest_clusters", group->largest_clusters });
		json_open_array(json, "orders");
		for (unsigned int order = 0; order < space->orders; order++)
			json_unsigned(json, NULL, group->orders[order]);
		json_close_array(json);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_zones(struct json *json, const struct report *report)
{
	json_open_array(json, "zones");
	for (size_t n = 0; n < report->free.zone_count; n++) {
		const struct report_zone *zone = &report->free.zones[n];

		json_open_row(json, NULL);
		json_counts(json, { "first_group", zone->first_group }, { "groups", zone->groups },
		            { "blocks", zone->blocks }, { "free_blocks", zone->free_blocks },
		            { "extents", zone->extents }, { "largest_blocks", zone->largest });
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_free(struct json *json, const struct report *report, bool with_groups)
{
	const struct report_free *space = &report->free;
	const struct histogram *sizes = &space->sizes;
	double kilobytes = block_kilobytes(report);

	json_open_object(json, "free");
	json_counts(json, { "extents", sizes->count }, { "blocks", sizes->sum });
	json_number(json, "min_kb", (double)sizes->minimum * kilobytes, 0);
	json_number(json, "max_kb", (double)sizes->maximum * kilobytes, 0);
	json_number(json, "avg_kb", histogram_mean(sizes) * kilobytes, 1);
	json_number(json, "median_kb", (double)histogram_percentile(sizes, 50) * kilobytes, 0);
	json_number(json, "weighted_median_kb", (double)histogram_weighted_percentile(sizes, 50) * kilobytes, 0);
	json_number(json, "largest_allocatable_kb", (double)space->largest_allocatable * kilobytes, 0);
	json_counts(json, { "largest_start", space->largest_start },
	            { "superblock_free_blocks", space->superblock_free_blocks },
	            { "reserved_blocks", space->reserved_blocks }, { "unreadable_groups", space->unreadable_groups },
	            { "unsettled_groups", space->unsettled_groups });
	if (space->chunk_blocks) {
		json_counts(json, { "chunk_blocks", space->chunk_blocks }, { "chunks", space->chunks },
		            { "free_chunks", space->free_chunks });
	}
	write_percentiles(json, "percentiles_blocks", sizes);
	write_histogram(json, "histogram", sizes, "from_blocks", "blocks");
	write_zones(json, report);
	if (with_groups)
		write_groups(json, report);
	json_close_object(json);
}

static void write_seeks(struct json *json, const char *key, const struct seek_counts *seeks)
{
	json_open_row(json, key);
	json_counts(json, { "jumps", seeks->jumps }, { "far", seeks->far }, { "backward", seeks->backward });
	json_close_object(json);
}

/* Writes the members that files of all kinds have into the open object. */
static void write_sums(struct json *json, const struct report *report, const struct report_sums *sums)
{
	double files = sums->files ? (double)sums->files : 1;
	double extents = sums->extents ? (double)sums->extents : 1;

	json_counts(json, { "count", sums->files }, { "blocks", sums->blocks }, { "extents", sums->extents },
	            { "ideal_extents", sums->ideal_extents }, { "runs", sums->runs }, { "records", sums->records });
	json_number(json, "avg_extents", (double)sums->extents / files, 3);
	json_number(json, "avg_extent_kb", (double)sums->blocks / extents * block_kilobytes(report), 1);
	json_counts(json, { "fragmented_files", sums->fragmented_files }, { "map_blocks", sums->map_blocks },
	            { "unwritten_blocks", sums->unwritten_blocks }, { "unwritten_extents", sums->unwritten_records },
	            { "holes", sums->holes });
	write_seeks(json, "seeks_inside", &sums->inside);
}

static void write_files(struct json *json, const struct report *report)
{
	const struct report_files *files = &report->files;

	json_open_object(json, "files");
	write_sums(json, report, &files->regular);
	json_number(json, "score", files->score, 2);
	json_number(json, "ratio", files->ratio, 3);
	write_seeks(json, "seeks_between", &files->between);
	json_counts(json, { "inodes", files->inodes }, { "empty", files->empty }, { "inline_data", files->inline_data },
	            { "by_extents", files->by_extents }, { "by_indirect", files->by_indirect },
	            { "largest_depth", files->largest_depth }, { "xattr_blocks", files->xattr_blocks });
	write_percentiles(json, "extents_per_file_percentiles", &files->extents_per_file);
	write_histogram(json, "extents_per_file_histogram", &files->extents_per_file, "from_extents", "extents");
	write_percentiles(json, "extent_blocks_percentiles", &files->extent_blocks);
	write_histogram(json, "extent_blocks_histogram", &files->extent_blocks, "from_blocks", "blocks");
	json_open_object(json, "symlinks");
	write_sums(json, report, &files->symlinks);
	json_close_object(json);
	json_open_object(json, "xattr_values");
	write_sums(json, report, &files->xattr_values);
	json_close_object(json);
	json_close_object(json);
}

static void write_directories(struct json *json, const struct report *report)
{
	const struct report_directories *directories = &report->directories;

	json_open_object(json, "directories");
	write_sums(json, report, &directories->sums);
	json_counts(json, { "all", directories->count }, { "entries", directories->entries },
	            { "inline_data", directories->inline_data }, { "linear", directories->linear });
	json_open_array(json, "indexed_by_levels");
	for (unsigned int level = 0; level < REPORT_HTREE_LEVELS; level++)
		json_unsigned(json, NULL, directories->indexed[level]);
	json_close_array(json);
	write_percentiles(json, "blocks_percentiles", &directories->blocks_per_directory);
	json_close_object(json);
}

static void write_worst(struct json *json, const struct report *report)
{
	json_open_array(json, "worst");
	for (size_t n = 0; n < report->worst.count; n++) {
		const struct report_file *file = &report->worst.files[n];

		json_open_row(json, NULL);
		json_string(json, "path", file->path);
		json_counts(json, { "inode", file->ino }, { "extents", file->extents },
		            { "ideal", file->ideal_extents }, { "blocks", file->blocks }, { "runs", file->runs },
		            { "records", file->records }, { "size_bytes", file->size_bytes });
		json_string(json, "kind", file_kind_word(file->kind));
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_by_directory(struct json *json, const struct report *report)
{
	json_open_array(json, "by_directory");
	for (size_t n = 0; n < report->by_directory_count; n++) {
		const struct report_directory *directory = &report->by_directory[n];

		json_open_row(json, NULL);
		json_string(json, "path", directory->path);
		json_counts(json, { "inode", directory->ino }, { "files", directory->files },
		            { "blocks", directory->blocks }, { "extents", directory->extents },
		            { "ideal", directory->ideal_extents }, { "runs", directory->runs });
		json_number(json, "score", directory->score, 2);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_sharers(struct json *json, const struct report_shared_bitmap *shared)
{
	json_open_array(json, "most");
	for (unsigned int n = 0; n < REPORT_SHARERS && shared->most[n].files; n++) {
		json_open_row(json, NULL);
		json_string(json, "path", shared->most[n].path);
		json_counts(json, { "inode", shared->most[n].ino }, { "files", shared->most[n].files });
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_unlink_rows(struct json *json, const struct report_unlink *unlink)
{
	json_open_array(json, "costly");
	for (size_t n = 0; n < unlink->costly_count; n++) {
		const struct report_unlink_directory *row = &unlink->costly[n];

		json_open_row(json, NULL);
		json_string(json, "path", row->path);
		json_counts(json, { "inode", row->ino }, { "files", row->files },
		            { "block_bitmaps", row->block_bitmaps }, { "shared_bitmaps", row->shared_bitmaps },
		            { "inode_bitmaps", row->inode_bitmaps }, { "writes", row->writes });
		json_close_object(json);
	}
	json_close_array(json);
	json_open_array(json, "shared");
	for (size_t n = 0; n < unlink->shared_count; n++) {
		json_open_row(json, NULL);
		json_counts(json, { "group", unlink->shared[n].group },
		            { "directories", unlink->shared[n].directories });
		write_sharers(json, &unlink->shared[n]);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_unlink(struct json *json, const struct report *report)
{
	const struct report_unlink *unlink = report->unlink;

	json_open_object(json, "unlink");
	json_counts(json, { "batch_files", unlink->batch_files }, { "directories", unlink->directories },
	            { "files", unlink->files }, { "block_bitmaps", unlink->block_bitmaps },
	            { "inode_bitmaps", unlink->inode_bitmaps }, { "writes", unlink->writes },
	            { "shared_bitmaps", unlink->shared_bitmaps });
	write_unlink_rows(json, unlink);
	json_close_object(json);
}

static void write_kind(struct json *json, const char *key, const struct report_kind *kind)
{
	json_open_row(json, key);
	json_counts(json, { "files", kind->files }, { "large_files", kind->large_files }, { "blocks", kind->blocks });
	json_close_object(json);
}

static void write_verdict(struct json *json, const struct report *report)
{
	const struct report_verdict *verdict = &report->verdict;
	const struct report_kinds *kinds = &report->files.kinds;

	json_open_object(json, "verdict");
	json_string(json, "words", verdict_words(verdict->kind));
	if (report->has_files) {
		write_kind(json, "all", &kinds->all);
		write_kind(json, "scattered", &kinds->scattered);
		write_kind(json, "sparse", &kinds->sparse);
		write_kind(json, "split", &kinds->split);
		write_kind(json, "refused", &kinds->refused);
		write_kind(json, "too_large", &kinds->too_large);
		json_number(json, "score", verdict->score, 2);
		json_string(json, "score_words", score_band_words(verdict->band));
	}
	if (report->has_free)
		json_number(json, "free_limit_kb", (double)verdict->free_limit_blocks * block_kilobytes(report), 0);
	json_open_array(json, "advice");
	for (unsigned int n = 0; n < verdict->advice_count; n++)
		json_string(json, NULL, verdict->advice[n]);
	json_close_array(json);
	json_close_object(json);
}

static void write_damage(struct json *json, const struct report *report)
{
	const struct damage_list *damage = &report->damage;

	json_open_object(json, "unreadable");
	json_unsigned(json, "count", damage->count);
	json_open_array(json, "first");
	for (unsigned int n = 0; n < damage->kept; n++) {
		json_open_row(json, NULL);
		json_string(json, "what", damage->first[n].what);
		json_counts(json, { "inode", damage->first[n].ino }, { "block", damage->first[n].block });
		if (damage->first[n].is_of_group)
			json_unsigned(json, "group", damage->first[n].group);
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
}

static void write_quick(struct json *json, const struct report_quick *quick)
{
	json_open_object(json, "quick");
	json_counts(json, { "most_seconds", quick->seconds }, { "most_bytes", quick->most_bytes },
	            { "read_bytes", quick->read_bytes }, { "groups_left_out", quick->groups },
	            { "inodes_in_use", quick->inodes_in_use }, { "inodes_left_out", quick->inodes },
	            { "files_left_out", quick->files });
	json_close_object(json);
}

void form_json_object(struct json *json, const char *key, const struct report *report, const struct form_parts *parts)
{
	json_open_object(json, key);
	write_filesystem(json, report);
	if (parts->free_space)
		write_free(json, report, parts->groups);
	if (parts->files) {
		write_files(json, report);
		write_directories(json, report);
		write_worst(json, report);
		if (parts->by_directory)
			write_by_directory(json, report);
		if (parts->unlink)
			write_unlink(json, report);
	}
	if (report->delta)
		form_delta_json(json, report->delta);
	write_verdict(json, report);
	write_damage(json, report);
	if (report->quick.seconds)
		write_quick(json, &report->quick);
	json_close_object(json);
}

errcode_t form_json(const struct report *report, const struct form_parts *parts, FILE *stream)
{
	struct json json = { .stream = stream };

	form_json_object(&json, NULL, report, parts);
	return json_end(&json);
}
