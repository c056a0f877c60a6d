/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Examines the entries of a directory: attributes, link targets, xattrs and the holes of sparse files. */
#include "source/host/large_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "source/host/projects.h"
#include "source/kind/run_files.h"
#include "tree/details.h"
#include "tree/file_flags.h"
#include "support/run/interrupt.h"
#include "support/vector.h"

#define NANOSECONDS 1000000000u

struct ascent scan_step(const void *tree, uint32_t number)
{
	const struct scan_directory *directory = &((const struct scan *)tree)->directories[number];

	return (struct ascent){ directory->entry->node.name, directory->entry->node.name_bytes, directory->parent };
}

char *scan_path(const struct scan *scan, uint32_t directory)
{
	return path_text(scan->root_path, scan_step, scan, directory, NULL);
}

errcode_t scan_problem(const struct scan *scan, uint32_t directory, const char *name, errcode_t error,
                       const char *action, struct problem *problem)
{
	SCOPE_FREE char *path = path_text(scan->root_path, scan_step, scan, directory, name);

	return problem_set(problem, error, path, action);
}

/* The context for examining an entry. */
struct place {
	struct scan *scan;
	struct scan_worker *worker;
	uint32_t directory;
	int descriptor; /* of the directory */
	char *path,
		*path_name; /* with exclude only: the path from the root; the entry's name is written at path_name */
	struct project project; /* the directory's, if projects are asked for */
	bool is_made_up;        /* the sizes of the directory's files are made up */
	bool has_outputs;       /* this run makes files in the directory */
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

static void set_identity(struct scan *scan, struct scan_entry *entry, const struct stat *status)
{
	if (status->st_size >= LARGE_DIRECTORY_BYTES)
		__atomic_store_n(&scan->has_found_large, true, __ATOMIC_RELAXED);
	entry->directory.inode = status->st_ino;
	entry->directory.device = status->st_dev;
}

/* Interns the xattrs that were read. A device whose directory has said that it has no xattrs is not asked again. */
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

/* Orders unread xattrs by directory and name. Names are sorted, but large directories are examined after small ones. */
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
	node->has_lost_xattr = worker->xattrs.has_unknown;
	error = intern_xattrs(place->scan, worker, node, device, error);
	note_unread(worker, place->directory, node->name);
	return error ? fail(place, node, error, "cannot read extended attributes") : 0;
}

/* Reads a symlink's target. st_size is not used, since some filesystems (proc) get it wrong. */
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
	error = data_segments_find(&worker->segments, place->scan->options, descriptor, node->size_bytes);
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

static errcode_t add_detail(struct scan *scan, struct tree_node *node, const struct tree_detail *detail)
{
	pthread_mutex_lock(&scan->detail_lock);
	errcode_t error = tree_add_detail(scan->tree, detail, &node->detail);
	pthread_mutex_unlock(&scan->detail_lock);
	return error;
}

/* Returns the project of an examined directory. */
static struct project project_of(struct scan *scan, uint32_t directory)
{
	const struct tree_node *node = &scan->directories[directory].entry->node;
	struct project project = { .is_inherited = node->flags & FILE_FLAGS_OF_PROJECT };

	pthread_mutex_lock(&scan->detail_lock);
	project.id = tree_detail(scan->tree, node)->project;
	pthread_mutex_unlock(&scan->detail_lock);
	return project;
}

static errcode_t read_project(const struct place *place, const char *name, struct tree_node *node,
                              struct tree_detail *detail)
{
	struct project project;
	errcode_t error = project_read(place->descriptor, name, node->mode, &place->project, &project);

	if (error)
		return fail(place, node, error, "cannot read its project");
	detail->project = project.id;
	node->flags |= project.is_inherited ? FILE_FLAGS_OF_PROJECT : 0;
	return 0;
}

static struct tree_time time_of(const struct timespec *time)
{
	return (struct tree_time){ time->tv_sec, (uint32_t)time->tv_nsec, true };
}

/* Only statx(2) tells when a file was made, if its filesystem knows. */
static void read_times(const struct place *place, const char *name, const struct stat *status,
                       struct tree_detail *detail)
{
	struct statx answer;

	detail->atime = time_of(&status->st_atim);
	detail->ctime = time_of(&status->st_ctim);
	if (!statx(place->descriptor, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &answer) &&
	    (answer.stx_mask & STATX_BTIME) && answer.stx_btime.tv_nsec < NANOSECONDS)
		detail->crtime = (struct tree_time){ answer.stx_btime.tv_sec, answer.stx_btime.tv_nsec, true };
}

static bool has_verity(const struct place *place, const char *name, const struct stat *status)
{
	struct scan_worker *worker = place->worker;

	if (worker->verity_device != status->st_dev)
		worker->verity_support = HOST_VERITY_UNKNOWN;
	worker->verity_device = status->st_dev;
	if (worker->verity_support == HOST_VERITY_UNKNOWN)
		worker->verity_support = host_verity_ask(place->descriptor, name);
	return worker->verity_support == HOST_VERITY_POSSIBLE && host_verity_has(place->descriptor, name);
}

