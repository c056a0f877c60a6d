/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An archive as a source. Its headers are read once, in order. Contents that are stored as they are in a regular file
 * stay there, and copying workers read them. Contents that have to be unpacked or come through a pipe are kept
 * elsewhere (unpack/unpacked_store.h).
 *
 * Names are bytes, whatever the locale; tree/tree_builder.h tells which paths are allowed. If members have the same
 * path, the last one counts. Errors name the archive, and the member if one is concerned. The pool numbers the nodes;
 * the caller reads the members.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "source/archive/archive_rest.h"
#include "source/archive/archive_scan.h"
#include "source/archive/limited_reader.h"
#include "source/archive/zip_names.h"
#include "source/kind/source_digest.h"
#include "source/kind/links_below.h"
#include "source/kind/stored_contents.h"
#include "tree/tree_builder.h"
#include "support/run/interrupt.h"

static errcode_t link_problem(const struct archive_scan *scan, const struct tree_builder *builder, errcode_t error,
                              const char *target)
{
	const char *why = tree_builder_reason(builder);
	SCOPE_FREE char *shown = path_shown(target), *reason = NULL;

	if (!why)
		why = error == ENOENT ? "nothing in the archive before it has that name" : error_message(error);
	if (!shown || asprintf(&reason, "%s: %s", shown, why) < 0)
		reason = NULL;
	return archive_scan_problem(scan, error, "cannot make a hard link", reason ? reason : why);
}

/* Adds a link to a lower layer. Its target is looked up when the sources are merged (source/layers/whiteouts.h). */
static errcode_t link_below(const struct archive_scan *scan, struct tree_builder *builder, const char *path,
                            const char *target)
{
	struct tree_node node;
	errcode_t error = source_counts_metadata(scan->options->counts, sizeof(struct link_below) + strlen(target) + 1);

	if (!error)
		error = links_below_add(scan->options->below, scan->tree, scan->name, target,
		                        tree_builder_order(builder), &node);
	if (error)
		return archive_scan_problem(scan, error, "cannot add", NULL);
	error = tree_builder_add(builder, path, &node);
	return error ? archive_scan_problem(scan, error, "cannot add", tree_builder_reason(builder)) : 0;
}

/* Is it a whiteout of an OCI layer, or in a directory that is none of the layer's files? */
static bool is_whiteout(const struct archive_scan *scan, const char *path)
{
	return scan->options->has_oci_whiteouts && (!strncmp(path, ".wh.", 4) || strstr(path, "/.wh."));
}

/*
 * A whiteout may be a hard link to another one, as overlayfs makes them, whose own name is left out or hides it. Only
 * its name matters.
 */
static errcode_t add_whiteout(const struct archive_scan *scan, struct tree_builder *builder, const char *path)
{
	const struct tree_node node = { .mode = S_IFREG,
		                        .has_flags = true,
		                        .origin = scan->origin,
		                        .mtime_seconds = archive_entry_mtime(scan->entry) };
	errcode_t error = tree_builder_add(builder, path, &node);

	if (scan->options->facts)
		scan->options->facts->left_out_whiteouts = true;
	return error && error != ENOTDIR ?
	               archive_scan_problem(scan, error, "cannot add", tree_builder_reason(builder)) :
	               0;
}

/* Adds a hard link. In cpio the contents come with the last name of a file, not with the first. */
static errcode_t add_link(struct archive_scan *scan, struct tree_builder *builder, const char *path, const char *name)
{
	struct tree_node *file, contents;
	bool has_contents = archive_entry_size_is_set(scan->entry) && archive_entry_size(scan->entry) > 0;
	const char *target = source_strip_name(name, scan->options->strip_components, false);

	if (!target)
		return archive_scan_problem(scan, ENOENT, "cannot make a hard link",
		                            "it leads to a file that --strip-components leaves out");
	errcode_t error = tree_builder_link(builder, path, target, &file);

	if ((error == ENOENT || error == EISDIR) && is_whiteout(scan, path))
		return add_whiteout(scan, builder, path);
	if (error == ENOENT && scan->options->below && !has_contents)
		return link_below(scan, builder, path, target);
	if (error)
		return link_problem(scan, builder, error, target);
	if (!S_ISREG(file->mode) || !has_contents)
		return 0;
	contents = *file;
	error = archive_scan_contents(scan, &contents);
	if (!error)
		*file = contents;
	return error;
}

