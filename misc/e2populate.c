/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2populate: reads options, and prints one report or one message. The work is in lib/populate. */
#include <blkid/blkid.h>
#include <endian.h>
#include <errno.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2mb_version.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyze/forms/form_delta.h"
#include "doctor.h"
#include "e2populate_options.h"
#include "layer_cache_command.h"
#include "oci_config_option.h"
#include "populate/populate.h"
#include "run_files_json.h"
#include "support/io/whole_io.h"
#include "support/run/interrupt.h"
#include "support/run/program.h"
#include "support/text/json.h"
#include "support/text/units.h"
#include "support/utf8.h"
#include "tree/verity.h"

#define SUPERBLOCK_BYTES 1024 /* from the beginning */

const char *tool_name = "e2populate";

/* --- Overwriting: like mke2fs(8), look at what is there, and ask at the terminal ------------------------------ */

static void print_time(const char *what, uint32_t seconds)
{
	time_t time = seconds;

	putchar('\t');
	utf8_print(what, stdout);
	/* ctime() ends with a newline. */
	printf(" on %s", ctime(&time));
}

/* Prints when the filesystem was last used. */
static void print_history(const char *path)
{
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	struct ext2_super_block super;
	char what[128];

	if (descriptor < 0 || pread(descriptor, &super, sizeof(super), SUPERBLOCK_BYTES) != sizeof(super) ||
	    le16toh(super.s_magic) != EXT2_SUPER_MAGIC)
		return;
	snprintf(what, sizeof(what), "last mounted%s%.64s", super.s_last_mounted[0] ? " on " : "",
	         (const char *)super.s_last_mounted);
	if (super.s_mtime)
		print_time(what, le32toh(super.s_mtime));
	else if (super.s_mkfs_time)
		print_time("created", le32toh(super.s_mkfs_time));
	else if (super.s_wtime)
		print_time("last modified", le32toh(super.s_wtime));
}

static const char *value_of(blkid_probe probe, const char *key)
{
	const char *value;

	return blkid_probe_lookup_value(probe, key, &value, NULL) == 0 ? value : NULL;
}

/* Prints what path holds; false: nothing that libblkid knows. */
static bool print_content(const char *path, blkid_probe probe)
{
	const char *type = value_of(probe, "TYPE"), *label = value_of(probe, "LABEL");
	const char *table = value_of(probe, "PTTYPE");

	if (!type && !table)
		return false;
	utf8_print(path, stdout);
	if (!type) {
		printf(" contains a %s partition table\n", table);
		return true;
	}
	printf(" contains a %s file system", type);
	if (label) {
		fputs(" labelled '", stdout);
		utf8_print(label, stdout);
		putchar('\'');
	}
	putchar('\n');
	print_history(path);
	return true;
}

static bool ask(void)
{
	char answer[16];

	fputs("Proceed anyway? (y,N) ", stdout);
	fflush(stdout);
	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/*
 * True if path holds nothing that libblkid knows, if standard input or output is not a terminal (as for mke2fs), or
 * if the answer is yes. A file that is made anew is not asked about: cp(1) does not ask either.
 */
static bool existing_may_go(const char *path, bool is_kept)
{
	struct stat status;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return true;
	if (!is_kept && (stat(path, &status) < 0 || !S_ISBLK(status.st_mode)))
		return true;
	blkid_probe probe = blkid_new_probe_from_filename(path);

	/* If it cannot be opened, writing to it fails later with the reason. */
	if (!probe)
		return true;
	blkid_probe_enable_partitions(probe, 1);
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL);
	bool found = blkid_do_fullprobe(probe) >= 0 && print_content(path, probe);

	blkid_free_probe(probe);
	return !found || ask();
}

static bool outputs_may_go(const struct populate_options *options)
{
	const struct dm_verity_options *verity = &options->dm_verity;

	return existing_may_go(options->image, options->in_place || options->offset_bytes) &&
	       (!verity->target || verity->is_appended || existing_may_go(verity->target, false));
}

/* --- The report --------------------------------------------------------------------------------------------------- */

static void report_print_size(const struct populate_options *options, const struct populate_report *report)
{
	utf8_print(options->image, stdout);
	printf(": %" PRIu64 " bytes: %" PRIu64 " blocks of %" PRIu32 " bytes, %" PRIu32 " inodes\n",
	       report->image_bytes, report->blocks, report->block_bytes, report->image_inodes);
	if (!report->dm_verity.algorithm)
		return;
	utf8_print(options->dm_verity.is_appended ? options->image : options->dm_verity.target, stdout);
	printf(": %" PRIu64 " bytes of hashes for dm-verity%s\n", report->dm_verity.bytes,
	       options->dm_verity.is_appended ? " after the filesystem" : "");
}

