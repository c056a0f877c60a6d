/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cache of layers as a whole: what is in it, and what goes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "source/kind/source_digest.h"
#include "source/pack/cache_files.h"
#include "source/pack/pack.h"
#include "support/vector.h"

#define TRIM_LOCK "lock"

static bool ends_with(const char *name, const char *end)
{
	size_t bytes = strlen(name), end_bytes = strlen(end);

	return bytes > end_bytes && !strcmp(name + bytes - end_bytes, end);
}

/* Calls visit() for each file of the folder. */
static errcode_t visit_files(const struct layer_cache *cache,
                             errcode_t (*visit)(const struct layer_cache *cache, const char *name, void *context),
                             void *context, struct problem *problem)
{
	int copy = openat(cache->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPE_CLOSEDIR DIR *directory = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	errcode_t error = directory ? 0 : errno;

	if (!directory)
		cleanup_close_descriptor(&copy);
	while (!error && (errno = 0, entry = readdir(directory)))
		error = visit(cache, entry->d_name, context);
	if (!error && errno)
		error = errno;
	return error ? problem_set(problem, error, cache->path, "cannot read") : 0;
}

struct entry_list {
	struct layer_entry *entries;
	size_t count, capacity;
};

/* Somebody uses what cannot be locked. */
static bool is_used(int descriptor)
{
	if (flock(descriptor, LOCK_EX | LOCK_NB))
		return true;
	flock(descriptor, LOCK_UN);
	return false;
}

static void examine(const struct layer_cache *cache, const char *file, int descriptor, struct layer_entry *entry)
{
	SCOPE_FREE char *path = cache_file_path(cache, file);
	struct problem problem = { 0 };
	struct pack_summary summary = { 0 };
	struct stat status = { 0 };

	(void)!fstat(descriptor, &status);
	snprintf(entry->name, sizeof(entry->name), "%.*s", (int)(strlen(file) - strlen(PACK_SUFFIX)), file);
	entry->disk_bytes = (uint64_t)status.st_blocks * 512;
	entry->used_seconds = status.st_atim.tv_sec;
	entry->used_nanoseconds = (uint32_t)status.st_atim.tv_nsec;
	entry->is_used = is_used(descriptor);
	entry->is_pinned = cache_is_pinned(cache, entry->name);
	entry->is_damaged = pack_summarize(descriptor, entry->name, path, &summary, &problem);
	entry->names = summary.names;
	problem_clear(&problem);
}

static errcode_t list_file(const struct layer_cache *cache, const char *file, void *context)
{
	struct entry_list *list = context;
	struct layer_entry entry = { 0 };
	bool is_pack = ends_with(file, PACK_SUFFIX) && strlen(file) < CACHE_NAME_BYTES;
	SCOPE_CLOSE int descriptor = is_pack ? cache_file_open(cache, file, O_RDONLY) : -1;

	/* What has gone meanwhile, or is another's, is not of the cache. */
	if (descriptor < 0)
		return 0;
	examine(cache, file, descriptor, &entry);
	return vector_add(&list->entries, &list->count, &list->capacity, &entry, sizeof(entry));
}

/* Is this file one of hashes of this pack? */
static bool belongs_to(const char *file, const char *pack)
{
	char own[CACHE_NAME_BYTES];

	cache_pack_file(pack, own);
	return !strncmp(file, own, strlen(own)) && file[strlen(own)] == '.' && ends_with(file, LEAVES_SUFFIX);
}

/* Hashes count with their pack. */
static errcode_t count_leaves(const struct layer_cache *cache, const char *file, void *context)
{
	struct entry_list *list = context;
	struct stat status;

	if (!ends_with(file, LEAVES_SUFFIX) || fstatat(cache->directory, file, &status, AT_SYMLINK_NOFOLLOW))
		return 0;
	for (size_t i = 0; i < list->count; i++)
		if (belongs_to(file, list->entries[i].name))
			list->entries[i].disk_bytes += (uint64_t)status.st_blocks * 512;
	return 0;
}

static int compare_entries(const void *one, const void *other)
{
	const struct layer_entry *first = one, *second = other;

	if (first->used_seconds != second->used_seconds)
		return first->used_seconds > second->used_seconds ? -1 : 1;
	if (first->used_nanoseconds != second->used_nanoseconds)
		return first->used_nanoseconds > second->used_nanoseconds ? -1 : 1;
	return strcmp(first->name, second->name);
}

errcode_t layer_cache_list(struct layer_cache *cache, struct layer_entry **ret, size_t *count, struct problem *problem)
{
	struct entry_list list = { 0 };
	errcode_t error = visit_files(cache, list_file, &list, problem);

	if (!error)
		error = visit_files(cache, count_leaves, &list, problem);
	*ret = list.entries;
	*count = list.count;
	if (list.count)
		qsort(list.entries, list.count, sizeof(*list.entries), compare_entries);
	if (!error)
		return 0;
	free(TAKE(*ret));
	*count = 0;
	return error;
}

/* Removes a file unless somebody uses it, which *is_used says. */
static errcode_t drop_file(const struct layer_cache *cache, const char *file, bool *is_used, uint64_t *bytes)
{
	SCOPE_CLOSE int descriptor = cache_file_lock(cache, file, O_RDONLY, LOCK_EX);
	struct stat status;

	*bytes = 0;
	*is_used = descriptor < 0 && errno == EWOULDBLOCK;
	if (descriptor < 0)
		return *is_used || errno == ENOENT ? 0 : errno;
	if (fstat(descriptor, &status) == 0)
		*bytes = (uint64_t)status.st_blocks * 512;
	return cache_file_remove(cache, file, descriptor);
}

/* What a process left that was killed while it made a pack. */
static errcode_t drop_left(const struct layer_cache *cache, const char *file, void *context)
{
	uint64_t bytes;
	bool is_used;

	(void)context;
	return ends_with(file, MAKING_SUFFIX) ? drop_file(cache, file, &is_used, &bytes) : 0;
}

/* The digest in a pack's name. */
static const char *digest_of(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot ? dot + 1 : "";
}

static void read_blob(const struct layer_cache *cache, const char *file, char diff_id[SOURCE_DIGEST_DIGITS + 1])
{
	SCOPE_CLOSE int descriptor = cache_file_open(cache, file, O_RDONLY);

	memset(diff_id, 0, SOURCE_DIGEST_DIGITS + 1);
	if (descriptor < 0 || read(descriptor, diff_id, SOURCE_DIGEST_DIGITS) != (ssize_t)SOURCE_DIGEST_DIGITS ||
	    !source_digest_is_valid(diff_id, SOURCE_DIGEST_DIGITS))
		*diff_id = '\0';
}

/* Blobs of a layer that goes are forgotten with it. */
static errcode_t drop_blob(const struct layer_cache *cache, const char *file, void *context)
{
	const char *digest = context;
	char diff_id[SOURCE_DIGEST_DIGITS + 1];

	if (strncmp(file, BLOB_PREFIX, strlen(BLOB_PREFIX)))
		return 0;
	read_blob(cache, file, diff_id);
	if (digest && *diff_id && strcmp(digest, diff_id))
		return 0;
	return unlinkat(cache->directory, file, 0) && errno != ENOENT ? errno : 0;
}

static errcode_t drop_leaves(const struct layer_cache *cache, const char *file, void *context)
{
	if (!belongs_to(file, context))
		return 0;
	return unlinkat(cache->directory, file, 0) && errno != ENOENT ? errno : 0;
}

static errcode_t drop_entry(struct layer_cache *cache, const struct layer_entry *entry, struct layer_drop *dropped,
                            struct problem *problem)
{
	char file[CACHE_NAME_BYTES];
	uint64_t bytes;
	bool is_used;

	cache_pack_file(entry->name, file);
	errcode_t error = drop_file(cache, file, &is_used, &bytes);

	if (error) {
		SCOPE_FREE char *path = cache_file_path(cache, file);

		return problem_set(problem, error, path, "cannot remove");
	}
	dropped->used += is_used;
	dropped->packs += !is_used;
	dropped->bytes += is_used ? 0 : entry->disk_bytes;
	if (is_used)
		return 0;
	cache_pin_file(entry->name, file);
	(void)!unlinkat(cache->directory, file, 0);
	error = visit_files(cache, drop_leaves, (void *)entry->name, problem);
	return error ? error : visit_files(cache, drop_blob, (void *)digest_of(entry->name), problem);
}

/* Packs as the user names them: by the digest in their name, or that of a blob which unpacks to them. */
struct wanted_packs {
	const char *digest; /* NULL: all */
	char diff_id[SOURCE_DIGEST_DIGITS + 1];
};

static struct wanted_packs find_wanted(const struct layer_cache *cache, const char *digest)
{
	struct wanted_packs wanted = { .digest = strcmp(digest, "all") ? digest : NULL };
	char file[CACHE_NAME_BYTES];

	if (!wanted.digest)
		return wanted;
	if (!strncmp(digest, "sha256:", strlen("sha256:")))
		wanted.digest += strlen("sha256:");
	snprintf(file, sizeof(file), BLOB_PREFIX "%.64s", wanted.digest);
	read_blob(cache, file, wanted.diff_id);
	return wanted;
}

static bool is_wanted(const struct wanted_packs *wanted, const struct layer_entry *entry)
{
	const char *own = digest_of(entry->name);

	return !wanted->digest || !strcmp(own, wanted->digest) || (*wanted->diff_id && !strcmp(own, wanted->diff_id));
}

static errcode_t lacks(const struct layer_cache *cache, const char *action, const char *digest, struct problem *problem)
{
	return problem_set_reason(problem, ENOENT, cache->path, action, "it has no layer %.80s", digest);
}

errcode_t layer_cache_drop(struct layer_cache *cache, const char *digest, struct layer_drop *dropped,
                           struct problem *problem)
{
	SCOPE_FREE struct layer_entry *list = NULL;
	const struct wanted_packs wanted = find_wanted(cache, digest);
	size_t count;
	errcode_t error = layer_cache_list(cache, &list, &count, problem);

	*dropped = (struct layer_drop){ 0 };
	for (size_t i = 0; !error && i < count; i++)
		if (is_wanted(&wanted, &list[i]))
			error = drop_entry(cache, &list[i], dropped, problem);
	if (!error)
		error = visit_files(cache, drop_left, NULL, problem);
	if (!error && !wanted.digest && !dropped->used)
		error = visit_files(cache, drop_blob, NULL, problem);
	if (!error && wanted.digest && !dropped->packs && !dropped->used)
		error = lacks(cache, "cannot drop", wanted.digest, problem);
	return error;
}

errcode_t layer_cache_unpin(struct layer_cache *cache, const char *digest, uint64_t *unpinned, struct problem *problem)
{
	SCOPE_FREE struct layer_entry *list = NULL;
	const struct wanted_packs wanted = find_wanted(cache, digest);
	bool is_there = !wanted.digest;
	size_t count;
	errcode_t error = layer_cache_list(cache, &list, &count, problem);

	*unpinned = 0;
	for (size_t i = 0; !error && i < count; i++) {
		char file[CACHE_NAME_BYTES];

		if (!is_wanted(&wanted, &list[i]))
			continue;
		is_there = true;
		cache_pin_file(list[i].name, file);
		if (unlinkat(cache->directory, file, 0) == 0)
			++*unpinned;
		else if (errno != ENOENT)
			error = problem_set(problem, errno, cache->path, "cannot unpin");
	}
	return error || is_there ? error : lacks(cache, "cannot unpin", wanted.digest, problem);
}

static bool may_go(const struct layer_entry *entry)
{
	return !entry->is_used && !entry->is_pinned;
}

/* Drops packs that may go until they had so many bytes, first those that were not used for longest, the list's last. */
static errcode_t drop_oldest(struct layer_cache *cache, const struct layer_entry *list, size_t count, uint64_t bytes,
                             struct layer_drop *dropped, struct problem *problem)
{
	errcode_t error = 0;

	for (size_t i = count; !error && dropped->bytes < bytes && i-- > 0;)
		if (may_go(&list[i]))
			error = drop_entry(cache, &list[i], dropped, problem);
	return error;
}

static errcode_t trim(struct layer_cache *cache, struct problem *problem)
{
	SCOPE_FREE struct layer_entry *list = NULL;
	struct layer_drop dropped = { 0 };
	uint64_t all = 0;
	size_t count;
	errcode_t error = visit_files(cache, drop_left, NULL, problem);

	if (!error)
		error = layer_cache_list(cache, &list, &count, problem);
	if (error)
		return error;
	for (size_t i = 0; i < count; i++)
		all += list[i].disk_bytes;
	return all > cache->most_bytes ? drop_oldest(cache, list, count, all - cache->most_bytes, &dropped, problem) :
	                                 0;
}

bool cache_make_room(struct layer_cache *cache, uint64_t bytes)
{
	SCOPE_CLOSE int lock = cache_file_lock(cache, TRIM_LOCK, O_RDWR | O_CREAT, LOCK_EX);
	SCOPE_FREE struct layer_entry *list = NULL;
	struct layer_drop dropped = { 0 };
	struct problem problem = { 0 };
	struct statvfs disk;
	uint64_t found = 0;
	size_t count;

	if (lock < 0 || fstatvfs(cache->directory, &disk))
		return false;
	const uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;

	if (free_bytes >= bytes || layer_cache_list(cache, &list, &count, &problem)) {
		problem_clear(&problem);
		return false;
	}
	for (size_t i = 0; i < count; i++)
		found += may_go(&list[i]) ? list[i].disk_bytes : 0;
	/* What is too large for the disk anyway must not empty the cache. */
	if (bytes == UINT64_MAX || found >= bytes - free_bytes)
		(void)!drop_oldest(cache, list, count, bytes - free_bytes, &dropped, &problem);
	problem_clear(&problem);
	return dropped.packs;
}

void layer_cache_make_room(const struct layer_cache_place *place, int descriptor, uint64_t bytes)
{
	struct layer_cache *cache = NULL;
	struct problem problem = { 0 };
	struct stat file, folder;
	errcode_t error = layer_cache_open(place, &cache, &problem);

	if (!error && cache && !fstat(descriptor, &file) && !fstat(cache->directory, &folder) &&
	    file.st_dev == folder.st_dev)
		cache_make_room(cache, bytes);
	layer_cache_close(cache);
	problem_clear(&problem);
}

void layer_cache_trim(struct layer_cache *cache)
{
	struct problem problem = { 0 };
	errcode_t error = 0;

	if (!cache->most_bytes)
		return;
	SCOPE_CLOSE int lock = cache_file_lock(cache, TRIM_LOCK, O_RDWR | O_CREAT, LOCK_EX);

	if (lock >= 0)
		error = trim(cache, &problem);
	else if (errno != EWOULDBLOCK)
		error = problem_set(&problem, errno, cache->path, "cannot lock");
	if (!error)
		return;
	cache_note_failure(cache, &problem, "the cache may take more than --layer-cache-size allows");
}

/* Compares one pack; *is_damaged: it was, and the problem says so. */
static errcode_t check_pack(const struct layer_cache *cache, const struct layer_entry *entry, struct pool *pool,
                            bool *is_damaged, struct problem *problem)
{
	char file[CACHE_NAME_BYTES];

	*is_damaged = false;
	cache_pack_file(entry->name, file);
	SCOPE_CLOSE int descriptor = cache_file_lock(cache, file, O_RDONLY, LOCK_SH);
	SCOPE_FREE char *path = cache_file_path(cache, file);

	if (descriptor < 0)
		return 0;
	errcode_t error = pack_check_contents(descriptor, entry->name, path, pool, problem);

	*is_damaged = error == EBADMSG || error == EIO;
	return *is_damaged ? cache_file_remove(cache, file, descriptor) : error;
}

errcode_t layer_cache_check(struct layer_cache *cache, struct pool *pool, struct warnings *damaged, uint64_t *checked,
                            struct problem *problem)
{
	SCOPE_FREE struct layer_entry *list = NULL;
	size_t count;
	errcode_t error = layer_cache_list(cache, &list, &count, problem);

	*checked = count;
	for (size_t i = 0; !error && i < count; i++) {
		struct problem found = { 0 };
		bool is_damaged;

		error = check_pack(cache, &list[i], pool, &is_damaged, &found);
		if (is_damaged && !error) {
			problem_add(&found, "; it was dropped");
			error = warnings_add(damaged, &found, 1);
		} else if (error) {
			problem_move(problem, &found);
		}
	}
	return error ? problem_set(problem, error, cache->path, "cannot check") : 0;
}
