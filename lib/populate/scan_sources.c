/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/scan_sources.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/format/likeness.h"
#include "populate/format/mke2fs.h"
#include "populate/plan/base_image.h"
#include "populate/plan/encrypted.h"
#include "populate/protect_tree.h"
#include "populate/size/projects_wanted.h"
#include "source/image/image_recognition.h"
#include "source/labels/labels.h"
#include "source/pack/layer_cache.h"
#include "source/reading.h"
#include "source/manifest/metadata.h"
#include "tree/xattr_table.h"
#include "unpack/unpacked_store.h"

static uint64_t data_bytes(const struct tree_node *node)
{
	uint64_t bytes = 0;

	if (!node->is_sparse)
		return node->size_bytes;
	for (uint32_t i = 0; i < node->data_map->count; i++)
		bytes += node->data_map->segments[i].length_bytes;
	return bytes;
}

static errcode_t list_sources(const struct tree *tree, struct populate_report *report)
{
	/* Origins are in the order of their sources. */
	uint32_t count = tree->origins[tree->origin_count - 1].source + 1;

	report->sources = calloc(count, sizeof(*report->sources));
	if (!report->sources)
		return ENOMEM;
	report->source_count = count;
	for (uint32_t i = 0; i < tree->origin_count; i++) {
		struct populate_source *source = &report->sources[tree->origins[i].source];

		if (!source->path)
			source->path = strdup(tree->origins[i].path);
		if (!source->path)
			return ENOMEM;
	}
	return 0;
}

/* Counts all nodes, in one part of them at a time. */
struct tally {
	const struct tree *tree;
	struct populate_source *sources;
};

static void add_to_source(struct populate_source *source, const struct populate_source *more)
{
	__atomic_fetch_add(&source->names, more->names, __ATOMIC_RELAXED);
	__atomic_fetch_add(&source->data_bytes, more->data_bytes, __ATOMIC_RELAXED);
}

static errcode_t tally_sources(void *context, unsigned int worker, size_t task, struct problem *problem)
{
	const struct tally *tally = context;
	const struct tree *tree = tally->tree;
	struct node_range nodes = node_task(tally->tree, task);
	struct populate_source found = { 0 };
	uint32_t origin = tree->nodes[nodes.first].origin;

	(void)worker;
	(void)problem;
	for (uint32_t number = nodes.first; number < nodes.end; number++) {
		const struct tree_node *node = &tree->nodes[number];

		if (node->origin != origin) {
			add_to_source(&tally->sources[tree->origins[origin].source], &found);
			found = (struct populate_source){ 0 };
			origin = node->origin;
		}
		found.names += number != TREE_ROOT;
		if (S_ISREG(node->mode) && !tree_node_is_link(tree, number))
			found.data_bytes += data_bytes(node);
	}
	add_to_source(&tally->sources[tree->origins[origin].source], &found);
	return 0;
}

static errcode_t report_sources(const struct scanned *scanned, const struct workplace *work,
                                struct populate_report *report)
{
	errcode_t error = list_sources(scanned->tree, report);
	struct tally tally = { scanned->tree, report->sources };

	return error ? error :
	               pool_run(work->pool, node_task_count(scanned->tree), tally_sources, &tally, work->problem);
}

static errcode_t tally_inodes(void *context, unsigned int worker, size_t task, struct problem *problem)
{
	struct scanned *scanned = context;
	struct node_range nodes = node_task(scanned->tree, task);
	uint32_t inodes = 0;

	(void)worker;
	(void)problem;
	for (uint32_t node = nodes.first; node < nodes.end; node++)
		inodes += !tree_node_is_link(scanned->tree, node);
	__atomic_fetch_add(&scanned->inode_count, inodes, __ATOMIC_RELAXED);
	return 0;
}