static void report_print_dm_verity(const struct populate_options *options, const struct populate_dm_verity *verity)
{
	printf("dm-verity: %s of hashes ", units_bytes(verity->bytes).text);
	if (options->dm_verity.is_appended) {
		printf("after the filesystem, at byte %" PRIu64 "\n", verity->offset_bytes);
	} else {
		fputs("in ", stdout);
		utf8_print(options->dm_verity.target, stdout);
		putchar('\n');
	}
	printf("root hash: %s\n", verity->root_hash);
}

static void report_print_likeness(const struct populate_likeness *likeness, const char *source)
{
	if (*likeness->uuid) {
		printf("UUID %s is that of ", likeness->uuid);
		utf8_print(source, stdout);
		puts(", too (--like)");
	}
	if (likeness->preallocated_files)
		printf("%" PRIu64 " file%s preallocated blocks\n", likeness->preallocated_files,
		       likeness->preallocated_files == 1 ? " keeps its" : "s keep their");
	for (uint32_t i = 0; i < likeness->lost_count; i++) {
		if (!i) {
			fputs("not kept of ", stdout);
			utf8_print(source, stdout);
			fputs(": ", stdout);
		}
		printf("%s%s", likeness->lost[i], i + 1 < likeness->lost_count ? ", " : "\n");
	}
}

static void report_print(const struct populate_options *options, const struct populate_report *report)
{
	utf8_print(options->image, stdout);
	printf(": %s, of which %s are free", units_bytes(report->image_bytes).text,
	       units_bytes(report->free_blocks * report->block_bytes).text);
	if (options->free_bytes || options->free_percent || options->free_inodes)
		printf(", with %" PRIu64 " inode%s", report->free_inodes, units_plural(report->free_inodes));
	putchar('\n');
	printf("%" PRIu64 " name%s, %" PRIu64 " inode%s, %s of data\n", report->names, units_plural(report->names),
	       report->inodes, units_plural(report->inodes), units_bytes(report->data_bytes).text);
	for (uint32_t i = 0; report->source_count > 1 && i < report->source_count; i++) {
		fputs("  ", stdout);
		utf8_print(report->sources[i].path, stdout);
		printf(": %" PRIu64 " name%s, %s of data\n", report->sources[i].names,
		       units_plural(report->sources[i].names), units_bytes(report->sources[i].data_bytes).text);
	}
	if (report->regular_files)
		printf("%" PRIu64 " file%s with data in %" PRIu64 " extent%s: %.3f extents per file\n",
		       report->regular_files, units_plural(report->regular_files), report->data_extents,
		       units_plural(report->data_extents),
		       (double)report->data_extents / (double)report->regular_files);
	if (report->flagged_files)
		printf("%" PRIu64 " files have file flags\n", report->flagged_files);
	if (report->protected_count)
		printf("%" PRIu64 " file%s protected by fs-verity\n", report->protected_count,
		       report->protected_count == 1 ? " is" : "s are");
	if (report->labelled)
		printf("%" PRIu64 " files have SELinux labels\n", report->labelled);
	if (report->shared_bytes)
		printf("%s of data share blocks with the source\n", units_bytes(report->shared_bytes).text);
	else if (options->layer_cache.path && options->reflink != REFLINK_NEVER && report->data_bytes)
		puts("no data share blocks with the layer cache: both must be on one XFS or btrfs");
	if (report->links.followed)
		printf("%" PRIu64 " director%s put where a symbolic link leads\n", report->links.followed,
		       report->links.followed == 1 ? "y" : "ies");
	if (report->likeness.is_like)
		report_print_likeness(&report->likeness, report->sources[0].path);
	if (report->zero_blocks)
		printf("%" PRIu64 " block%s of zeros became holes\n", report->zero_blocks,
		       units_plural(report->zero_blocks));
	if (report->dm_verity.algorithm)
		report_print_dm_verity(options, &report->dm_verity);
	if (report->delta.old_path)
		form_delta_text(&report->delta, "against ", stdout);
	if (report->verified)
		puts("verified: e2fsck finds nothing, and all is as in the source");
}

