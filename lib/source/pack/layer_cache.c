/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/pack/cache_files.h"

errcode_t layer_cache_usual_path(char **path, struct problem *problem)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool has_cache = cache && *cache == '/';
	int length = -1;

	*path = NULL;
	if (!has_cache && (!home || *home != '/'))
		return problem_set_reason(problem, ENOENT, NULL, "cannot find a folder for the cache of layers",
		                          "neither XDG_CACHE_HOME nor HOME has a whole path");
	length = has_cache ? asprintf(path, "%s/e2populate/layers", cache) :
	                     asprintf(path, "%s/.cache/e2populate/layers", home);
	return length < 0 ? problem_set(problem, ENOMEM, NULL, "cannot find a folder for the cache of layers") : 0;
}

/* Makes a folder, and with makes_parents those above it. It does no harm if they are there. */
static errcode_t make_folder(const char *path, bool makes_parents)
{
	SCOPE_FREE char *part = strdup(path);

	if (!part)
		return ENOMEM;
	for (char *slash = strchr(part + 1, '/'); makes_parents && slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0700) && errno != EEXIST)
			return errno;
		*slash = '/';
	}
	return mkdir(path, 0700) && errno != EEXIST ? errno : 0;
}

static errcode_t refuse(const char *path, const struct stat *status, struct problem *problem)
{
	static const char action[] = "cannot use as a cache of layers";

	if (S_ISLNK(status->st_mode))
		return problem_set_reason(problem, EINVAL, path, action, "it is a symbolic link");
	if (!S_ISDIR(status->st_mode))
		return problem_set(problem, ENOTDIR, path, action);
	if (status->st_uid != geteuid())
		return problem_set_reason(problem, EINVAL, path, action,
		                          "it belongs to user %u, and this is user %u: what others put there would get "
		                          "into images",
		                          status->st_uid, geteuid());
	if (status->st_mode & (S_IWGRP | S_IWOTH))
		return problem_set_reason(problem, EINVAL, path, action,
		                          "others can write to it, so they could change what gets into images: chmod "
		                          "go-w");
	return 0;
}

static errcode_t open_folder(struct layer_cache *cache, bool makes_parents, struct problem *problem)
{
	const char *path = cache->path;
	struct stat status;
	errcode_t error = make_folder(path, makes_parents);

	if (error)
		return problem_set(problem, error, path, "cannot make");
	if (lstat(path, &status) == 0)
		error = refuse(path, &status, problem);
	if (error)
		return error;
	cache->directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (cache->directory < 0 || fstat(cache->directory, &status))
		return problem_set(problem, errno, path, "cannot open");
	return refuse(path, &status, problem);
}

errcode_t layer_cache_open(const struct layer_cache_place *place, struct layer_cache **ret, struct problem *problem)
{
	const char *path = place->path;

	*ret = NULL;
	if (!path)
		return 0;
	struct layer_cache *cache = calloc(1, sizeof(*cache));
	size_t bytes = strlen(path);

	if (!cache)
		return problem_set(problem, ENOMEM, path, "cannot open");
	cache->directory = -1;
	cache->most_bytes = place->most_bytes;
	cache->pins = place->pins;
	pthread_mutex_init(&cache->lock, NULL);
	/* With a slash at its end, a symbolic link would be followed. */
	while (bytes > 1 && path[bytes - 1] == '/')
		bytes--;
	cache->path = strndup(path, bytes);
	errcode_t error = cache->path ? open_folder(cache, place->is_usual, problem) : ENOMEM;

	if (error) {
		layer_cache_close(cache);
		return problem_set(problem, error, path, "cannot open");
	}
	*ret = cache;
	return 0;
}

void layer_cache_close(struct layer_cache *cache)
{
	if (!cache)
		return;
	cleanup_close_descriptor(&cache->directory);
	problem_clear(&cache->damaged);
	problem_clear(&cache->failed);
	pthread_mutex_destroy(&cache->lock);
	free(cache->uses);
	free(cache->path);
	free(cache);
}

void layer_cache_check_all(struct layer_cache *cache)
{
	cache->checks_all = true;
}

enum layer_use layer_cache_use_of(const struct layer_cache *cache, uint32_t number, uint64_t *bytes)
{
	*bytes = 0;
	for (size_t i = 0; i < cache->use_count; i++) {
		if (cache->uses[i].number != number)
			continue;
		*bytes = cache->uses[i].bytes;
		return cache->uses[i].use;
	}
	return LAYER_NOT_CACHED;
}

uint32_t layer_cache_count(const struct layer_cache *cache, enum layer_use use)
{
	uint32_t count = 0;

	for (size_t i = 0; i < cache->use_count; i++)
		count += cache->uses[i].use == use;
	return count;
}

static errcode_t move_warning(struct warnings *warnings, struct problem *first, uint64_t *count)
{
	uint64_t all = *count;

	*count = 0;
	return all ? warnings_add(warnings, first, all) : 0;
}

errcode_t layer_cache_warnings(struct layer_cache *cache, struct warnings *warnings)
{
	errcode_t error = move_warning(warnings, &cache->damaged, &cache->damaged_count);

	return error ? error : move_warning(warnings, &cache->failed, &cache->failed_count);
}