static errcode_t set_root_permissions(struct scanned *scanned, const struct workplace *work, const char *text)
{
	struct tree_node *root = &scanned->tree->nodes[TREE_ROOT];
	size_t digits = strspn(text, "01234567");

	if (!digits || digits > 5 || text[digits] || strtoul(text, NULL, 8) > 07777)
		return problem_set_reason(work->problem, EINVAL, "-E root_perms", "cannot set permissions",
		                          "\"%s\" is not an octal number up to 7777", text);
	root->mode = (uint16_t)((root->mode & S_IFMT) | strtoul(text, NULL, 8));
	return 0;
}

/* The value ends in a NUL, as setfilecon(3) writes it. */
static errcode_t set_root_label(struct scanned *scanned, const struct workplace *work, const char *text)
{
	struct tree *tree = scanned->tree;
	char *label = arena_copy_string(&tree->memory, text, strlen(text));
	const struct tree_xattr xattr = { TREE_LABEL_XATTR, label, (uint32_t)strlen(text) + 1 };

	if (!*text)
		return problem_set_reason(work->problem, EINVAL, "-E root_selinux", "cannot set label", "it is empty");
	errcode_t error =
		label ? xattr_sets_add(tree, tree->nodes[TREE_ROOT].xattrs, &xattr, &tree->nodes[TREE_ROOT].xattrs) :
			ENOMEM;

	if (!error)
		error = xattr_sets_unify(tree);
	return error ? problem_set(work->problem, error, "-E root_selinux", "cannot set label") : 0;
}

static errcode_t apply_extended(struct scanned *scanned, const struct workplace *work, const char *name,
                                errcode_t (*apply)(struct scanned *scanned, const struct workplace *work,
                                                   const char *text))
{
	SCOPE_FREE char *text = NULL;

	if (!extended_has(work->options->extended, name))
		return 0;
	errcode_t error = extended_value(work->options->extended, name, &text);

	if (error)
		return problem_set(work->problem, error, NULL, "cannot read -E");
	return apply(scanned, work, text);
}

/* A file's label in the manifest overrides the rules, which label the files that the manifest makes. */
static errcode_t apply_metadata(struct scanned *scanned, const struct workplace *work, struct labels *labels,
                                struct populate_report *report)
{
	errcode_t error = metadata_apply(work->options->metadata, &scanned->tree, work->pool, work->problem);

	if (error || !labels || !work->options->labels.file_contexts)
		return error;
	return labels_apply(labels, scanned->tree, true, work->pool, &report->labelled, work->problem);
}

/*
 * Options override the source, in this order: owners, fs-verity, SELinux's rules, the manifest, then the root
 * directory's permissions and SELinux label. (Its owner is taken from the formatted filesystem, since mke2fs may choose
 * it.) Later options win. labels may be NULL.
 */
static errcode_t apply_options(struct scanned *scanned, const struct workplace *work, struct labels *labels,
                               struct populate_report *report)
{
	errcode_t error = 0;

	if (work->options->owners)
		error = owner_map_apply(work->options->owners, scanned->tree, work->problem);
	if (!error)
		error = protect_tree(scanned->tree, work);
	if (!error && labels)
		error = labels_apply(labels, scanned->tree, false, work->pool, &report->labelled, work->problem);
	if (!error && work->options->metadata)
		error = apply_metadata(scanned, work, labels, report);
	if (!error)
		error = apply_extended(scanned, work, "root_perms", set_root_permissions);
	if (!error)
		error = apply_extended(scanned, work, "root_selinux", set_root_label);
	return error;
}

/* e2fsck -p gives up if lost+found is not a directory: a host could not boot from such an image. */
static errcode_t look_for_lost_found(struct scanned *scanned, const struct workplace *work)
{
	const struct tree *tree = scanned->tree;
	uint32_t node = tree_find(tree, TREE_ROOT, "lost+found", strlen("lost+found"));

	scanned->has_lost_found = node != TREE_ROOT;
	if (!scanned->has_lost_found || S_ISDIR(tree->nodes[node].mode))
		return 0;
	SCOPE_FREE char *path = tree_path(tree, node);

	return problem_set_reason(work->problem, ENOTDIR, path, "cannot be stored",
	                          "e2fsck accepts only a directory of that name: rename it, or give "
	                          "--exclude=/lost+found");
}

