/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A manifest, mtree(5), as a source: its lines are the tree, and regular files have the contents of files of the host.
 *
 * contents= names the file that has a regular file's contents; symlinks in that path are followed. Without contents=
 * they are in the file at the line's own path, in which no symlink is followed. This file must be a regular one, and
 * give as many bytes as its size says: those in /proc and /sys do not, and are refused. Relative paths begin in the
 * manifest's directory (for standard input, in the current one). The scan finds and measures these files; they are read
 * later.
 *
 * Unless a line says more, a file has mode 0755 (directories), 0777 (symlinks) or 0644 (all others), owner 0:0 and the
 * manifest's own time. A further line for the same file and type changes what it says. There are no hard links: each
 * line for a regular file makes a file of its own. Names of users and groups are looked up in the tree's own etc/passwd
 * and etc/group. Problems name manifest and line.
 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <string.h>
#include <sys/stat.h>

#include "source/owners/account_names.h"
#include "source/archive/archive_input.h"
#include "source/host/data_segments.h"
#include "source/host/host_contents.h"
#include "source/kind/run_files.h"
#include "source/kind/stored_contents.h"
#include "source/manifest/contents_sums.h"
#include "source/mtree/digests.h"
#include "tree/tree_builder.h"
#include "tree/xattr_table.h"
#include "source/host/open_below.h"
#include "support/run/interrupt.h"
#include "support/text/text_line.h"
#include "support/vector.h"

/*
 * A user or group that lines give to files. Its name can be looked up only when the tree is complete. Until then a
 * file's uid and gid are numbers of owners; number 0 stands for id 0.
 */
struct owner {
	enum account_kind kind;
	const char *name;   /* NULL: it has only an id */
	unsigned long line; /* the first line that names it */
	uint32_t id;        /* 0 until the name is looked up */
	uint32_t number;
};

struct manifest {
	const char *name;
	const struct scan_options *options;
	struct problem *problem;
	struct tree *tree;
	struct tree_builder *builder;
	struct xattr_table *xattr_table;
	struct xattr_table_memory last_set;
	struct timespec mtime;     /* the manifest's own */
	int directory;             /* the manifest's directory; owned by the tree */
	uint32_t directory_origin; /* for relative paths, and for contents at the lines' own paths */
	uint32_t files_origin;     /* for contents at other paths */
	struct owner **owners;     /* by number; they are in the tree's memory */
	size_t owner_count, owner_capacity;
	void *sorted_owners; /* the same, for tsearch(3) */
	struct contents_sums sums;
	struct opener opener;
	struct data_segments segments;
	char *last_path; /* the last path of contents= ; owned; NULL: none yet */
	uint64_t last_contents;
	struct digests digests;
};

static errcode_t fail(const struct manifest *manifest, const struct mtree_entry *entry, errcode_t error,
                      const char *why)
{
	if (error == EDQUOT)
		return source_counts_problem(manifest->options->counts, manifest->problem);
	SCOPE_FREE char *shown = path_shown(*entry->path ? entry->path : ".");

	return text_line_problem(manifest->problem, error, manifest->name, entry->line, "cannot read manifest",
	                         shown ? shown : ".", why);
}

static int compare_owners(const void *one, const void *other)
{
	const struct owner *first = one, *second = other;

	if (first->kind != second->kind)
		return first->kind < second->kind ? -1 : 1;
	if (!first->name != !second->name)
		return first->name ? -1 : 1;
	if (first->name)
		return strcmp(first->name, second->name);
	return first->id < second->id ? -1 : first->id > second->id;
}

static void keep(void *owner)
{
	(void)owner;
}

static errcode_t add_owner(struct manifest *manifest, const struct owner *owner, uint32_t *number)
{
	struct arena *memory = &manifest->tree->memory;
	struct owner *copy = arena_alloc(memory, sizeof(*copy));
	errcode_t error = vector_reserve(&manifest->owners, &manifest->owner_capacity, manifest->owner_count + 1,
	                                 sizeof(struct owner *));

	if (error || !copy)
		return ENOMEM;
	*copy = *owner;
	copy->number = *number = (uint32_t)manifest->owner_count;
	if (owner->name)
		copy->name = arena_copy_string(memory, owner->name, strlen(owner->name));
	if ((owner->name && !copy->name) || !tsearch(copy, &manifest->sorted_owners, compare_owners))
		return ENOMEM;
	manifest->owners[manifest->owner_count++] = copy;
	return 0;
}

