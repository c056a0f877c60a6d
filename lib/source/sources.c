/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/sources.h"

#include <errno.h>
#include <string.h>

#include "source/archive/archive_kind.h"
#include "source/image/image_recognition.h"
#include "source/kind/run_host.h"
#include "source/kind/source_digest.h"
#include "source/pack/layer_cache.h"
#include "support/vector.h"
#include "tree/contents.h"

/* All kinds of sources. A name without a prefix goes to the first kind that takes it; the archive kind takes any. */
static const struct source_kind *const kinds[] = {
	&oci_image_source, &directory_source,   &manifest_source,       &image_source,
	&archive_source,   &oci_archive_source, &docker_archive_source,
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

static bool has_prefix(struct source *source)
{
	for (size_t i = 0; !source->kind && i < KINDS; i++)
		if (kinds[i]->takes_prefix && kinds[i]->takes_prefix(source))
			source->kind = kinds[i];
	return source->kind;
}

struct source source_of(const char *name)
{
	struct source source = { .path = name };

	has_prefix(&source);
	for (size_t i = 0; !source.kind && i < KINDS; i++)
		if (kinds[i]->takes_name && kinds[i]->takes_name(&source))
			source.kind = kinds[i];
	return source;
}

errcode_t sources_image_bytes(const char *const *sources, uint32_t count, uint64_t most_unpacked_bytes, uint64_t *bytes,
                              struct problem *problem)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct source source = source_of(sources[i]);

		if (source.kind == &image_source)
			return image_filesystem_bytes(&source, most_unpacked_bytes, bytes, problem);
	}
	return problem_set_reason(problem, ENOENT, NULL, "cannot choose a size",
	                          "no source is an image of ext2, ext3 or ext4");
}

bool source_is_standard_input(const char *name)
{
	struct source source = { .path = name };

	has_prefix(&source);
	return source.path[0] == '-' &&
	       (!source.path[1] || (source.kind && source.kind->list_layers && source.path[1] == ':'));
}

/* A reference may follow the name of an OCI image: DIR:REF. */
bool source_names_nothing(const char *name)
{
	struct source source = { .path = name };

	return has_prefix(&source) && (!*source.path || (source.kind->list_layers && *source.path == ':'));
}

bool sources_have_host(const char *const *sources, uint32_t count)
{
	bool has_host = false;

	for (uint32_t i = 0; i < count; i++)
		has_host = has_host || source_of(sources[i]).kind->is_host;
	return has_host;
}

static errcode_t scan(struct source *source, const struct scan_options *options, struct pool *pool, struct tree **ret,
                      struct problem *problem)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	errcode_t error = tree ? source->kind->scan(source, options, pool, tree, problem) : ENOMEM;

	*ret = error ? NULL : tree;
	if (error)
		tree_destroy(tree);
	return error;
}

/* The input of a pipe has turned out to be an image. */
static errcode_t scan_disk(const struct source *source, const struct scan_options *options, struct pool *pool,
                           struct tree **ret, struct problem *problem)
{
	SCOPE_CLOSE const int descriptor = source->disk_descriptor;
	struct source image = { .kind = &image_source, .path = source->path };
	char path[32];

	problem_clear(problem);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	if (descriptor >= 0) {
		image.path = path;
		image.name = source_file_name(source);
	}
	return scan(&image, options, pool, ret, problem);
}

errcode_t source_scan(struct source *source, const struct scan_options *options, struct pool *pool, struct tree **ret,
                      struct problem *problem)
{
	errcode_t error = *source->digest && !source->is_checked ? source_digest_check(source, problem) : 0;

	*ret = NULL;
	if (!error)
		error = scan(source, options, pool, ret, problem);
	if (error && source->is_disk)
		error = scan_disk(source, options, pool, ret, problem);
	return error ? problem_set(problem, error, source->path, "cannot read") : 0;
}