/* Labels mke2fs's lost+found. The caller calls this when the sets of xattrs no longer change. */
static errcode_t label_lost_found(struct scanned *scanned, const struct workplace *work, struct labels *labels)
{
	struct tree *tree = scanned->tree;
	struct tree_xattr label;

	if (scanned->has_lost_found)
		return 0;
	errcode_t error = labels_of_directory(labels, "lost+found", &tree->memory, &label, work->problem);

	if (!error && label.name)
		error = xattr_sets_add(tree, TREE_NO_XATTRS, &label, &scanned->lost_found_set);
	return error ? problem_set(work->problem, error, NULL, "cannot label files") : 0;
}

/* Asks for projects only if the image will have them. */
static errcode_t ask_for_projects(struct scanned *scanned, const struct workplace *work,
                                  struct scan_options *scan_options)
{
	const struct populate_options *options = work->options;

	if (!sources_have_host(options->sources, options->source_count))
		return 0;
	errcode_t error = projects_wanted(options, &scan_options->asks_for_projects, work->problem);

	scanned->lacks_projects = !scan_options->asks_for_projects;
	return error ? problem_set(work->problem, error, NULL, "cannot plan the image") : 0;
}

/*
 * What is hidden keeps its place only if there is a pack of it. So that an image does not depend on the host's free
 * space, a pack that could not be made is an error with --keep-hidden. first: of the cache's warnings.
 */
static errcode_t require_packs(const struct tree *tree, const struct populate_report *report, size_t first,
                               struct problem *problem)
{
	for (uint32_t i = 0; first < report->warnings.count && i < tree->origin_count; i++) {
		const struct tree_origin *origin = &tree->origins[i];

		if (origin->is_host || report->sources[origin->source].cache_use != LAYER_NOT_CACHED)
			continue;
		SCOPE_FREE char *cause = problem_text(&report->warnings.list[first]);

		return problem_set_reason(problem, report->warnings.list[first].error, origin->path,
		                          "--keep-hidden needs it in the cache", "%s", cause ? cause : "");
	}
	return 0;
}

static errcode_t report_layer_cache(const struct workplace *work, const struct tree *tree, struct layer_cache *cache,
                                    struct populate_report *report)
{
	size_t first = report->warnings.count;

	for (uint32_t i = 0; i < report->source_count; i++)
		report->sources[i].cache_use = layer_cache_use_of(cache, i, &report->sources[i].pack_bytes);
	errcode_t error = layer_cache_warnings(cache, &report->warnings);

	return error || !work->options->keeps_hidden ? error : require_packs(tree, report, first, work->problem);
}

/* Keeps what can be kept of the filesystem that the source is. */
static errcode_t find_likeness(struct scanned *scanned, const struct workplace *work, struct populate_report *report)
{
	const struct populate_options *options = work->options;
	const struct volume *volume = image_volume_of(scanned->tree);

	if (options->like == LIKE_NONE)
		return 0;
	if (options->source_count != 1 || !volume)
		return options->like == LIKE_SOLE_SOURCE ?
		               0 :
		               problem_set_reason(work->problem, EINVAL, options->sources[0],
		                                  "cannot be like the source",
		                                  "--like=source needs one -d, an image of ext2, ext3 or ext4");
	errcode_t error = likeness_read(volume, &scanned->like);

	if (error)
		return problem_set(work->problem, error, options->sources[0], "cannot read");
	likeness_report(&scanned->like, options, &report->likeness);
	return 0;
}

static struct source_reading reading_of(const struct populate_options *options, const struct scan_options *scan_options)
{
	return (struct source_reading){
		.sources = options->sources,
		.source_count = options->source_count,
		.layering = options->layering,
		.outputs = {
			[SCAN_IMAGE] = options->image,
			[SCAN_HASH_TREE] = options->dm_verity.is_appended ? NULL : options->dm_verity.target,
			[SCAN_ROOT_HASH] = options->dm_verity.root_hash_path,
		},
		.scan = scan_options,
		.limits = options->limits,
		.memory_bytes = options->memory_bytes,
		.threads = options->threads,
	};
}