/* Gives the number of the owner with this name, or with this id if name is NULL. */
static errcode_t keep_owner(struct manifest *manifest, enum account_kind kind, const char *name, uint32_t id,
                            unsigned long line, uint32_t *number)
{
	const struct owner owner = { .kind = kind, .name = name, .id = name ? 0 : id, .line = line };

	*number = 0;
	if (!name && !id)
		return 0;
	struct owner *const *found = tfind(&owner, &manifest->sorted_owners, compare_owners);

	if (!found)
		return add_owner(manifest, &owner, number);
	*number = (*found)->number;
	return 0;
}

static errcode_t read_owner(struct manifest *manifest, const struct mtree_entry *entry, struct tree_node *node)
{
	const char *user = entry->given & MTREE_UNAME ? entry->uname : NULL;
	const char *group = entry->given & MTREE_GNAME ? entry->gname : NULL;
	errcode_t error = 0;

	if (entry->given & (MTREE_UID | MTREE_UNAME))
		error = keep_owner(manifest, ACCOUNT_USER, user, entry->uid, entry->line, &node->uid);
	if (!error && (entry->given & (MTREE_GID | MTREE_GNAME)))
		error = keep_owner(manifest, ACCOUNT_GROUP, group, entry->gid, entry->line, &node->gid);
	return error;
}

static errcode_t read_xattrs(struct manifest *manifest, const struct mtree_entry *entry, struct tree_node *node)
{
	if (!entry->xattr_count || manifest->options->without_xattrs)
		return 0;
	qsort(entry->xattrs, entry->xattr_count, sizeof(*entry->xattrs), tree_xattr_compare);
	for (size_t i = 1; i < entry->xattr_count; i++)
		if (!strcmp(entry->xattrs[i - 1].name, entry->xattrs[i].name))
			return fail(manifest, entry, EINVAL, "has an extended attribute twice");
	return xattr_table_intern(manifest->xattr_table, entry->xattrs, (uint32_t)entry->xattr_count,
	                          &manifest->last_set, &node->xattrs);
}

static errcode_t contents_problem(const struct manifest *manifest, const struct mtree_entry *entry, const char *path,
                                  errcode_t error, const char *why)
{
	SCOPE_FREE char *whole = path_from(manifest->tree->origins[manifest->directory_origin].path, path);
	SCOPE_FREE char *text = NULL;

	if (!whole || asprintf(&text, "has its contents in %s: %s", whole, why) < 0)
		text = NULL;
	return fail(manifest, entry, error, text);
}

/*
 * The path that contents= gives is the user's own, so symlinks in it are followed. Other users may have put symlinks
 * below the manifest's directory, so those are not followed.
 */
static errcode_t open_contents(struct manifest *manifest, const struct mtree_entry *entry, const char *path, int flags,
                               int *descriptor, struct stat *status)
{
	int directory = manifest->directory;
	errcode_t error = 0;

	/* openat2(2) refuses flags that O_PATH would ignore. */
	if (!(flags & O_PATH))
		flags |= O_NONBLOCK | O_NOCTTY;
	if (entry->given & MTREE_CONTENTS)
		*descriptor = openat(directory, path, flags | O_CLOEXEC);
	else
		error = open_below(&manifest->opener, directory, path, flags, descriptor);
	if (!error && (*descriptor < 0 || fstat(*descriptor, status)))
		error = errno;
	return error;
}

/*
 * Checks that a file has as many bytes as its size says. Files of /proc have a size of 0 whatever can be read from
 * them; files of /sys have a size of one page. Such a file has no blocks, so this is called for files without blocks.
 * It reads the last byte and tries to read one more.
 */
static errcode_t check_end(const struct manifest *manifest, const struct mtree_entry *entry, const char *path,
                           int descriptor, uint64_t size_bytes)
{
	char bytes[2];
	size_t expected = size_bytes > 0;
	ssize_t got = pread(descriptor, bytes, sizeof(bytes), (off_t)(size_bytes - expected));

	if (got < 0)
		return contents_problem(manifest, entry, path, errno, strerror(errno));
	if ((size_t)got != expected)
		return contents_problem(manifest, entry, path, EINVAL,
		                        "its size is not that of what can be read from it, as in /proc and /sys: "
		                        "copy it, and name the copy");
	return 0;
}

