// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Listing a directory, whose names are sorted, and examining its entries: attributes, link targets, xattrs and the
 * holes of sparse files.
 */
#include "source/host/directory_scan.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "source/tree/file_flags.h"
#include "support/run/interrupt.h"
#include "support/vector.h"

struct ascent scan_step(const void *tree, uint32_t number)
{
	const struct scan_directory *directory = &((const struct scan *)tree)->directories[number];

	return (struct ascent){ directory->node->name, directory->node->name_bytes, directory->parent };
}

static char *scan_path(const struct scan *scan, uint32_t directory)
{
	return path_text(scan->root_path, scan_step, scan, directory, NULL);
}

errcode_t scan_problem(const struct scan *scan, uint32_t directory, const char *name, errcode_t error,
                       const char *action, struct problem *problem)
{
	SCOPE_FREE char *path = path_text(scan->root_path, scan_step, scan, directory, name);

	return problem_set(problem, error, path, action);
}

/* What examining an entry needs to know. */
struct place {
	struct scan *scan;
	struct scan_worker *worker;
	uint32_t directory;
	int descriptor;         /* of the directory */
	char *path, *path_name; /* only with exclude: from the root to the entry, whose name is written there */
	struct problem *problem;
};

static errcode_t fail(const struct place *place, const struct tree_node *node, errcode_t error, const char *action)
{
	return scan_problem(place->scan, place->directory, node->name, error, action, place->problem);
}

static void set_attributes(struct tree_node *node, const struct stat *status)
{
	node->mode = (uint16_t)status->st_mode;
	node->uid = status->st_uid;
	node->gid = status->st_gid;
	node->mtime_seconds = status->st_mtim.tv_sec;
	node->mtime_nanoseconds = (uint32_t)status->st_mtim.tv_nsec;
}

/* A directory's, see directory_scan.h. */
static void set_identity(struct tree_node *node, const struct stat *status)
{
	node->size_bytes = status->st_ino;
	node->device.major = major(status->st_dev);
	node->device.minor = minor(status->st_dev);
}

/* A device that says of a directory that it has no xattrs is not asked again. */
static errcode_t intern_xattrs(struct scan *scan, struct scan_worker *worker, struct tree_node *node, uint64_t device,
                               errcode_t error)
{
	if (error == ENOTSUP) {
		if (S_ISDIR(node->mode)) {
			worker->knows_bare_device = true;
			worker->bare_device = device;
		}
		return 0;
	}
	if (error)
		return error;
	return xattr_table_intern(scan->xattr_table, worker->xattrs.list, worker->xattrs.count, &worker->last_set,
	                          &node->xattrs);
}

/* Names are sorted, but large directories are examined after small ones. */
static bool is_before(const struct scan_unread *one, const struct scan_unread *other)
{
	if (one->directory != other->directory)
		return one->directory < other->directory;
	return !one->name || (other->name && strcmp(one->name, other->name) < 0);
}

void scan_add_unread(struct scan_unread *all, const struct scan_unread *more)
{
	uint64_t count = all->count + more->count;

	if (more->count && (!all->count || is_before(more, all)))
		*all = *more;
	all->count = count;
}

static void note_unread(struct scan_worker *worker, uint32_t directory, const char *name)
{
	const struct host_xattrs *xattrs = &worker->xattrs;
	const struct scan_unread unread = { xattrs->unread_count, xattrs->unread_error, directory, name };

	scan_add_unread(&worker->unread, &unread);
}

static errcode_t read_xattrs(const struct place *place, struct tree_node *node, uint64_t device)
{
	struct scan_worker *worker = place->worker;

	if (place->scan->options->without_xattrs || (worker->knows_bare_device && worker->bare_device == device))
		return 0;
	errcode_t error = host_xattrs_read_at(&worker->xattrs, place->descriptor, node->name);

	if (error && worker->xattrs.lacks_proc) {
		SCOPE_FREE char *path = scan_path(place->scan, place->directory);

		return problem_set_reason(place->problem, ENOENT, path, "cannot read extended attributes",
		                          "/proc is not mounted: mount it, or leave them out with --no-xattrs");
	}
	error = intern_xattrs(place->scan, worker, node, device, error);
	note_unread(worker, place->directory, node->name);
	return error ? fail(place, node, error, "cannot read extended attributes") : 0;
}