/* HP-UX has a device's numbers in the place of its size, which libarchive does not know: it would skip what follows. */
static bool is_device_with_contents(const struct archive_scan *scan)
{
	mode_t type = archive_entry_filetype(scan->entry);

	return (archive_format(scan->input.archive) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_CPIO &&
	       (type == AE_IFCHR || type == AE_IFBLK) && archive_entry_size(scan->entry) > 0;
}

static errcode_t add_member(struct archive_scan *scan, struct tree_builder *builder)
{
	errno = 0;
	const char *path = archive_entry_pathname(scan->entry), *target = archive_entry_hardlink(scan->entry);
	struct tree_node node;

	/* libarchive converts names and may lack memory for it. A hard link would then look like another file. */
	if ((!path || !target) && errno == ENOMEM)
		return archive_scan_problem(scan, ENOMEM, "cannot read", NULL);
	if (!path)
		return archive_scan_problem(scan, EILSEQ, "cannot read", "the name of a member is damaged");
	path = source_strip_name(path, scan->options->strip_components,
	                         archive_entry_filetype(scan->entry) == AE_IFDIR && !target);
	if (!path)
		return 0;
	if (target)
		return add_link(scan, builder, path, target);
	tree_builder_expect(builder, path);
	errcode_t error =
		is_device_with_contents(scan) ?
			archive_scan_problem(scan, ENOTSUP, "cannot read",
	                                     "a device has contents: it is in HP-UX's form of cpio (-H hpodc), "
	                                     "which is not read; give it in the form odc or newc") :
			archive_scan_attributes(scan, &node);

	if (!error && S_ISREG(node.mode))
		error = archive_scan_contents(scan, &node);
	if (error)
		return error;
	error = tree_builder_add(builder, path, &node);
	/* umoci writes whiteouts below a directory that has become a file. The file hides what they would remove. */
	if (error == ENOTDIR && is_whiteout(scan, path)) {
		if (scan->options->facts)
			scan->options->facts->left_out_whiteouts = true;
		return 0;
	}
	return error ? archive_scan_problem(scan, error, "cannot add", tree_builder_reason(builder)) : 0;
}

static bool is_zip(const struct archive_scan *scan)
{
	return (archive_format(scan->input.archive) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_ZIP;
}

/*
 * Fails for a warning unless nothing is lost. libarchive returns a name that it cannot convert as it is, which is our
 * aim, or the name is found in the header. Any other warning is about something that would be lost.
 */
static errcode_t count_warning(const struct archive_scan *scan)
{
	const char *warning = archive_error_string(scan->input.archive);
	errcode_t error = 0;

	if (!warning || !strstr(warning, "be converted"))
		return archive_scan_failure(scan);
	if (is_zip(scan))
		error = zip_names_restore(&scan->input, scan->entry);
	if (error)
		return archive_scan_problem(scan, error, "cannot read", NULL);
	return archive_entry_pathname(scan->entry) ? 0 : archive_scan_failure(scan);
}

static void note_dropped(struct archive_scan *scan)
{
	if (!scan->dropped_count++)
		(void)!archive_scan_note(scan, EEXIST, "replaces a directory",
		                         "the names in it, which came earlier, are left out", &scan->dropped);
}

static errcode_t read_members(struct archive_scan *scan, struct tree_builder *builder)
{
	for (;;) {
		scan->entry = NULL;
		if (interrupt_pending())
			return problem_set(scan->problem, EINTR, NULL, "stopped");
		int result = archive_input_next(&scan->input, &scan->entry);

		if (result == ARCHIVE_EOF || (result == ARCHIVE_FATAL && archive_input_lacks_padding(&scan->input)))
			break;
		/*
		 * ARCHIVE_RETRY is an error, too: going on with the next whole header would leave out damaged members.
		 */
		if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
			scan->entry = NULL; /* it is not whole */
			return archive_scan_failure(scan);
		}
		errcode_t error = result == ARCHIVE_WARN ? count_warning(scan) : 0;

		if (!error)
			error = archive_header_read(scan);
		if (!error)
			error = add_member(scan, builder);
		if (error)
			return error;
		if (tree_builder_has_dropped_names(builder))
			note_dropped(scan);
		progress_add(scan->options->progress, 0, 1);
		if (archive_entry_size_is_set(scan->entry))
			progress_find(scan->options->progress,
			              &(struct found){ .bytes = (uint64_t)archive_entry_size(scan->entry) });
	}
	scan->entry = NULL;
	/* libarchive does not read the bytes after the last header. */
	packed_position_reach(&scan->input.position, scan->input.file.size_bytes);
	return 0;
}

static bool has_child(const struct tree *tree, uint32_t directory, const char *name)
{
	return tree_find(tree, directory, name, strlen(name)) != TREE_ROOT;
}

/* True if the root has a layer: NAME.tar, which podman and skopeo write, or NAME/layer.tar, which docker wrote. */
static bool has_layer(const struct tree *tree)
{
	const struct tree_node *root = &tree->nodes[TREE_ROOT];

	for (uint32_t n = 0; n < root->child_count; n++) {
		uint32_t child = root->first_child + n;

		if (strstr(tree->nodes[child].name, ".tar") || has_child(tree, child, "layer.tar"))
			return true;
	}
	return false;
}

/* Returns skopeo(1)'s name for an archive that holds an image, by the names in its root; NULL: it is not one. */
static const char *container_image_transport(const struct tree *tree)
{
	bool is_oci = has_child(tree, TREE_ROOT, "oci-layout") && has_child(tree, TREE_ROOT, "index.json");

	/* docker save of version 25 and later writes both layouts; skopeo reads either. */
	if (has_child(tree, TREE_ROOT, "manifest.json") && (is_oci || has_layer(tree)))
		return "docker-archive";
	return is_oci ? "oci-archive" : NULL;
}

/* Refuses an archive that holds an image, since its layers would become files. */
static errcode_t refuse_container_image(const struct archive_scan *scan)
{
	const char *transport = container_image_transport(scan->tree);

	if (!transport)
		return 0;
	return problem_set_reason(scan->problem, EINVAL, scan->name, "cannot read",
	                          "it is a container image: give it as %s:FILE (tar:FILE takes its layers as files)",
	                          transport);
}

/* Contents lie in the file, or in what that unpacks to. */
static errcode_t choose_origin(struct archive_scan *scan)
{
	struct tree *tree = scan->tree;

	scan->origin = 0;
	scan->uses_file |= !scan->input.store;
	if (!scan->input.store)
		return 0;
	errcode_t error = stored_contents_add(tree, tree->origins[0].path, -1, &scan->origin);

	if (!error)
		archive_scan_set_unpacked(tree, scan->origin, archive_input_release_store(&scan->input));
	return error;
}

/* Says that not all of the archive is read. */
static errcode_t warn_of_rest(struct archive_scan *scan, const struct archive_rest *rest)
{
	struct problem problem = { 0 };

	if (rest->is_before)
		problem_set_reason(&problem, EBADMSG, scan->name, "cannot read all of it",
		                   "another zip archive lies before the one at its end");
	else
		problem_set_reason(&problem, EBADMSG, scan->name, "cannot read all of it",
		                   "data other than zeros follow the end of the archive");
	if (rest->at)
		problem_add(&problem, ", from byte %" PRIu64 " on", rest->at);
	return warnings_add(&scan->source->warnings, &problem, 1);
}

/* Reads archive after archive of the file. */
static errcode_t read_archives(struct archive_scan *scan, struct tree_builder *builder)
{
	const uint64_t start = scan->input.start;
	struct archive_rest rest = { .is_archive = true };
	errcode_t error = 0;

	while (!error && rest.is_archive) {
		const struct unpacked_store *store = scan->input.store;

		if (rest.is_there && archive_rest_open(&scan->input, &rest))
			return archive_scan_failure(scan);
		if (!rest.is_there || scan->input.store != store)
			error = choose_origin(scan);
		if (!error)
			error = read_members(scan, builder);
		if (!error && archive_rest_look(&scan->input, &rest))
			return archive_scan_failure(scan);
	}
	if (!error && scan->dropped_count)
		error = warnings_add(&scan->source->warnings, &scan->dropped, scan->dropped_count);
	if (rest.at && rest.is_in_file)
		rest.at += scan->input.start - start;
	return error || !rest.is_there ? error : warn_of_rest(scan, &rest);
}

static errcode_t build(struct archive_scan *scan, int descriptor, const struct archive_kind *kind, uint64_t most_bytes,
                       struct tree_builder *builder, struct pool *pool)
{
	struct links_below *below = scan->options->below;
	errcode_t error = archive_input_open(&scan->input, descriptor, kind, most_bytes, scan->options);

	if (error)
		return archive_input_problem(&scan->input, error, scan->name, scan->problem);
	/* A regular file must stay as it is from here on until all is copied. */
	stored_contents_of(scan->tree, 0)->is_changeable = scan->input.file.is_regular;
	error = read_archives(scan, builder);
	if (!error && scan->options->strip_components && tree_builder_order(builder) <= 1)
		error = source_strip_problem(scan->name, scan->options->strip_components, scan->problem);
	if (!error)
		error = contents_check(scan->tree, scan->problem);
	if (!error)
		error = tree_builder_finish(builder, pool, below ? &below->order : NULL, scan->problem);
	if (!error && kind == &archive_kind_common)
		error = refuse_container_image(scan);
	if (!error)
		error = xattr_table_finish(scan->xattr_table, scan->tree);
	return error;
}

static errcode_t build_limited(struct archive_scan *scan, const struct archive_kind *kind, struct tree_builder *builder,
                               struct pool *pool)
{
	struct limited_reader reader = { 0 };
	struct archive_rest rest;
	errcode_t error =
		limited_reader_start(&reader, stored_contents_of(scan->tree, 0)->descriptor, kind, scan->options);

	if (error)
		problem_set(scan->problem, error, scan->name, "cannot start a process that reads it");
	else
		error = build(scan, reader.archive, &archive_kind_converted, ARCHIVE_INPUT_ALL, builder, pool);
	/* The stream's threads read from the reader's pipe, so they end first. */
	archive_input_close(&scan->input);
	error = limited_reader_end(&reader, error, scan->name, &rest, scan->problem);
	return error || !rest.is_there ? error : warn_of_rest(scan, &rest);
}

/* The layer has been unpacked. What is not packed has the digest of its file, if that is known. */
static errcode_t check_diff_id(const struct source *source, struct archive_facts *facts, struct problem *problem)
{
	char digits[SOURCE_DIGEST_DIGITS + 1];

	if (!facts->is_packed)
		return *source->digest ? source_diff_id_check(source, source->digest, problem) : 0;
	source_digest_text(&facts->unpacked, digits);
	return source_diff_id_check(source, digits, problem);
}

/* An image, not an archive, and nothing else was asked for: sources.c reads it as one. */
static errcode_t find_disk(struct source *source, struct archive_scan *scan, errcode_t error)
{
	struct problem problem = { 0 };
	errcode_t spool_error = archive_input_spool(&scan->input, scan->name, &source->disk_descriptor, &problem);

	source->is_disk = !spool_error;
	if (!spool_error)
		return error;
	problem_clear(scan->problem);
	*scan->problem = problem;
	return spool_error;
}

static errcode_t scan_archive(struct source *source, const struct scan_options *options, struct pool *pool,
                              struct tree *tree, struct problem *problem)
{
	/* The caller compares the facts that it asks for. */
	const bool is_compared = *source->diff_id && !options->facts;
	struct archive_facts facts = { .hashes_unpacked = true };
	struct scan_options own = *options;
	struct archive_scan scan = {
		.name = source_file_name(source),
		.source = source,
		.options = &own,
		.problem = problem,
		.tree = tree,
	};
	struct tree_builder *builder = NULL;

	warnings_clear(&source->warnings);
	if (source->archive == &archive_kind_layer)
		own.strip_components = 0;
	if (is_compared)
		own.facts = &facts;
	errcode_t error = source_file_open(source, options, tree, problem);

	if (!error)
		error = tree_builder_create(tree, options->exclude, options->counts, &builder);
	if (!error)
		error = xattr_table_create(&scan.xattr_table);
	if (!error)
		xattr_table_count(scan.xattr_table, options->counts);
	if (!error && source->archive->is_limited)
		error = build_limited(&scan, source->archive, builder, pool);
	else if (!error)
		error = build(&scan, stored_contents_of(tree, 0)->descriptor, source->archive,
		              source->is_part ? source->bytes : ARCHIVE_INPUT_ALL, builder, pool);
	if (!error && is_compared)
		error = check_diff_id(source, &facts, problem);
	if (error && scan.input.has_disk && source->archive == &archive_kind_common)
		error = find_disk(source, &scan, error);
	bool is_unpacked = !scan.uses_file || source->archive->is_limited;

	archive_input_close(&scan.input);
	for (uint32_t i = 0; !error && i < tree->origin_count; i++)
		if (stored_contents_of(tree, i)->unpacked)
			error = unpacked_store_finish(stored_contents_of(tree, i)->unpacked, problem);
	/* The whole archive has been read, and its contents are kept elsewhere. */
	if (!error && is_unpacked)
		stored_contents_close(stored_contents_of(tree, 0), false);
	tree_builder_destroy(builder);
	xattr_table_destroy(scan.xattr_table);
	free(scan.segments.data.list);
	free(scan.segments.stored_starts);
	free(scan.xattrs);
	problem_clear(&scan.dropped);
	arena_destroy(&scan.member_memory);
	return error ? problem_set(problem, error, scan.name, "cannot read") : 0;
}

static bool has_prefix(struct source *source)
{
	source->archive = archive_kind_of_prefix(source);
	return source->archive;
}

static bool is_common(struct source *source)
{
	source->archive = &archive_kind_common;
	return true;
}

const struct source_kind archive_source = {
	.takes_prefix = has_prefix,
	.takes_name = is_common,
	.scan = scan_archive,
};