/* Finds the data of a file that may have holes. */
static errcode_t find_data(struct manifest *manifest, const struct mtree_entry *entry, const char *path,
                           const struct stat *status)
{
	struct data_segments *segments = &manifest->segments;
	uint64_t size_bytes = (uint64_t)status->st_size;
	bool may_have_holes = data_segments_may_have_holes(manifest->options, status);
	SCOPE_CLOSE int descriptor = -1;
	struct stat opened;

	if (!may_have_holes && status->st_blocks)
		return data_segments_set_whole(segments, size_bytes);
	errcode_t error = open_contents(manifest, entry, path, O_RDONLY, &descriptor, &opened);

	if (error)
		return contents_problem(manifest, entry, path, error, strerror((int)error));
	if (opened.st_ino != status->st_ino || opened.st_dev != status->st_dev)
		return contents_problem(manifest, entry, path, EBUSY, "it has been replaced meanwhile");
	if (!status->st_blocks)
		error = check_end(manifest, entry, path, descriptor, size_bytes);
	if (error)
		return error;
	return data_segments_find(segments, manifest->options, descriptor, size_bytes);
}

/* Reads the data map of a file that has holes. */
static errcode_t read_map(struct manifest *manifest, struct tree_node *node)
{
	struct data_segments *segments = &manifest->segments;
	uint64_t contents = node->contents;

	if (segments->count == (node->size_bytes > 0) &&
	    (!segments->count || segments->list[0].length_bytes == node->size_bytes))
		return 0;
	errcode_t error = data_segments_map(segments, &manifest->tree->memory, &node->data_map);

	if (error)
		return error;
	node->is_sparse = true;
	node->data_map->contents = contents;
	return 0;
}

/* Lines often name the same contents one after another, so a repeated path is not added again. */
static errcode_t name_contents(struct manifest *manifest, const char *path, struct tree_node *node)
{
	errcode_t error = 0;

	if (!manifest->last_path || strcmp(manifest->last_path, path) != 0) {
		free(manifest->last_path);
		manifest->last_path = strdup(path);
		error = manifest->last_path ? host_contents_add_path(manifest->tree, manifest->files_origin, path,
		                                                     &manifest->last_contents) :
		                              ENOMEM;
	}
	node->contents = manifest->last_contents;
	return error;
}

/* node stays without size if an optional file does not exist. */
static errcode_t read_contents(struct manifest *manifest, const struct mtree_entry *entry, struct tree_node *node,
                               bool *is_missing)
{
	const char *path = entry->given & MTREE_CONTENTS ? entry->contents : entry->path;
	/* Else a node's path shows where its contents are. */
	bool is_elsewhere = entry->given & MTREE_CONTENTS || manifest->options->strip_components;
	SCOPE_CLOSE int descriptor = -1;
	struct stat status;
	errcode_t error = open_contents(manifest, entry, path, O_PATH, &descriptor, &status);

	if (error) {
		*is_missing = error == ENOENT && (entry->given & MTREE_OPTIONAL);
		return *is_missing ? 0 : contents_problem(manifest, entry, path, error, strerror((int)error));
	}
	if (!S_ISREG(status.st_mode))
		return contents_problem(manifest, entry, path, EINVAL, "it is not a regular file");
	enum scan_output output = scan_output_of(manifest->options, &status);

	if (output != SCAN_OUTPUTS) {
		SCOPE_FREE char *reason = NULL;

		if (asprintf(&reason, "it is the %s that is being made", scan_output_names[output]) < 0)
			return ENOMEM;
		return contents_problem(manifest, entry, path, EINVAL, reason);
	}
	if (manifest->options->files)
		error = contents_sums_add(&manifest->sums, manifest->directory, path, descriptor, &status);
	node->size_bytes = (uint64_t)status.st_size;
	if (error || manifest->options->only_looks)
		return error;
	node->origin = is_elsewhere ? manifest->files_origin : manifest->directory_origin;
	error = find_data(manifest, entry, path, &status);
	if (!error && is_elsewhere)
		error = name_contents(manifest, path, node);
	return error ? error : read_map(manifest, node);
}