struct stack {
	struct source *sources;     /* their paths and names are owned */
	struct merge_layer *layers; /* numbered as the sources; a layer's tree is NULL until it has been read */
	size_t count, source_capacity, layer_capacity;
	size_t next;                  /* the first source that has not been read */
	size_t side_by_side;          /* how many sources from `next` on are read at once */
	enum whiteout_form whiteouts; /* the form of the layers that are added */
	const struct scan_options *options;
	const struct source_base *base;
	struct held_descriptors held;
	bool has_base_layer; /* the first of the layers is the base's */
};

static errcode_t add_layer(void *context, const struct source *source)
{
	struct stack *stack = context;
	struct source copy = *source;
	errcode_t error =
		vector_reserve(&stack->layers, &stack->layer_capacity, stack->count + 1, sizeof(*stack->layers));

	if (!error)
		error = vector_reserve(&stack->sources, &stack->source_capacity, stack->count + 1,
		                       sizeof(*stack->sources));
	copy.path = error ? NULL : strdup(source->path);
	copy.name = copy.path && source->name ? strdup(source->name) : NULL;
	if (!copy.path || (source->name && !copy.name)) {
		free((char *)copy.path);
		return ENOMEM;
	}
	stack->sources[stack->count] = copy;
	stack->layers[stack->count++] = (struct merge_layer){ .whiteouts = stack->whiteouts };
	return 0;
}

/* Kinds that read more than one file name them themselves. */
static errcode_t note_source(const struct stack *stack, const struct source *source, struct problem *problem)
{
	struct run_files *files = stack->options->files;
	struct image_name image = { 0 };

	if (!files || source->kind->names_files)
		return 0;
	errcode_t error = source->kind == &image_source ? image_parse_name(source, &image, problem) : 0;
	/* The name of an image in an archive may follow. */
	SCOPE_FREE char *path = source->kind == &image_source ? image.file :
	                        source->kind->list_layers     ? strndup(source->path, strcspn(source->path, ":")) :
	                                                        strdup(source->path);

	if (!error && !path)
		error = ENOMEM;
	if (!error)
		error = run_files_read(files, "source", path, image.offset_bytes);
	return error || source->kind == &image_source ? error : run_host_add_for_archives(files);
}

static errcode_t list_layers(struct stack *stack, const char *const *sources, uint32_t count,
                             enum whiteout_form whiteouts, struct pool *pool, struct problem *problem)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct source source = source_of(sources[i]);
		errcode_t error;

		stack->whiteouts = source.kind->list_layers ? WHITEOUTS_OCI : whiteouts;
		error = note_source(stack, &source, problem);
		if (error)
			return error;
		if (stack->options->only_looks && !source.kind->names_files)
			continue;
		error = source.kind->list_layers ?
		                source.kind->list_layers(&source, stack->options, pool, add_layer, stack, problem) :
		                add_layer(stack, &source);
		if (error)
			return problem_set(problem, error, sources[i], "cannot read");
	}
	return 0;
}

/* A pack stays open until its contents are copied, so not all layers can have one. */
static errcode_t scan_layer(struct source *source, size_t number, const struct scan_options *options, struct pool *pool,
                            struct tree **ret, struct problem *problem)
{
	struct layer_cache *cache = options->layers;

	return cache && number < SOURCE_MOST_OPEN_LAYERS && layer_cache_takes(source) ?
	               layer_cache_scan(cache, source, (uint32_t)number, options, pool, ret, problem) :
	               source_scan(source, options, pool, ret, problem);
}

static errcode_t read_layer(struct stack *stack, size_t number, struct pool *pool, struct problem *problem)
{
	struct merge_layer *layer = &stack->layers[number];
	struct scan_options options = *stack->options;

	options.has_oci_whiteouts = layer->whiteouts == WHITEOUTS_OCI;
	options.below = number || stack->base ? &layer->below : NULL;
	/* Several archives are enough work for all processors. */
	if (stack->side_by_side > 1 && options.unpack_threads)
		options.unpack_threads = 1;
	errcode_t error = scan_layer(&stack->sources[number], number, &options, pool, &layer->tree, problem);

	if (error)
		return problem_set(problem, error, stack->sources[number].path, "cannot read");
	for (uint32_t i = 0; i < layer->tree->origin_count; i++) {
		struct tree_origin *origin = &layer->tree->origins[i];

		origin->source = (uint32_t)number;
		/* Standard input, and what was unpacked, have no path by which they could be opened again. */
		if (number >= SOURCE_MOST_OPEN_LAYERS && origin->contents->open_late &&
		    strcmp(stack->sources[number].path, "-") != 0 && !stack->held.count)
			origin->contents->open_late(origin);
	}
	return 0;
}

