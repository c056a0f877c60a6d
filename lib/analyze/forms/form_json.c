/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "analyze/forms/form_delta.h"
#include "analyze/forms/form_history.h"
#include "analyze/forms/forms.h"
#include "analyze/report/verdict.h"

static double block_kilobytes(const struct report *report)
{
	return report->filesystem.block_bytes / 1024.0;
}

static void write_filesystem(struct json *json, const struct report *report)
{
	const struct report_filesystem *filesystem = &report->filesystem;

	json_flat_object(
		json, "filesystem", JSON_TEXT("target", filesystem->target), JSON_TEXT("device", filesystem->device),
		JSON_COUNT("offset_bytes", filesystem->offset_bytes), JSON_TEXT("label", filesystem->label),
		JSON_TEXT("uuid", filesystem->uuid), JSON_COUNT("block_bytes", filesystem->block_bytes),
		JSON_COUNT("cluster_blocks", filesystem->cluster_blocks), JSON_COUNT("blocks", filesystem->blocks),
		JSON_COUNT("missing_blocks", filesystem->missing_blocks),
		JSON_COUNT("blocks_per_group", filesystem->blocks_per_group), JSON_COUNT("groups", filesystem->groups),
		JSON_COUNT("inodes", filesystem->inodes), JSON_COUNT("free_inodes", filesystem->free_inodes),
		JSON_COUNT("stride_blocks", filesystem->stride_blocks),
		JSON_COUNT("stripe_blocks", filesystem->stripe_blocks), JSON_BOOLEAN("mounted", filesystem->is_mounted),
		JSON_BOOLEAN("needs_recovery", filesystem->needs_recovery));
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
		json_row(json, NULL, JSON_COUNT(from_key, UINT64_C(1) << power), JSON_COUNT("count", count),
		         JSON_COUNT(sum_key, sum));
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
		json_members(json, JSON_COUNT("free_clusters", group->free_clusters),
		             JSON_COUNT("fragments", group->fragments), JSON_COUNT("first_free", group->first_free),
		             JSON_COUNT("largest_clusters", group->largest_clusters));
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

		json_row(json, NULL, JSON_COUNT("first_group", zone->first_group), JSON_COUNT("groups", zone->groups),
		         JSON_COUNT("blocks", zone->blocks), JSON_COUNT("free_blocks", zone->free_blocks),
		         JSON_COUNT("extents", zone->extents), JSON_COUNT("largest_blocks", zone->largest));
	}
	json_close_array(json);
}