/* st_size is not asked: some filesystems (proc) get it wrong. */
static errcode_t read_target(const struct place *place, struct tree_node *node)
{
	char target[PATH_MAX];
	ssize_t bytes = readlinkat(place->descriptor, node->name, target, sizeof(target));
	errcode_t error = bytes < 0 ? errno : bytes == 0 ? EINVAL : bytes == sizeof(target) ? ENAMETOOLONG : 0;

	if (!error) {
		node->target = arena_copy_string(&place->worker->memory, target, (size_t)bytes);
		node->size_bytes = (uint64_t)bytes;
		error = node->target ? 0 : ENOMEM;
	}
	return error ? fail(place, node, error, "cannot read symbolic link") : 0;
}

static errcode_t read_data_map(const struct place *place, struct tree_node *node)
{
	struct scan_worker *worker = place->worker;
	const struct data_segments *segments = &worker->segments;
	SCOPE_CLOSE int descriptor = -1;
	struct tree_data_map *map;
	errcode_t error = open_below(&worker->descender.opener, place->descriptor, node->name,
	                             O_RDONLY | O_NOCTTY | O_NONBLOCK, &descriptor);

	if (error)
		return fail(place, node, error, "cannot open");
	error = data_segments_find(&worker->segments, descriptor, node->size_bytes);
	if (!error && segments->count == 1 && segments->list[0].length_bytes == node->size_bytes)
		return 0;
	if (!error)
		error = data_segments_map(segments, &worker->memory, &map);
	if (error)
		return fail(place, node, error, "cannot look for holes");
	node->data_map = map;
	node->is_sparse = true;
	return 0;
}

static errcode_t note_link(const struct place *place, struct tree_node *node, const struct stat *status)
{
	struct scan_worker *worker = place->worker;

	if (worker->linked_count >= UINT32_MAX)
		return fail(place, node, EOVERFLOW, "cannot note hard link");
	errcode_t error = vector_reserve(&worker->linked, &worker->linked_capacity, worker->linked_count + 1,
	                                 sizeof(*worker->linked));

	if (error)
		return fail(place, node, error, "cannot note hard link");
	node->links = 1 + (uint32_t)(worker - place->scan->workers);
	node->link_to = (uint32_t)worker->linked_count;
	worker->linked[worker->linked_count++] =
		(struct scan_linked){ status->st_dev, status->st_ino, status->st_mode & S_IFMT, 0 };
	return 0;
}

static bool is_skipped(const struct scan_options *options, const struct stat *status)
{
	if (!scan_is_image(options, status))
		return false;
	if (options->skipped)
		__atomic_store_n(options->skipped, true, __ATOMIC_RELAXED);
	return true;
}

static bool is_excluded(const struct place *place, const struct tree_node *node, bool is_directory)
{
	if (!place->path)
		return false;
	memcpy(place->path_name, node->name, node->name_bytes + 1u);
	/* Without the slash at its beginning. */
	return exclude_matches(place->scan->options->exclude, place->path + 1, is_directory);
}

static errcode_t leave_out(const struct place *place)
{
	__atomic_store_n(&place->scan->directories[place->directory].has_left_out, true, __ATOMIC_RELAXED);
	return 0;
}

static errcode_t examine(const struct place *place, struct tree_node *node)
{
	struct stat status;
	errcode_t error = 0;

	/* What is excluded, whatever it is, may be what cannot even be examined. */
	bool as_file = is_excluded(place, node, false);

	if (as_file && is_excluded(place, node, true))
		return leave_out(place);
	if (fstatat(place->descriptor, node->name, &status, AT_SYMLINK_NOFOLLOW))
		return fail(place, node, errno, "cannot examine");
	if (is_skipped(place->scan->options, &status) ||
	    (S_ISDIR(status.st_mode) ? is_excluded(place, node, true) : as_file))
		return leave_out(place);
	set_attributes(node, &status);
	switch (status.st_mode & S_IFMT) {
	case S_IFDIR:
		set_identity(node, &status);
		break;
	case S_IFREG:
		node->size_bytes = (uint64_t)status.st_size;
		if (data_segments_may_have_holes(place->scan->options, &status))
			error = read_data_map(place, node);
		break;
	case S_IFLNK:
		error = read_target(place, node);
		break;
	case S_IFCHR:
	case S_IFBLK:
		/* As many bits as Linux has for them; fakeroot(1) shows others. */
		if (major(status.st_rdev) >= 1u << 12 || minor(status.st_rdev) >= 1u << 20)
			return fail(place, node, EOVERFLOW, "cannot read its device numbers");
		node->device.major = major(status.st_rdev);
		node->device.minor = minor(status.st_rdev);
		break;
	}
	if (!error && status.st_nlink > 1 && !S_ISDIR(status.st_mode))
		error = note_link(place, node, &status);
	return error ? error : read_xattrs(place, node, status.st_dev);
}