static errcode_t read_serially(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	struct stack *stack = context;
	struct pool *serial;
	errcode_t error = pool_create(0, &serial);

	(void)worker;
	if (error)
		return error;
	error = read_layer(stack, stack->next + index, serial, problem);
	pool_destroy(serial);
	return error;
}

/* True unless the source starts a process; such a source is scanned alone. */
static bool scans_beside_others(const struct source *source)
{
	return !source->kind->scans_in_parallel && !(source->archive && source->archive->is_limited);
}

/*
 * Reads the sources. One thread unpacks each archive, and no archive depends on another, so adjacent archives are read
 * side by side. All workers together read a directory. The first failure in the order of sources is the same for any
 * number of threads.
 */
static errcode_t read_layers(struct stack *stack, struct pool *pool, struct problem *problem)
{
	errcode_t error = 0;

	while (!error && stack->next < stack->count) {
		size_t count = 0;

		while (stack->next + count < stack->count && scans_beside_others(&stack->sources[stack->next + count]))
			count++;
		stack->side_by_side = count;
		error = count > 1 ? pool_run(pool, count, read_serially, stack, problem) :
		                    read_layer(stack, stack->next, pool, problem);
		stack->next += count > 1 ? count : 1;
	}
	return error;
}

/*
 * Sets the progress total to the bytes of the archives, unless one is a pipe. Directories find their total while they
 * are scanned.
 */
static void show_total(const struct stack *stack)
{
	uint64_t bytes = 0;
	struct stat status;

	for (size_t i = 0; i < stack->count; i++) {
		const struct source *source = &stack->sources[i];

		if (source->kind != &archive_source || source->archive->is_limited ||
		    (!strcmp(source->path, "-") ? fstat(STDIN_FILENO, &status) : stat(source->path, &status)) ||
		    !S_ISREG(status.st_mode))
			return;
		bytes += source->is_part ? source->bytes : (uint64_t)status.st_size;
	}
	progress_total(stack->options->progress, bytes);
}

static size_t count_links_below(const struct stack *stack)
{
	size_t count = 0;

	for (size_t i = 0; i < stack->count; i++)
		count += stack->layers[i].below.count;
	return count;
}

/* Reads the files of the base to which hard links lead; they become the lowest layer. */
static errcode_t add_base(struct stack *stack, size_t count, struct pool *pool, struct problem *problem)
{
	SCOPE_FREE const char **paths = malloc(count * sizeof(*paths));
	struct merge_layer base = { .whiteouts = WHITEOUTS_NONE };
	size_t used = 0;
	errcode_t error =
		vector_reserve(&stack->layers, &stack->layer_capacity, stack->count + 1, sizeof(*stack->layers));

	if (error || !paths)
		return ENOMEM;
	for (size_t i = 0; i < stack->count; i++)
		for (size_t link = 0; link < stack->layers[i].below.count; link++)
			paths[used++] = stack->layers[i].below.list[link].target;
	error = stack->base->find(stack->base->context, paths, used, pool, &base.tree, problem);
	if (error)
		return error;
	memmove(stack->layers + 1, stack->layers, stack->count * sizeof(*stack->layers));
	stack->layers[0] = base;
	stack->has_base_layer = true;
	return 0;
}

static errcode_t merge(struct stack *stack, const struct source_layering *layering, struct pool *pool,
                       struct tree **ret, struct problem *problem)
{
	struct merge_options options = {
		.keeping = layering->keeping,
		.follows_links = layering->follows_links,
		.pool = pool,
		.below = stack->base ? stack->base->files : NULL,
		.links = stack->options->links,
		.warnings = stack->options->warnings,
	};
	size_t links = stack->base ? count_links_below(stack) : 0;