static errcode_t read_detail(const struct place *place, struct tree_node *node, const struct stat *status)
{
	const struct scan_options *options = place->scan->options;
	const char *name = *node->name ? node->name : ".";
	struct tree_detail detail = { 0 };
	errcode_t error = 0;

	bool is_protected = S_ISREG(status->st_mode) && has_verity(place, name, status);

	if (!options->asks_for_projects && !options->asks_for_times && !is_protected)
		return 0;
	if (is_protected)
		error = host_verity_read(place->descriptor, name, &place->worker->memory, &detail.verity);
	if (error)
		return fail(place, node, error, "cannot read what fs-verity has of it");
	if (options->asks_for_times)
		read_times(place, name, status, &detail);
	if (options->asks_for_projects)
		error = read_project(place, name, node, &detail);
	if (error)
		return error;
	error = add_detail(place->scan, node, &detail);
	return error ? fail(place, node, error, "cannot examine") : 0;
}

static errcode_t note_link(const struct place *place, struct scan_entry *entry, const struct stat *status)
{
	struct scan_worker *worker = place->worker;

	if (worker->linked_count >= UINT32_MAX)
		return fail(place, &entry->node, EOVERFLOW, "cannot note hard link");
	errcode_t error = vector_reserve(&worker->linked, &worker->linked_capacity, worker->linked_count + 1,
	                                 sizeof(*worker->linked));

	if (error)
		return fail(place, &entry->node, error, "cannot note hard link");
	entry->linked.worker = 1 + (uint32_t)(worker - place->scan->workers);
	entry->linked.index = (uint32_t)worker->linked_count;
	worker->linked[worker->linked_count++] =
		(struct scan_linked){ status->st_dev, status->st_ino, status->st_mode & S_IFMT, 0 };
	return 0;
}

/* Some headers lack these numbers. */
#define CONFIGFS_MAGIC 0x62656570
#define FUSE_CONTROL_MAGIC 0x65735543

/*
 * True if the sizes of a filesystem's files are made up. Files of procfs, sysfs and similar ones claim to have 0 bytes,
 * or a page, whatever can be read from them. Reading them to find out would wait for ever (trace_pipe) or take away
 * bytes that others should read (kmsg), so statfs(2) is asked.
 */
static bool has_made_up_sizes(int descriptor)
{
	static const unsigned long types[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC,          CGROUP_SUPER_MAGIC,   CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
		TRACEFS_MAGIC,    SECURITYFS_MAGIC,     SELINUX_MAGIC,        SMACK_MAGIC,         BPF_FS_MAGIC,
		BINFMTFS_MAGIC,   RDTGROUP_SUPER_MAGIC, XENFS_SUPER_MAGIC,    NSFS_MAGIC,          AAFS_MAGIC,
		CONFIGFS_MAGIC,   FUSE_CONTROL_MAGIC,   OPENPROM_SUPER_MAGIC,
	};
	struct statfs status;

	if (fstatfs(descriptor, &status))
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (((unsigned long)status.f_type & UINT32_MAX) == types[i])
			return true;
	return false;
}

/* Asks once for each device, since all directories of a device are alike in this. */
static bool is_made_up(struct scan_worker *worker, const struct scan_directory *directory, int descriptor)
{
	uint64_t device = directory->entry->directory.device;

	if (!worker->knows_device || worker->device != device)
		worker->device_is_made_up = has_made_up_sizes(descriptor);
	worker->knows_device = true;
	worker->device = device;
	return worker->device_is_made_up;
}

static errcode_t refuse_made_up(const struct place *place)
{
	SCOPE_FREE char *path = scan_path(place->scan, place->directory);

	return problem_set_reason(place->problem, EINVAL, path, "cannot read directory",
	                          "its files do not say how much can be read from them, as in /proc and /sys: leave it "
	                          "out with --one-file-system or --exclude");
}

static bool is_excluded(const struct place *place, const struct tree_node *node, bool is_directory)
{
	if (!place->path)
		return false;
	memcpy(place->path_name, node->name, node->name_bytes + 1u);
	/* Patterns have no slash at their beginning. */
	return exclude_matches(place->scan->options->exclude, place->path + 1, is_directory);
}

static void add_to_sum(const struct place *place, const char *name, size_t name_bytes, const struct stat *status)
{
	const struct scan *scan = place->scan;

	if (scan->options->files && !scan->options->files->names_outputs_only)
		folder_sum_add(&place->worker->sum, scan->directories[place->directory].key, name, name_bytes, status,
		               S_ISDIR(status->st_mode) &&
		                       output_folders_have(&scan->outputs, status->st_ino, status->st_dev));
}