static errcode_t check_size(const struct manifest *manifest, const struct mtree_entry *entry,
                            const struct tree_node *node)
{
	SCOPE_FREE char *why = NULL;

	if (!(entry->given & MTREE_SIZE) || entry->size_bytes == node->size_bytes)
		return 0;
	if (asprintf(&why, "should have %llu bytes, but has %llu", (unsigned long long)entry->size_bytes,
	             (unsigned long long)node->size_bytes) < 0)
		why = NULL;
	return fail(manifest, entry, EINVAL, why);
}

static errcode_t read_attributes(struct manifest *manifest, const struct mtree_entry *entry, struct tree_node *node)
{
	struct mtree_entry taken = *entry;

	if (manifest->options->without_flags)
		taken.given &= ~(unsigned int)MTREE_FLAGS;
	if (S_ISLNK(node->mode))
		taken.given &= ~(unsigned int)MTREE_MODE;
	errcode_t error = mtree_entry_apply(&taken, &manifest->tree->memory, node);

	if (!error)
		error = mtree_entry_protect(entry, manifest->tree, node);
	if (!error)
		error = read_owner(manifest, entry, node);
	return error ? error : read_xattrs(manifest, entry, node);
}

static bool is_excluded(const struct manifest *manifest, const struct mtree_entry *entry, uint32_t type)
{
	const struct exclude *exclude = manifest->options->exclude;

	return exclude && *entry->path && exclude_covers(exclude, entry->path, type == S_IFDIR);
}

static errcode_t add_entry(struct manifest *manifest, const struct mtree_entry *entry)
{
	const bool may_be_directory = !(entry->given & MTREE_TYPE) || entry->type == S_IFDIR;
	const char *path = source_strip_name(*entry->path ? entry->path : ".", manifest->options->strip_components,
	                                     may_be_directory && *entry->path);
	const struct tree_node *earlier = path ? tree_builder_find(manifest->builder, path) : NULL;
	struct mtree_entry stripped = *entry;
	bool is_missing = false;

	if (!path)
		return 0;
	stripped.path = strcmp(path, ".") ? path : "";

	if (earlier && earlier->is_implied)
		earlier = NULL;
	uint32_t type = entry->given & MTREE_TYPE ? entry->type : earlier ? earlier->mode & S_IFMT : 0;

	if (is_excluded(manifest, &stripped, type))
		return 0;
	if (!type)
		return fail(manifest, entry, EINVAL, "has no type=");
	if (entry->given & MTREE_NOCHANGE)
		return fail(manifest, entry, EINVAL, "has nochange, which only a manifest for --metadata can have");
	bool is_new = !earlier || (earlier->mode & S_IFMT) != type;
	const struct timespec *mtime = &manifest->mtime;
	struct tree_node node = is_new ? mtree_plain_node(type, mtime->tv_sec, (uint32_t)mtime->tv_nsec) : *earlier;
	errcode_t error = read_attributes(manifest, entry, &node);
	const char *lacks = is_new ? mtree_entry_lacks(entry, type) : NULL;

	if (!error && lacks)
		error = fail(manifest, entry, EINVAL, lacks);
	if (!error && type == S_IFREG && (is_new || (entry->given & MTREE_CONTENTS)))
		error = read_contents(manifest, entry, &node, &is_missing);
	if (!error && !is_missing && type == S_IFREG)
		error = check_size(manifest, entry, &node);
	if (error || is_missing)
		return error;
	error = tree_builder_add(manifest->builder, path, &node);
	if (error)
		return fail(manifest, entry, error, tree_builder_reason(manifest->builder));
	return digests_note(&manifest->digests, &stripped);
}

static errcode_t visit(void *context, const struct mtree_entry *entry, struct problem *problem)
{
	struct manifest *manifest = context;

	if (interrupt_pending())
		return problem_set(problem, EINTR, NULL, "stopped");
	errcode_t error = add_entry(manifest, entry);

	if (error)
		return fail(manifest, entry, error, NULL);
	progress_add(manifest->options->progress, 0, 1);
	return 0;
}

/* Opens the manifest's directory, which becomes two origins. */
static errcode_t open_directory(struct manifest *manifest)
{
	struct tree *tree = manifest->tree;
	const char *path = tree->origins[0].path, *slash = strrchr(path, '/');
	SCOPE_FREE char *directory = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");

	if (!directory)
		return ENOMEM;
	int descriptor = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (descriptor < 0)
		return problem_set(manifest->problem, errno, directory, "cannot open directory");
	manifest->directory = descriptor;
	errcode_t error = host_contents_add(tree, directory, descriptor, false, &manifest->directory_origin);
	int again = error ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0);

	if (!error)
		error = again < 0 ? errno : host_contents_add(tree, directory, again, true, &manifest->files_origin);
	return error;
}