/* Room for the path of any entry of a directory, with the directory's part written. */
static errcode_t begin_path(struct place *place)
{
	SCOPE_FREE char *directory = path_text("", scan_step, place->scan, place->directory, NULL);

	if (!directory || asprintf(&place->path, "%s/%*s", directory, UINT8_MAX, "") < 0) {
		place->path = NULL;
		return ENOMEM;
	}
	place->path_name = place->path + strlen(directory) + 1;
	return 0;
}

errcode_t scan_examine(struct scan *scan, unsigned int worker, uint32_t number, int descriptor, uint32_t first,
                       uint32_t count, struct problem *problem)
{
	struct scan_directory *directory = &scan->directories[number];
	SCOPE_FREE char *entry_path = NULL;
	uint32_t subdirectories = 0;

	if (interrupt_pending())
		return problem_set(problem, EINTR, NULL, "stopped");
	struct place place = { scan, &scan->workers[worker], number, descriptor, NULL, NULL, problem };

	if (scan->options->exclude && begin_path(&place))
		return scan_problem(scan, number, NULL, ENOMEM, "cannot examine", problem);
	entry_path = place.path;

	for (uint32_t i = first; i < first + count; i++) {
		errcode_t error = examine(&place, &directory->children[i]);

		if (error)
			return error;
		subdirectories += S_ISDIR(directory->children[i].mode);
	}
	if (subdirectories)
		__atomic_fetch_add(&directory->subdirectory_count, subdirectories, __ATOMIC_RELAXED);
	progress_add(scan->options->progress, 0, count);
	return 0;
}

errcode_t scan_examine_root(struct scan *scan, struct problem *problem)
{
	struct scan_worker *worker = &scan->workers[0];
	struct tree_node *root = &scan->root_node;
	struct stat status;

	if (fstat(scan->root, &status))
		return problem_set(problem, errno, scan->root_path, "cannot examine");
	set_attributes(root, &status);
	root->name = "";
	set_identity(root, &status);
	errcode_t error = scan->options->without_xattrs ? ENOTSUP : host_xattrs_read(&worker->xattrs, scan->root);

	error = intern_xattrs(scan, worker, root, status.st_dev, error);
	note_unread(worker, ASCEND_ROOT, NULL);
	if (error)
		return problem_set(problem, error, scan->root_path, "cannot read extended attributes");
	progress_add(scan->options->progress, 0, 1);
	return 0;
}

static int compare_names(const void *one, const void *other, void *listing)
{
	const struct scan_name *first = one, *second = other;

	if (first->prefix != second->prefix)
		return first->prefix < second->prefix ? -1 : 1;
	/* A shorter name's prefix ends in NUL bytes, so equal prefixes of short names mean equal names. */
	return strcmp((char *)listing + first->start, (char *)listing + second->start);
}

static errcode_t add_name(struct scan_worker *worker, const char *name, size_t count, size_t *used)
{
	size_t bytes = strlen(name);
	uint64_t prefix = 0;

	if (bytes > UINT8_MAX)
		return ENAMETOOLONG;
	if (*used + bytes + 1 > UINT32_MAX || count >= UINT32_MAX)
		return EOVERFLOW;
	errcode_t error = vector_reserve(&worker->listing, &worker->listing_capacity, *used + bytes + 1, 1);

	if (!error)
		error = vector_reserve(&worker->names, &worker->names_capacity, count + 1, sizeof(*worker->names));
	if (error)
		return error;
	memcpy(worker->listing + *used, name, bytes + 1);
	memcpy(&prefix, name, bytes < sizeof(prefix) ? bytes : sizeof(prefix));
	worker->names[count] = (struct scan_name){ be64toh(prefix), (uint32_t)*used, (uint32_t)bytes };
	*used += bytes + 1;
	return 0;
}

/* getdents64() itself: opendir() would cost two more calls and an allocation a directory. */
static errcode_t read_names(struct scan_worker *worker, int descriptor, size_t *ret)
{
	size_t count = 0, used = 0;
	ssize_t got;

	while ((got = getdents64(descriptor, worker->entries, SCAN_ENTRIES_BYTES)) > 0) {
		for (ssize_t at = 0; at < got;) {
			const struct dirent64 *entry = (const struct dirent64 *)(worker->entries + at);

			at += entry->d_reclen;
			if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
				continue;
			errcode_t error = add_name(worker, entry->d_name, count, &used);

			if (error)
				return error;
			count++;
		}
		if (interrupt_pending())
			return EINTR;
	}
	*ret = count;
	return got < 0 ? errno : 0;
}

#define CHUNK_BYTES ((size_t)1 << 20)

void children_chunk_release(struct children_chunk *chunk)
{
	if (chunk && __atomic_sub_fetch(&chunk->users, 1, __ATOMIC_ACQ_REL) == 0)
		munmap(chunk, chunk->size_bytes);
}