	if (stack->count == 1 && stack->layers[0].whiteouts == WHITEOUTS_NONE && !links) {
		*ret = TAKE(stack->layers[0].tree);
		return 0;
	}
	errcode_t error = links ? add_base(stack, links, pool, problem) : 0;

	options.has_base_layer = stack->has_base_layer;
	return error ? error :
	               tree_merge(stack->layers, (uint32_t)(stack->count + stack->has_base_layer), &options, ret,
	                          problem);
}

/* The warnings of all sources, in their order. */
static errcode_t take_warnings(struct stack *stack, struct warnings *warnings)
{
	errcode_t error = 0;

	for (size_t i = 0; !error && warnings && i < stack->count; i++) {
		struct warnings *from = &stack->sources[i].warnings;

		for (size_t n = 0; !error && n < from->count; n++)
			error = warnings_add(warnings, &from->list[n], 1);
	}
	return error;
}

static void stack_free(struct stack *stack)
{
	for (size_t i = 0; i < stack->count + stack->has_base_layer; i++) {
		tree_destroy(stack->layers[i].tree);
		links_below_destroy(&stack->layers[i].below);
	}
	for (size_t i = 0; i < stack->count; i++) {
		free((char *)stack->sources[i].path);
		free((char *)stack->sources[i].name);
		warnings_clear(&stack->sources[i].warnings);
	}
	for (size_t i = 0; i < stack->held.count; i++)
		close(stack->held.list[i]);
	free(stack->held.list);
	free(stack->layers);
	free(stack->sources);
}

errcode_t sources_look_at(const char *const *sources, uint32_t count, const struct source_layering *layering,
                          const struct scan_options *options, struct pool *pool, struct problem *problem)
{
	struct scan_options own = *options;
	struct stack stack = { .options = &own };

	own.only_looks = true;
	own.held = &stack.held;
	own.strip_components = layering->strip_components;
	errcode_t error = list_layers(&stack, sources, count, layering->whiteouts, pool, problem);

	for (size_t i = 0; !error && i < stack.count; i++) {
		struct tree *tree = NULL;

		/* The layers of a container image have been named with it. */
		if (stack.sources[i].kind->names_files)
			error = source_scan(&stack.sources[i], &own, pool, &tree, problem);
		tree_destroy(tree);
	}
	stack_free(&stack);
	return error;
}

errcode_t sources_look_at_folder(const char *role, const char *path, struct run_files *files, struct pool *pool,
                                 struct problem *problem)
{
	struct run_files found = { 0 };
	const struct scan_options options = { .files = &found, .only_looks = true };
	struct source folder = { .kind = &directory_source, .path = path };
	struct tree *tree = NULL;
	errcode_t error = source_scan(&folder, &options, pool, &tree, problem);

	if (!error)
		error = run_files_read_folder(files, role, path, &found.folders[0].sum);
	tree_destroy(tree);
	run_files_clear(&found);
	return error;
}

errcode_t sources_scan(const char *const *sources, uint32_t count, const struct source_layering *layering,
                       const struct scan_options *options, struct pool *pool, struct tree **ret,
                       struct problem *problem)
{
	struct scan_options own = *options;
	struct stack stack = { .options = &own, .base = layering->base };

	own.held = &stack.held;
	own.strip_components = layering->strip_components;
	*ret = NULL;
	errcode_t error = list_layers(&stack, sources, count, layering->whiteouts, pool, problem);

	if (!error)
		show_total(&stack);
	if (!error)
		error = read_layers(&stack, pool, problem);
	if (!error && options->layers)
		layer_cache_trim(options->layers);
	if (!error)
		error = take_warnings(&stack, options->warnings);
	if (!error)
		error = merge(&stack, layering, pool, ret, problem);
	stack_free(&stack);
	return error;
}