/* Looks up the ids of all names, in the order in which the manifest first gives them. */
static errcode_t find_ids(const struct manifest *manifest)
{
	struct account_names accounts = { .tree = manifest->tree };
	errcode_t error = 0;

	for (size_t i = 0; !error && i < manifest->owner_count; i++) {
		struct owner *owner = manifest->owners[i];

		if (!owner->name)
			continue;
		SCOPE_FREE char *origin = text_line_origin(manifest->name, owner->line);

		error = origin ? account_names_find(&accounts, owner->kind, owner->name, origin, &owner->id,
		                                    manifest->problem) :
		                 ENOMEM;
	}
	account_names_destroy(&accounts);
	return error;
}

/* Replaces the numbers of owners in the tree by their ids. */
static errcode_t resolve_owners(const struct manifest *manifest)
{
	struct tree *tree = manifest->tree;
	errcode_t error = find_ids(manifest);

	for (uint32_t i = 0; !error && i < tree->node_count; i++) {
		struct tree_node *node = &tree->nodes[i];

		node->uid = manifest->owners[node->uid]->id;
		node->gid = manifest->owners[node->gid]->id;
	}
	return error;
}

static errcode_t make_tree(struct manifest *manifest, struct pool *pool)
{
	struct tree *tree = manifest->tree;
	errcode_t error = open_directory(manifest);

	const struct stored_origin *text = stored_contents_of(tree, 0);

	manifest->mtime = text->version.mtime;
	if (!error)
		error = add_owner(manifest, &(struct owner){ 0 }, &(uint32_t){ 0 });
	if (!error)
		error = tree_builder_create(tree, manifest->options->exclude, manifest->options->counts,
		                            &manifest->builder);
	if (!error)
		error = xattr_table_create(&manifest->xattr_table);
	if (!error)
		xattr_table_count(manifest->xattr_table, manifest->options->counts);
	if (!error)
		error = archive_input_read_manifest(text->descriptor, manifest->name, visit, manifest,
		                                    manifest->problem);
	if (!error && manifest->options->strip_components && tree_builder_order(manifest->builder) <= 1)
		error = source_strip_problem(manifest->name, manifest->options->strip_components, manifest->problem);
	if (!error)
		error = tree_builder_finish(manifest->builder, pool, NULL, manifest->problem);
	if (!error)
		error = xattr_table_finish(manifest->xattr_table, tree);
	if (!error)
		error = resolve_owners(manifest);
	if (!error && manifest->options->files)
		error = contents_sums_name(&manifest->sums, tree->origins[manifest->directory_origin].path,
		                           manifest->options->files);
	return error || manifest->options->only_looks ?
	               error :
	               digests_check(&manifest->digests, tree, manifest->name, pool, manifest->problem);
}

static errcode_t scan_manifest(struct source *source, const struct scan_options *options, struct pool *pool,
                               struct tree *tree, struct problem *problem)
{
	struct manifest manifest = {
		.name = source_file_name(source),
		.options = options,
		.problem = problem,
		.tree = tree,
	};
	errcode_t error = options->files ? run_files_read(options->files, "source", source->path, 0) : 0;

	if (!error)
		error = source_file_open(source, options, tree, problem);
	if (!error)
		error = make_tree(&manifest, pool);
	tree_builder_destroy(manifest.builder);
	xattr_table_destroy(manifest.xattr_table);
	tdestroy(manifest.sorted_owners, keep);
	free(manifest.owners);
	digests_destroy(&manifest.digests);
	contents_sums_clear(&manifest.sums);
	free(manifest.last_path);
	free(manifest.segments.list);
	return error ? problem_set(problem, error, manifest.name, "cannot read") : 0;
}

static bool has_prefix(struct source *source)
{
	return source_cut_prefix(source, ARCHIVE_KIND_MANIFEST_PREFIX);
}

static bool is_manifest_name(struct source *source)
{
	return archive_kind_is_manifest_name(source->path);
}

const struct source_kind manifest_source = {
	.takes_prefix = has_prefix,
	.takes_name = is_manifest_name,
	.scan = scan_manifest,
	.names_files = true,
};