static void write_image(struct json *json, const struct populate_options *options, const struct populate_report *report)
{
	json_flat_object(json, "image", JSON_TEXT("path", options->image), JSON_COUNT("bytes", report->image_bytes),
	                 JSON_COUNT("block_bytes", report->block_bytes), JSON_COUNT("blocks", report->blocks),
	                 JSON_COUNT("free_blocks", report->free_blocks),
	                 JSON_COUNT("reserved_blocks", report->reserved_blocks),
	                 JSON_COUNT("journal_blocks", report->journal_blocks),
	                 JSON_COUNT("inodes", report->image_inodes), JSON_COUNT("free_inodes", report->free_inodes));
}

static void write_content(struct json *json, const struct populate_options *options,
                          const struct populate_report *report)
{
	json_open_object(json, "content");
	json_members(json, JSON_COUNT("names", report->names), JSON_COUNT("inodes", report->inodes),
	             JSON_COUNT("data_bytes", report->data_bytes));
	if (options->labels.file_contexts)
		json_unsigned(json, "labelled_files", report->labelled);
	/* The rest is known once everything has been read and written. */
	if (!options->size_only)
		json_members(json, JSON_COUNT("files_with_data", report->regular_files),
		             JSON_COUNT("data_blocks", report->data_blocks),
		             JSON_COUNT("data_extents", report->data_extents),
		             JSON_COUNT("zero_blocks", report->zero_blocks),
		             JSON_COUNT("shared_bytes", report->shared_bytes),
		             JSON_COUNT("files_with_flags", report->flagged_files));
	json_close_object(json);
}

static void write_source(struct json *json, const struct populate_source *source, bool has_cache)
{
	static const char *const uses[] = {
		[LAYER_NOT_CACHED] = "none", [LAYER_MADE] = "made", [LAYER_CACHED] = "cached"
	};

	json_open_row(json, NULL);
	json_members(json, JSON_TEXT("path", source->path), JSON_COUNT("names", source->names),
	             JSON_COUNT("data_bytes", source->data_bytes));
	if (has_cache)
		json_members(json, JSON_TEXT("layer_cache", uses[source->cache_use]),
		             JSON_COUNT("layer_bytes", source->pack_bytes));
	json_close_object(json);
}

/* What the cache did is told only where there is one. */
static void write_sources(struct json *json, const struct populate_report *report, bool has_cache)
{
	json_open_array(json, "sources");
	for (uint32_t i = 0; i < report->source_count; i++)
		write_source(json, &report->sources[i], has_cache);
	json_close_array(json);
}

/* Only of an image that is like its source. */
static void write_likeness(struct json *json, const struct populate_likeness *likeness)
{
	if (!likeness->is_like)
		return;
	json_open_object(json, "like");
	if (*likeness->uuid)
		json_string(json, "uuid", likeness->uuid);
	json_unsigned(json, "preallocated_files", likeness->preallocated_files);
	json_open_array(json, "not_kept");
	for (uint32_t i = 0; i < likeness->lost_count; i++)
		json_string(json, NULL, likeness->lost[i]);
	json_close_array(json);
	json_close_object(json);
}

/* Only where a hash tree was asked for. */
static void write_dm_verity(struct json *json, const struct populate_options *options,
                            const struct populate_dm_verity *verity)
{
	if (!verity->algorithm)
		return;
	json_open_object(json, "dm_verity");
	json_string(json, "path", options->dm_verity.is_appended ? options->image : options->dm_verity.target);
	if (*verity->root_hash)
		json_string(json, "root_hash", verity->root_hash);
	json_string(json, "algorithm", verity->algorithm);
	json_string(json, "salt", verity->salt);
	json_string(json, "uuid", verity->uuid);
	json_members(json, JSON_COUNT("data_block_bytes", verity->data_block_bytes),
	             JSON_COUNT("data_blocks", verity->data_blocks),
	             JSON_COUNT("hash_block_bytes", verity->hash_block_bytes),
	             JSON_COUNT("hash_offset", verity->offset_bytes), JSON_COUNT("bytes", verity->bytes));
	json_close_object(json);
}

/* Only images that have such files have this key. */
static void write_protected(struct json *json, const struct populate_report *report)
{
	if (!report->protected_count)
		return;
	json_open_array(json, "verity");
	for (uint64_t i = 0; i < report->protected_count; i++) {
		const struct populate_protected *file = &report->protected_files[i];
		char digest[TREE_VERITY_TEXT_BYTES];

		tree_verity_text(file->algorithm, file->digest, digest);
		json_row(json, NULL, JSON_TEXT("path", file->path), JSON_TEXT("digest", digest),
		         JSON_COUNT("block_bytes", UINT64_C(1) << file->block_bits));
	}
	json_close_array(json);
}