static struct children_chunk *make_chunk(size_t bytes)
{
	size_t size_bytes = sizeof(struct children_chunk) + bytes;
	struct children_chunk *chunk =
		mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (chunk == MAP_FAILED)
		return NULL;
	*chunk = (struct children_chunk){ .size_bytes = size_bytes, .used_bytes = sizeof(*chunk), .users = 1 };
	return chunk;
}

/* Zeros for a directory's children. Those of a large one have a chunk of their own. */
static errcode_t take_children(struct scan_worker *worker, struct scan_directory *directory, size_t count)
{
	size_t bytes = count * sizeof(*directory->children);
	bool is_large = bytes > CHUNK_BYTES / 4;
	struct children_chunk *chunk = is_large ? NULL : worker->chunk;

	if (!chunk || chunk->size_bytes - chunk->used_bytes < bytes) {
		chunk = make_chunk(is_large ? bytes : CHUNK_BYTES);
		if (!chunk)
			return ENOMEM;
		if (!is_large) {
			children_chunk_release(worker->chunk);
			worker->chunk = chunk;
		}
	}
	if (!is_large)
		__atomic_add_fetch(&chunk->users, 1, __ATOMIC_RELAXED);
	directory->chunk = chunk;
	directory->children = (void *)((char *)chunk + chunk->used_bytes);
	chunk->used_bytes += bytes;
	return 0;
}

/* Sorts the names and makes nodes of them; a name that the host gives twice is one entry. */
static errcode_t make_children(struct scan_worker *worker, struct scan_directory *directory, size_t count)
{
	if (!count)
		return 0;
	qsort_r(worker->names, count, sizeof(*worker->names), compare_names, worker->listing);
	errcode_t error = take_children(worker, directory, count);

	if (error)
		return error;
	for (size_t i = 0; i < count; i++) {
		const struct scan_name *name = &worker->names[i];

		if (i && !compare_names(name - 1, name, worker->listing))
			continue;
		struct tree_node *node = &directory->children[directory->child_count++];

		node->name = arena_copy_string(&worker->memory, worker->listing + name->start, name->bytes);
		node->name_bytes = (uint8_t)name->bytes;
		if (!node->name)
			return ENOMEM;
	}
	return 0;
}

static bool has_same_device(const struct tree_node *one, const struct tree_node *other)
{
	return one->device.major == other->device.major && one->device.minor == other->device.minor;
}

/*
 * A loop can only be made with mounts. Climbing costs nothing next to opening: the path to open was made in the
 * same way.
 */
static bool is_own_ancestor(const struct scan *scan, uint32_t number)
{
	const struct tree_node *node = scan->directories[number].node;

	while (number != ASCEND_ROOT) {
		number = scan->directories[number].parent;
		if (scan->directories[number].node->size_bytes == node->size_bytes &&
		    has_same_device(scan->directories[number].node, node))
			return true;
	}
	return false;
}

errcode_t scan_list(struct scan *scan, unsigned int worker_number, uint32_t number, struct problem *problem)
{
	struct scan_worker *worker = &scan->workers[worker_number];
	struct scan_directory *directory = &scan->directories[number];
	SCOPE_CLOSE int descriptor = -1;
	size_t count = 0;

	if (interrupt_pending())
		return problem_set(problem, EINTR, NULL, "stopped");
	/*
	 * Directories only: what a file says of its device is not always that of the directory that it is in
	 * (overlayfs).
	 */
	if (scan->options->one_file_system && !has_same_device(directory->node, &scan->root_node))
		return 0;
	if (is_own_ancestor(scan, number)) {
		SCOPE_FREE char *path = scan_path(scan, number);

		return problem_set_reason(problem, ELOOP, path, "cannot read directory",
		                          "it is one of its own parent directories (a loop of mounts)");
	}
	errcode_t error = descender_open(&worker->descender, number, &descriptor);

	if (error)
		return scan_problem(scan, number, NULL, error, "cannot open directory", problem);
	/* Its parent's entries, of which its node is one, have been examined; no other worker looks at this one now. */
	if (!scan->options->without_flags)
		directory->node->flags = file_flags_read(descriptor);
	directory->node->has_flags = true;
	error = read_names(worker, descriptor, &count);
	if (!error)
		error = make_children(worker, directory, count);
	if (error)
		return scan_problem(scan, number, NULL, error, "cannot read directory", problem);
	if (directory->child_count > SCAN_CHUNK)
		return 0;
	return scan_examine(scan, worker_number, number, descriptor, 0, directory->child_count, problem);
}