static void write_free(struct json *json, const struct report *report, bool with_groups)
{
	const struct report_free *space = &report->free;
	const struct histogram *sizes = &space->sizes;
	double kilobytes = block_kilobytes(report);

	json_open_object(json, "free");
	json_members(json, JSON_COUNT("extents", sizes->count), JSON_COUNT("blocks", sizes->sum),
	             JSON_NUMBER("min_kb", (double)sizes->minimum * kilobytes, 0),
	             JSON_NUMBER("max_kb", (double)sizes->maximum * kilobytes, 0),
	             JSON_NUMBER("avg_kb", histogram_mean(sizes) * kilobytes, 1),
	             JSON_NUMBER("median_kb", (double)histogram_percentile(sizes, 50) * kilobytes, 0),
	             JSON_NUMBER("weighted_median_kb", (double)histogram_weighted_percentile(sizes, 50) * kilobytes, 0),
	             JSON_NUMBER("largest_allocatable_kb", (double)space->largest_allocatable * kilobytes, 0),
	             JSON_COUNT("largest_start", space->largest_start),
	             JSON_COUNT("superblock_free_blocks", space->superblock_free_blocks),
	             JSON_COUNT("reserved_blocks", space->reserved_blocks),
	             JSON_COUNT("unreadable_groups", space->unreadable_groups),
	             JSON_COUNT("unsettled_groups", space->unsettled_groups));
	if (space->chunk_blocks) {
		json_members(json, JSON_COUNT("chunk_blocks", space->chunk_blocks), JSON_COUNT("chunks", space->chunks),
		             JSON_COUNT("free_chunks", space->free_chunks));
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
	json_row(json, key, JSON_COUNT("jumps", seeks->jumps), JSON_COUNT("far", seeks->far),
	         JSON_COUNT("backward", seeks->backward));
}

/* Writes the members that files of all kinds have into the open object. */
static void write_sums(struct json *json, const struct report *report, const struct report_sums *sums)
{
	double files = sums->files ? (double)sums->files : 1;
	double extents = sums->counts.extents ? (double)sums->counts.extents : 1;

	json_members(json, JSON_COUNT("count", sums->files), JSON_COUNT("blocks", sums->counts.blocks),
	             JSON_COUNT("extents", sums->counts.extents), JSON_COUNT("ideal_extents", sums->ideal_extents),
	             JSON_COUNT("runs", sums->counts.runs), JSON_COUNT("records", sums->counts.records),
	             JSON_NUMBER("avg_extents", (double)sums->counts.extents / files, 3),
	             JSON_NUMBER("avg_extent_kb", (double)sums->counts.blocks / extents * block_kilobytes(report), 1),
	             JSON_COUNT("fragmented_files", sums->fragmented_files), JSON_COUNT("map_blocks", sums->map_blocks),
	             JSON_COUNT("unwritten_blocks", sums->counts.unwritten_blocks),
	             JSON_COUNT("unwritten_extents", sums->counts.unwritten_records),
	             JSON_COUNT("holes", sums->counts.holes));
	write_seeks(json, "seeks_inside", &sums->counts.seeks);
}

static void write_largest(struct json *json, const char *key, const struct largest_inodes *largest, bool has_names)
{
	json_open_array(json, key);
	for (unsigned int n = 0; n < largest->count; n++) {
		json_open_row(json, NULL);
		json_members(json, JSON_TEXT("path", largest->most[n].path), JSON_COUNT("inode", largest->most[n].ino),
		             JSON_COUNT("blocks", largest->most[n].blocks));
		if (has_names)
			json_unsigned(json, "entries", largest->most[n].names);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_files(struct json *json, const struct report *report)
{
	const struct report_files *files = &report->files;

	json_open_object(json, "files");
	write_sums(json, report, &files->regular);
	json_members(json, JSON_NUMBER("score", files->score, 2), JSON_NUMBER("ratio", files->ratio, 3));
	write_seeks(json, "seeks_between", &files->between);
	json_members(json, JSON_COUNT("inodes", files->inodes), JSON_COUNT("empty", files->empty),
	             JSON_COUNT("inline_data", files->inline_data), JSON_COUNT("by_extents", files->by_extents),
	             JSON_COUNT("by_indirect", files->by_indirect), JSON_COUNT("largest_depth", files->largest_depth),
	             JSON_COUNT("xattr_blocks", files->xattr_blocks), JSON_COUNT("owned_blocks", files->owned_blocks),
	             JSON_COUNT("slack_bytes", files->slack_bytes), JSON_COUNT("stripe_pieces", files->stripe_pieces),
	             JSON_COUNT("stripe_beginning", files->stripe_beginning));
	write_largest(json, "most_preallocated", &report->preallocated, false);
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
	json_members(json, JSON_COUNT("all", directories->count), JSON_COUNT("entries", directories->entries),
	             JSON_COUNT("inline_data", directories->inline_data), JSON_COUNT("linear", directories->linear),
	             JSON_COUNT("nearly_empty", directories->nearly_empty),
	             JSON_COUNT("nearly_empty_blocks", directories->nearly_empty_blocks));
	write_largest(json, "largest_nearly_empty", &report->nearly_empty, true);
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

		json_row(json, NULL, JSON_TEXT("path", file->path), JSON_COUNT("inode", file->ino),
		         JSON_COUNT("extents", file->extents), JSON_COUNT("ideal", file->ideal_extents),
		         JSON_COUNT("blocks", file->blocks), JSON_COUNT("runs", file->runs),
		         JSON_COUNT("records", file->records), JSON_COUNT("size_bytes", file->size_bytes),
		         JSON_TEXT("kind", file_kind_word(file->kind)));
	}
	json_close_array(json);
}

static void write_by_directory(struct json *json, const struct report *report)
{
	json_open_array(json, "by_directory");
	for (size_t n = 0; n < report->by_directory_count; n++) {
		const struct report_directory *directory = &report->by_directory[n];

		json_row(json, NULL, JSON_TEXT("path", directory->path), JSON_COUNT("inode", directory->ino),
		         JSON_COUNT("files", directory->files), JSON_COUNT("blocks", directory->blocks),
		         JSON_COUNT("extents", directory->extents), JSON_COUNT("ideal", directory->ideal_extents),
		         JSON_COUNT("runs", directory->runs), JSON_NUMBER("score", directory->score, 2));
	}
	json_close_array(json);
}

static void write_sharers(struct json *json, const struct report_shared_bitmap *shared)
{
	json_open_array(json, "most");
	for (unsigned int n = 0; n < REPORT_SHARERS && shared->most[n].files; n++) {
		json_row(json, NULL, JSON_TEXT("path", shared->most[n].path), JSON_COUNT("inode", shared->most[n].ino),
		         JSON_COUNT("files", shared->most[n].files));
	}
	json_close_array(json);
}

static void write_unlink_rows(struct json *json, const struct report_unlink *unlink)
{
	json_open_array(json, "costly");
	for (size_t n = 0; n < unlink->costly_count; n++) {
		const struct report_unlink_directory *row = &unlink->costly[n];

		json_row(json, NULL, JSON_TEXT("path", row->path), JSON_COUNT("inode", row->ino),
		         JSON_COUNT("files", row->files), JSON_COUNT("block_bitmaps", row->block_bitmaps),
		         JSON_COUNT("shared_bitmaps", row->shared_bitmaps),
		         JSON_COUNT("inode_bitmaps", row->inode_bitmaps), JSON_COUNT("writes", row->writes));
	}
	json_close_array(json);
	json_open_array(json, "shared");
	for (size_t n = 0; n < unlink->shared_count; n++) {
		json_open_row(json, NULL);
		json_members(json, JSON_COUNT("group", unlink->shared[n].group),
		             JSON_COUNT("directories", unlink->shared[n].directories));
		write_sharers(json, &unlink->shared[n]);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_unlink(struct json *json, const struct report *report)
{
	const struct report_unlink *unlink = report->unlink;

	json_open_object(json, "unlink");
	json_members(json, JSON_COUNT("batch_files", unlink->batch_files),
	             JSON_COUNT("directories", unlink->directories), JSON_COUNT("files", unlink->files),
	             JSON_COUNT("block_bitmaps", unlink->block_bitmaps),
	             JSON_COUNT("inode_bitmaps", unlink->inode_bitmaps), JSON_COUNT("writes", unlink->writes),
	             JSON_COUNT("shared_bitmaps", unlink->shared_bitmaps));
	write_unlink_rows(json, unlink);
	json_close_object(json);
}

static void write_kind(struct json *json, const char *key, const struct report_kind *kind)
{
	json_row(json, key, JSON_COUNT("files", kind->files), JSON_COUNT("large_files", kind->large_files),
	         JSON_COUNT("blocks", kind->blocks));
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
		json_members(json, JSON_NUMBER("score", verdict->score, 2),
		             JSON_TEXT("score_words", score_band_words(verdict->band)));
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
		json_members(json, JSON_TEXT("what", damage->first[n].what), JSON_COUNT("inode", damage->first[n].ino),
		             JSON_COUNT("block", damage->first[n].block));
		if (damage->first[n].is_of_group)
			json_unsigned(json, "group", damage->first[n].group);
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
}

static void write_quick(struct json *json, const struct report_quick *quick)
{
	json_flat_object(json, "quick", JSON_COUNT("most_seconds", quick->seconds),
	                 JSON_COUNT("most_bytes", quick->most_bytes), JSON_COUNT("read_bytes", quick->read_bytes),
	                 JSON_COUNT("groups_left_out", quick->groups),
	                 JSON_COUNT("inodes_in_use", quick->inodes_in_use),
	                 JSON_COUNT("inodes_left_out", quick->inodes), JSON_COUNT("files_left_out", quick->files));
}

static void write_outlook(struct json *json, const struct report *report)
{
	const struct report_outlook *outlook = report->outlook;
	const struct histogram *sizes = &outlook->free.sizes;
	double kilobytes = block_kilobytes(report);

	json_open_object(json, "outlook");
	json_members(json, JSON_COUNT("worst_files", outlook->worst_files),
	             JSON_NUMBER("worst_score", outlook->worst_score, 2),
	             JSON_COUNT("scattered_files", outlook->scattered_files),
	             JSON_NUMBER("scattered_score", outlook->scattered_score, 2));
	if (outlook->asked_blocks)
		json_members(json, JSON_COUNT("asked_blocks", outlook->asked_blocks),
		             JSON_COUNT("deleted_files", outlook->deleted_files),
		             JSON_COUNT("deleted_blocks", outlook->deleted_blocks),
		             JSON_COUNT("free_blocks", sizes->sum), JSON_COUNT("free_extents", sizes->count),
		             JSON_NUMBER("free_weighted_median_kb",
		                         (double)histogram_weighted_percentile(sizes, 50) * kilobytes, 0),
		             JSON_NUMBER("free_max_kb", (double)sizes->maximum * kilobytes, 0),
		             JSON_NUMBER("largest_allocatable_kb",
		                         (double)outlook->free.largest_allocatable * kilobytes, 0));
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
	if (report->outlook)
		write_outlook(json, report);
	if (report->history)
		form_history_json(json, report, parts);
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
