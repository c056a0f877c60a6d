// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/scan_sources.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/apply_options.h"
#include "populate/format/extended_options.h"
#include "populate/plan/base_image.h"

/*
 * Where what archives decompress to is kept for the time of the build: TMPDIR, else the image's directory, where there is
 * room, or /var/tmp if the image is a device. The caller frees it; NULL: no memory.
 */
static char *spool_directory(const char *image, const struct stat *status)
{
	const char *chosen = getenv("TMPDIR"), *slash = strrchr(image, '/');

	if (chosen && *chosen)
		return strdup(chosen);
	if (status && S_ISBLK(status->st_mode))
		return strdup("/var/tmp");
	if (!slash)
		return strdup(".");
	return slash == image ? strdup("/") : strndup(image, (size_t)(slash - image));
}

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

static errcode_t report_sources(const struct tree *tree, struct populate_report *report)
{
	errcode_t error = list_sources(tree, report);

	for (uint32_t number = TREE_ROOT + 1; !error && number < tree->node_count; number++) {
		const struct tree_node *node = &tree->nodes[number];
		struct populate_source *source = &report->sources[tree->origins[node->origin].source];

		source->names++;
		if (S_ISREG(node->mode) && !tree_node_is_link(tree, number))
			source->data_bytes += data_bytes(node);
	}
	return error;
}

/* e2fsck -p gives up on a lost+found that is not a directory: a host could not boot from that. */
static errcode_t look_for_lost_found(struct build *build)
{
	const struct tree *tree = build->tree;
	uint32_t node = tree_find(tree, TREE_ROOT, "lost+found", strlen("lost+found"));

	build->tree_has_lost_found = node != TREE_ROOT;
	if (!build->tree_has_lost_found || S_ISDIR(tree->nodes[node].mode))
		return 0;
	SCOPE_FREE char *path = tree_path(tree, node);

	return problem_set_reason(build->problem, ENOTDIR, path, "cannot be stored",
	                          "e2fsck accepts only a directory of that name: rename it, or give "
	                          "--exclude=/lost+found");
}

static errcode_t scan_tree(struct build *build, struct populate_report *report)
{
	const struct populate_options *options = build->options;
	struct scan_options scan_options = {
		.skipped = &report->skipped_image,
		.exclude = options->exclude,
		.one_file_system = options->one_file_system,
		.without_xattrs = options->without_xattrs || extended_has(options->extended, "no_copy_xattrs"),
		.without_flags = options->without_flags,
		.warnings = &report->warnings,
		.progress = options->progress,
	};
	struct stat status;
	bool exists = stat(options->image, &status) == 0;
	SCOPE_FREE char *spool = spool_directory(options->image, exists ? &status : NULL);

	if (!spool)
		return ENOMEM;
	scan_options.spool_directory = spool;
	/* An image inside its own source is left out. */
	if (exists && S_ISREG(status.st_mode)) {
		scan_options.skip_device = status.st_dev;
		scan_options.skip_inode = status.st_ino;
	}
	errcode_t error = sources_scan(options->sources, options->source_count, &options->layering, &scan_options,
	                               build->pool, &build->tree, build->problem);
	if (!error)
		error = report_sources(build->tree, report);
	if (!error)
		error = apply_options(build);
	if (!error)
		error = look_for_lost_found(build);
	if (error)
		return error;
	for (uint32_t node = 0; node < build->tree->node_count; node++)
		build->inode_count += !tree_node_is_link(build->tree, node);
	return 0;
}

static errcode_t open_base(struct build *build)
{
	const struct populate_options *options = build->options;

	if (!options->stable_from)
		return 0;
	errcode_t error = base_image_open(options->stable_from, build->in_place ? options->image : NULL,
	                               options->offset_bytes, &build->base, build->problem);

	return error ? error : base_image_match(build->base, build->tree, build->problem);
}

static void identify(struct build *build)
{
	if (build->options->has_epoch)
		identity_derive(build->tree, build->options, &build->identity);
	else
		identity_draw(&build->identity);
	/* Those of the earlier image, so that checksums and the order of names stay as well. */
	if (build->base) {
		strcpy(build->identity.uuid, build->base->uuid);
		strcpy(build->identity.hash_seed, build->base->hash_seed);
	}
}

errcode_t scan_sources(struct build *build, struct populate_report *report)
{
	errcode_t error = scan_tree(build, report);

	if (!error)
		error = open_base(build);
	if (!error)
		identify(build);
	return error;
}