static errcode_t leave_out(const struct place *place)
{
	__atomic_store_n(&place->scan->directories[place->directory].has_left_out, true, __ATOMIC_RELAXED);
	return 0;
}

static errcode_t examine(const struct place *place, struct scan_entry *entry)
{
	struct tree_node *node = &entry->node;
	struct stat status;
	errcode_t error = 0;

	/* An entry that is excluded whatever its type may be one that cannot even be examined. */
	bool as_file = is_excluded(place, node, false);

	if (as_file && is_excluded(place, node, true))
		return leave_out(place);
	if (place->is_made_up && !as_file && !is_excluded(place, node, true))
		return refuse_made_up(place);
	if (fstatat(place->descriptor, node->name, &status, AT_SYMLINK_NOFOLLOW))
		return fail(place, node, errno, "cannot examine");
	if (output_is_left_out(place->scan->options, place->has_outputs, node->name, &status) ||
	    (S_ISDIR(status.st_mode) ? is_excluded(place, node, true) : as_file))
		return leave_out(place);
	if (place->is_made_up)
		return refuse_made_up(place);
	set_attributes(node, &status);
	add_to_sum(place, node->name, node->name_bytes, &status);
	switch (status.st_mode & S_IFMT) {
	case S_IFDIR:
		set_identity(place->scan, entry, &status);
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
		/* Linux has so many bits for device numbers; fakeroot(1) shows others. */
		if (major(status.st_rdev) >= 1u << 12 || minor(status.st_rdev) >= 1u << 20)
			return fail(place, node, EOVERFLOW, "cannot read its device numbers");
		node->device.major = major(status.st_rdev);
		node->device.minor = minor(status.st_rdev);
		break;
	}
	if (!error && status.st_nlink > 1 && !S_ISDIR(status.st_mode))
		error = note_link(place, entry, &status);
	if (!error)
		error = read_detail(place, node, &status);
	return error ? error : read_xattrs(place, node, status.st_dev);
}

/* Makes room for the path of any entry of a directory, and writes the directory's part. */
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

errcode_t scan_examine(struct scan *scan, unsigned int worker, uint32_t number, int descriptor,
                       struct scan_entry *entries, uint32_t count, struct problem *problem)
{
	struct scan_directory *directory = &scan->directories[number];
	SCOPE_FREE char *entry_path = NULL;
	uint32_t subdirectories = 0;
	uint64_t bytes = 0;

	if (interrupt_pending())
		return problem_set(problem, EINTR, NULL, "stopped");
	struct place place = {
		.scan = scan,
		.worker = &scan->workers[worker],
		.directory = number,
		.descriptor = descriptor,
		.is_made_up = is_made_up(&scan->workers[worker], directory, descriptor),
		.has_outputs = output_folders_have(&scan->outputs, directory->entry->directory.inode,
		                                   directory->entry->directory.device),
		.problem = problem,
	};

	if (scan->options->exclude && begin_path(&place))
		return scan_problem(scan, number, NULL, ENOMEM, "cannot examine", problem);
	entry_path = place.path;
	if (scan->options->asks_for_projects)
		place.project = project_of(scan, number);

	for (uint32_t i = 0; i < count; i++) {
		errcode_t error = examine(&place, &entries[i]);

		if (error)
			return error;
		subdirectories += S_ISDIR(entries[i].node.mode);
		bytes += S_ISREG(entries[i].node.mode) ? entries[i].node.size_bytes : 0;
	}
	if (subdirectories)
		__atomic_fetch_add(&directory->subdirectory_count, subdirectories, __ATOMIC_RELAXED);
	progress_add(scan->options->progress, 0, count);
	progress_find(scan->options->progress, &(struct found){ .folders = subdirectories, .bytes = bytes });
	return 0;
}

errcode_t scan_examine_root(struct scan *scan, struct problem *problem)
{
	struct scan_worker *worker = &scan->workers[0];
	struct tree_node *root = &scan->root_entry.node;
	struct stat status;

	if (fstat(scan->root, &status))
		return problem_set(problem, errno, scan->root_path, "cannot examine");
	set_attributes(root, &status);
	root->name = "";
	set_identity(scan, &scan->root_entry, &status);
	const struct place place = { .scan = scan, .worker = worker, .descriptor = scan->root, .problem = problem };

	add_to_sum(&place, "", 0, &status);
	errcode_t error = scan->options->without_xattrs ? ENOTSUP : host_xattrs_read(&worker->xattrs, scan->root);

	root->has_lost_xattr = worker->xattrs.has_unknown;
	error = intern_xattrs(scan, worker, root, status.st_dev, error);
	note_unread(worker, ASCEND_ROOT, NULL);
	if (error)
		return problem_set(problem, error, scan->root_path, "cannot read extended attributes");
	error = read_detail(&place, root, &status);
	if (error)
		return error;
	progress_add(scan->options->progress, 0, 1);
	progress_find(scan->options->progress, &(struct found){ .folders = 1 });
	return 0;
}
