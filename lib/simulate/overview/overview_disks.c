/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/overview/overview_disks.h"

#include <errno.h>
#include <string.h>

#include "analyze/analyze.h"
#include "analyze/read/filesystem.h"
#include "simulate/image/image.h"
#include "simulate/simulate.h"
#include "support/text/units.h"

/* Options of the workload `age` for each disk. */
static const struct {
	const char *suffix;
	const char *title;
	unsigned int fill, churn; /* 0: not aged */
} kinds[OVERVIEW_DISKS] = {
	{ "", "fresh", 0, 0 },
	{ "-half-full", "half full", SIMULATE_HALF_FULL_FILL, SIMULATE_HALF_FULL_CHURN },
	{ "-aged", "aged", 85, 6 },
};

/* Reads the image as it was made, for the headings. */
static errcode_t look_at(struct overview_disk *disk, struct problem *problem)
{
	const struct analyze_options options = { .without_files = true };
	struct report report = { 0 };
	struct volume volume;
	errcode_t error = volume_open(disk->output.work_path, 0, &volume, problem);

	if (error)
		return error;
	report_filesystem_describe(&volume, &report.filesystem);
	error = analyze(&volume, &options, &report, problem);
	disk->filesystem = report.filesystem;
	disk->free_blocks = report.free.sizes.sum;
	disk->free_extents = report.free.sizes.count;
	report_destroy(&report);
	volume_close(&volume);
	return error;
}

static errcode_t make_disk(struct overview_disk *disk, unsigned int kind, const char *size,
                           struct simulate_options *options, struct problem *problem)
{
	char *const mke2fs[] = { (char *)"-text4", (char *)"-Oorphan_file",
		                 (char *)"-Ehash_seed=00000000-0000-4000-8000-000000000000", NULL };
	errcode_t error = image_make(disk->path, size, mke2fs, false, &disk->output, problem);

	options->image = disk->path;
	options->image_file = disk->output.work_path;
	if (!error && kinds[kind].fill)
		error = simulate_age(options, kinds[kind].fill, kinds[kind].churn, problem);
	return error ? error : look_at(disk, problem);
}

errcode_t overview_disks_make(struct overview_disks *disks, const char *directory, const char *size, uint64_t seed,
                              struct progress *progress, struct problem *problem)
{
	struct simulate_options options = { .seed = seed, .progress = progress };
	errcode_t error = 0;

	disks->count = 0;
	while (!error && disks->count < OVERVIEW_DISKS) {
		unsigned int kind = disks->count;
		struct overview_disk *disk = &disks->list[kind];

		if (asprintf(&disk->path, "%s/allocsim%s.img", directory, kinds[kind].suffix) < 0)
			return problem_set(problem, ENOMEM, directory, "cannot make a report");
		disks->count++;
		error = make_disk(disk, kind, size, &options, problem);
	}
	return error;
}

void overview_disks_close(struct overview_disks *disks)
{
	for (unsigned int number = 0; number < disks->count; number++) {
		output_close(&disks->list[number].output);
		free(disks->list[number].path);
	}
	disks->count = 0;
}

const char *overview_disk_title(unsigned int disk)
{
	return kinds[disk].title;
}

void overview_disks_print(const struct overview_disks *disks, FILE *stream, const char *size)
{
	fputs("| disk | size | blocks of | groups | in use | free extents |\n|---|---:|---:|---:|---:|---:|\n", stream);
	for (unsigned int number = 0; number < disks->count; number++) {
		const struct overview_disk *disk = &disks->list[number];
		const struct report_filesystem *filesystem = &disk->filesystem;

		fprintf(stream, "| %s | %s | %u bytes | %u | %.1f %% | %llu |\n", kinds[number].title,
		        units_bytes(filesystem->blocks * filesystem->block_bytes).text, filesystem->block_bytes,
		        filesystem->groups,
		        100.0 * (double)(filesystem->blocks - disk->free_blocks) / (double)filesystem->blocks,
		        (unsigned long long)disk->free_extents);
	}
	fprintf(stream, "\n    truncate -s %s disk && mke2fs -q -F -t ext4 -O orphan_file disk    # %s\n", size,
	        kinds[0].title);
	for (unsigned int kind = 0; kind < OVERVIEW_DISKS; kind++)
		if (kinds[kind].fill)
			fprintf(stream,
			        "    e2allocsim age --in-place --policy=series --fill=%u --churn=%u disk    # %s\n",
			        kinds[kind].fill, kinds[kind].churn, kinds[kind].title);
}

static void print_row(FILE *stream, const char *section, const char *key, size_t row,
                      const struct simulate_options *options, struct measurement *const on_disk[OVERVIEW_DISKS])
{
	fprintf(stream, "| %s%s%s", section ? section : "", section ? ", " : "", options->configurations[row].name);
	for (unsigned int disk = 0; disk < OVERVIEW_DISKS; disk++) {
		const struct result_value *value = result_find(&on_disk[disk][row].result, section, key);
		char text[RESULT_TEXT_BYTES];

		fprintf(stream, " | %s", value ? result_format(value, text) : "-");
	}
	fputs(" |\n", stream);
}

void overview_disks_table(FILE *stream, const char *key, const struct simulate_options *options,
                          struct measurement *const on_disk[OVERVIEW_DISKS])
{
	const struct result *first = &on_disk[0][0].result;
	bool has_head = false;

	for (unsigned int number = 0; number < first->count; number++) {
		const struct result_value *value = &first->values[number];

		if (strcmp(value->key, key) != 0)
			continue;
		if (!has_head) {
			fprintf(stream, "| %s (%s)", value->label, result_kind_name(value->kind));
			for (unsigned int disk = 0; disk < OVERVIEW_DISKS; disk++)
				fprintf(stream, " | %s", kinds[disk].title);
			fputs(" |\n|---|---:|---:|---:|\n", stream);
		}
		has_head = true;
		for (size_t row = 0; row < options->configuration_count; row++)
			print_row(stream, value->section, key, row, options, on_disk);
	}
	fputs("\n", stream);
}