/* The cache is open while the sources are read; packs stay open with the tree. */
static errcode_t read_sources(struct scanned *scanned, const struct workplace *work, struct scan_options *scan_options,
                              struct populate_report *report)
{
	const struct populate_options *options = work->options;
	const struct source_reading reading = reading_of(options, scan_options);
	errcode_t error = layer_cache_open(&options->layer_cache, &scan_options->layers, work->problem);

	if (!error && scan_options->layers && options->verify)
		layer_cache_check_all(scan_options->layers);
	if (!error)
		error = sources_read_unchanged(&reading, work->pool, &scanned->tree, work->problem);
	if (!error && options->oci_config && !report->configuration.text)
		error = problem_set_reason(work->problem, EINVAL, options->oci_config,
		                           "cannot write the image's configuration", "no source is a container image");
	if (!error)
		error = find_likeness(scanned, work, report);
	if (!error)
		error = report_sources(scanned, work, report);
	if (!error && scan_options->layers)
		error = report_layer_cache(work, scanned->tree, scan_options->layers, report);
	layer_cache_close(scan_options->layers);
	return error;
}

static errcode_t scan_tree(struct scanned *scanned, const struct workplace *work, struct labels *labels,
                           struct run_files *files, struct populate_report *report)
{
	const struct populate_options *options = work->options;
	struct scan_options scan_options = {
		.skipped = report->skipped,
		.readers = work->readers,
		.exclude = options->exclude,
		.one_file_system = options->one_file_system,
		.without_xattrs = options->without_xattrs || extended_has(options->extended, "no_copy_xattrs"),
		.without_flags = options->without_flags,
		.asks_for_holes = options->zeros_of_source,
		.asks_for_times = options->all_times,
		.asks_for_unwritten = options->like != LIKE_NONE && options->source_count == 1,
		.takes_encrypted = true,
		.platform = options->platform,
		.configuration = options->oci_config ? &report->configuration : NULL,
		.links = &report->links,
		.warnings = &report->warnings,
		.files = files,
		.progress = options->progress,
	};
	errcode_t error = ask_for_projects(scanned, work, &scan_options);

	if (!error)
		error = read_sources(scanned, work, &scan_options, report);
	if (!error)
		error = apply_options(scanned, work, labels, report);
	if (!error)
		error = look_for_lost_found(scanned, work);
	if (!error)
		error = encrypted_find(scanned, work);
	if (!error)
		scanned->has_protected = protect_is_wanted(scanned->tree);
	if (!error && labels)
		error = label_lost_found(scanned, work, labels);
	return error ? error :
	               pool_run(work->pool, node_task_count(scanned->tree), tally_inodes, scanned, work->problem);
}

errcode_t scan_sources(struct scanned *scanned, bool in_place, const struct workplace *work, struct run_files *files,
                       struct populate_report *report)
{
	struct labels *labels = NULL;
	errcode_t error = 0;

	if (labels_are_wanted(&work->options->labels))
		error = labels_open(&work->options->labels, &labels, work->problem);
	if (!error)
		error = scan_tree(scanned, work, labels, files, report);
	labels_close(labels);
	if (!error)
		error = base_image_open(scanned, in_place, work);
	if (error)
		return error;
	/* The image takes the earlier image's identity, so that checksums and the order of names stay as well. */
	if (scanned->base) {
		scanned->identity = scanned->base->identity;
		return 0;
	}
	identity_choose(scanned->tree, work->options, &scanned->identity);
	if (scanned->like.is_wanted)
		likeness_identify(&scanned->like, &scanned->identity);
	return 0;
}

errcode_t scan_sources_look(const struct populate_options *options, struct run_files *files, struct pool *pool,
                            struct problem *problem)
{
	const struct scan_options scan_options = {
		.files = files,
		.exclude = options->exclude,
		.one_file_system = options->one_file_system,
		.platform = options->platform,
	};
	const struct source_reading reading = reading_of(options, &scan_options);

	return sources_look(&reading, pool, problem);
}