static void write_stages(struct json *json, const double *seconds, unsigned int stages)
{
	for (unsigned int stage = 0; stage < stages; stage++)
		json_number(json, populate_stage_names[stage], seconds[stage], 3);
}

static void write_times(struct json *json, const char *key, const double *seconds, unsigned int stages)
{
	json_open_object(json, key);
	write_stages(json, seconds, stages);
	json_close_object(json);
}

/* The keys are those of e2populate(8). */
static errcode_t report_print_json(const struct populate_options *options, const struct populate_report *report,
                                   struct run_files *files)
{
	struct json json = { .stream = stdout };
	unsigned int shown = options->size_only ? POPULATE_FORMAT + 1 :
	                     options->verify    ? POPULATE_STAGES :
	                                          POPULATE_VERIFY;

	json_open_object(&json, NULL);
	json_boolean(&json, "size_only", options->size_only);
	write_image(&json, options, report);
	write_content(&json, options, report);
	write_sources(&json, report, options->layer_cache.path);
	write_likeness(&json, &report->likeness);
	write_dm_verity(&json, options, &report->dm_verity);
	write_protected(&json, report);
	if (report->delta.old_path)
		form_delta_json(&json, &report->delta);
	json_members(&json, JSON_COUNT("links_followed", report->links.followed),
	             JSON_COUNT("links_replaced", report->links.replaced),
	             JSON_COUNT("warnings", report->warnings.count), JSON_BOOLEAN("verified", report->verified),
	             JSON_BOOLEAN("skipped_image", report->skipped[SCAN_IMAGE]));
	write_times(&json, "seconds", report->seconds, shown);
	write_times(&json, "serial_seconds", report->serial_seconds, shown);
	json_open_array(&json, "workers");
	for (unsigned int worker = 0; worker < report->worker_count; worker++) {
		json_open_row(&json, NULL);
		write_stages(&json, report->worker_seconds[worker], shown);
		json_close_object(&json);
	}
	json_close_array(&json);
	errcode_t error = run_files_json(&json, files);

	json_close_object(&json);
	errcode_t stream_error = json_end(&json);

	return error ? error : stream_error;
}

/*
 * Called after all reports: flushes standard output. If that fails, or error is set, one message says so, and that
 * the image is there nevertheless. Returns the error.
 */
static errcode_t report_end(const struct populate_options *options, errcode_t error)
{
	if (!error)
		error = flush_output(stdout);
	if (error && options->size_only)
		print_output_failure(error);
	else if (error)
		print_failure(error, options->image, "the image is whole, but its report cannot be written");
	return error;
}

static void report_print_skipped(const struct populate_options *options, const struct populate_report *report)
{
	const char *const paths[SCAN_OUTPUTS] = {
		[SCAN_IMAGE] = options->image,
		[SCAN_HASH_TREE] = options->dm_verity.target,
		[SCAN_ROOT_HASH] = options->dm_verity.root_hash_path,
	};

	for (int output = 0; output < SCAN_OUTPUTS; output++)
		if (report->skipped[output])
			print_failure_reason(EINVAL, paths[output], NULL, "is in its own source and is left out");
}

/* Prints what mke2fs has printed. */
static void report_print_file(int descriptor, FILE *stream)
{
	char bytes[4096];
	ssize_t got;

	for (off_t at = 0; (got = pread(descriptor, bytes, sizeof(bytes), at)) > 0; at += got)
		fwrite(bytes, 1, (size_t)got, stream);
}

/* --- The run ------------------------------------------------------------------------------------------------------ */

/* Opens a file for the output of mke2fs; 0: it cannot be opened. */
static int open_mke2fs_output(void)
{
	int descriptor = memfd_create("mke2fs", MFD_CLOEXEC);

	return descriptor < 0 ? 0 : descriptor;
}

/*
 * The log of a builder that calls mke2fs shows who answered. mke2fs prints its version on standard error unless it is
 * to be quiet, so programs that read what it prints expect a line there.
 */
static void print_maker(const struct command *command)
{
	if (is_stand_in(command) && !command->quiet && !command->options.size_only)
		fprintf(stderr, "%s: made by e2populate %s\n", tool_name, EXT2MB_VERSION_STRING);
}

static int run(struct command *command)
{
	struct problem problem = { 0 };
	struct populate_report report = { 0 };

	command->files.names_outputs_only = !command->json;
	if (command->verbose && !command->quiet && !command->options.size_only)
		command->options.mke2fs_output = open_mke2fs_output();
	struct run_files *files = &command->files;
	errcode_t error = progress_start(stderr, command->progress, &command->options.progress);

	if (!error)
		error = against_name_ranges(&command->against, files);
	if (!error)
		error = populate(&command->options, files, &report, &problem);
	else
		problem_set(&problem, error, NULL, "cannot show progress");
	progress_end(command->options.progress);
	if (error) {
		populate_report_clear(&report);
		return print_problem(&problem);
	}
	print_maker(command);
	for (size_t i = 0; i < report.warnings.count; i++)
		print_problem(&report.warnings.list[i]);
	report_print_skipped(&command->options, &report);
	run_files_print_left_out(files);
	if (command->options.mke2fs_output)
		report_print_file(command->options.mke2fs_output, command->json ? stderr : stdout);
	errcode_t text_error = against_write_ranges(&command->against, command->options.image, &report.delta, &problem);

	if (!text_error)
		text_error = oci_config_write(&command->options, &report, &problem);
	if (command->json)
		error = report_print_json(&command->options, &report, files);
	else if (command->options.size_only)
		report_print_size(&command->options, &report);
	else if (!command->quiet)
		report_print(&command->options, &report);
	populate_report_clear(&report);
	if (text_error)
		return print_problem(&problem);
	return report_end(&command->options, error) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* --list-inputs=json: makes nothing. */
static int list_inputs(struct command *command)
{
	struct problem problem = { 0 };
	errcode_t error = against_name_ranges(&command->against, &command->files);

	if (!error)
		error = populate_look(&command->options, &command->files, &problem);
	return run_files_end(&command->files, error, &problem);
}

/* Invoked as mkfs.extN: take the type from our name. Messages begin with the name that the caller used. */
static void use_name(const char *name, struct command *command)
{
	static const char *const types[] = { "ext2", "ext3", "ext4" };

	command->is_mke2fs = strcmp(name, "mke2fs") == 0;
	for (size_t type = 0; type < sizeof(types) / sizeof(*types); type++)
		if (strncmp(name, "mkfs.", 5) == 0 && strcmp(name + 5, types[type]) == 0)
			command->type = types[type];
	if (is_stand_in(command))
		tool_name = name;
}

/* Invoked by one of mke2fs's names and without -d: run mke2fs itself. */
static int become_mke2fs(const struct command *command, char *name, char **arguments)
{
	SCOPE_FREE char *path = NULL;

	arguments[0] = command->type ? name : (char *)"mke2fs";
	errcode_t error = program_find(arguments[0], &path);
	if (error == ENOENT)
		error = program_find("mke2fs", &path);
	if (!error) {
		execv(path, arguments);
		error = errno;
	}
	return print_failure(error, "mke2fs", "cannot run");
}

/* Every thread has up to four descriptors: with 256 processors the usual limit, 1024, is too low. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int end(struct command *command, int status)
{
	command_free(command);
	if (status != EXIT_SUCCESS)
		interrupt_die();
	return status;
}

int main(int argument_count, char **arguments)
{
	struct command command = { .progress = PROGRESS_AUTO,
		                   .options.threads = default_threads(),
		                   .options.limits = { .path_bytes = SOURCE_LIMITS_PATH_BYTES,
		                                       .names = SOURCE_LIMITS_NAMES,
		                                       .unpacked_bytes = SOURCE_LIMITS_UNPACKED_BYTES } };
	char *name = argument_count > 0 ? basename(arguments[0]) : (char *)"";

	use_name(name, &command);
	tool_start();
	if (argument_count < 2 && !is_stand_in(&command))
		usage_error("-d SOURCE and IMAGE are missing" SEE_HELP);
	if (is_stand_in(&command) && !command_is_ours(argument_count, arguments))
		return become_mke2fs(&command, name, arguments);
	raise_descriptor_limit();
	command_parse(argument_count, arguments, &command);
	if (layer_cache_is_all(&command)) {
		interrupt_install();
		return end(&command, layer_cache_run(&command));
	}
	if (command.is_examination) {
		interrupt_install();
		return end(&command, doctor_run(&command));
	}
	if (command.lists_inputs) {
		interrupt_install();
		return end(&command, list_inputs(&command));
	}
	if (!command.force && !command.options.size_only && !outputs_may_go(&command.options)) {
		command_free(&command);
		return EXIT_FAILURE;
	}
	interrupt_install();
	return end(&command, run(&command));
}
