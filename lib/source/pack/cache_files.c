/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/pack/cache_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "source/kind/source_digest.h"
#include "support/io/whole_io.h"
#include "support/run/interrupt.h"
#include "support/scope_lock.h"
#include "support/seconds.h"

#define WAIT_NANOSECONDS 5000000
#define LEAST_STILL_SECONDS 1

static void note(struct layer_cache *cache, struct problem *first, uint64_t *count, struct problem *problem,
                 const char *consequence)
{
	SCOPE_LOCK(&cache->lock);

	if ((*count)++) {
		problem_clear(problem);
		return;
	}
	problem_move(first, problem);
	problem_add(first, "; %s", consequence);
}

void cache_note_failure(struct layer_cache *cache, struct problem *problem, const char *consequence)
{
	note(cache, &cache->failed, &cache->failed_count, problem, consequence);
}

void cache_note_damage(struct layer_cache *cache, struct problem *problem, const char *consequence)
{
	note(cache, &cache->damaged, &cache->damaged_count, problem, consequence);
}

char *cache_file_path(const struct layer_cache *cache, const char *name)
{
	return path_from(cache->path, name);
}

void cache_pack_file(const char *name, char file[CACHE_NAME_BYTES])
{
	snprintf(file, CACHE_NAME_BYTES, "%.*s" PACK_SUFFIX, (int)PACK_NAME_BYTES - 1, name);
}

bool cache_has_pack(const struct layer_cache *cache, const char *name)
{
	char file[CACHE_NAME_BYTES];

	cache_pack_file(name, file);
	return faccessat(cache->directory, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void cache_pin_file(const char *name, char file[CACHE_NAME_BYTES])
{
	snprintf(file, CACHE_NAME_BYTES, "%.*s" PACK_SUFFIX PIN_SUFFIX, (int)PACK_NAME_BYTES - 1, name);
}

bool cache_is_pinned(const struct layer_cache *cache, const char *name)
{
	char file[CACHE_NAME_BYTES];

	cache_pin_file(name, file);
	return faccessat(cache->directory, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_own(const struct stat *status)
{
	return S_ISREG(status->st_mode) && status->st_uid == geteuid() && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

int cache_file_open(const struct layer_cache *cache, const char *name, int flags)
{
	/* Without O_NONBLOCK, a pipe that somebody put there would be waited for. */
	int descriptor = openat(cache->directory, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat status;

	if (descriptor < 0) {
		errno = errno == ELOOP ? EPERM : errno;
		return -1;
	}
	if (fstat(descriptor, &status) == 0 && is_own(&status))
		return descriptor;
	close(descriptor);
	errno = EPERM;
	return -1;
}

bool cache_file_is(const struct layer_cache *cache, const char *name, int descriptor)
{
	struct stat named, opened;

	return fstatat(cache->directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(descriptor, &opened) == 0 &&
	       named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

int cache_file_lock(const struct layer_cache *cache, const char *name, int flags, int lock)
{
	int descriptor = cache_file_open(cache, name, flags);

	if (descriptor < 0 || flock(descriptor, lock | LOCK_NB) == 0)
		return descriptor;
	int reason = errno;

	close(descriptor);
	errno = reason;
	return -1;
}

errcode_t cache_file_remove(const struct layer_cache *cache, const char *name, int descriptor)
{
	if (!cache_file_is(cache, name, descriptor) || unlinkat(cache->directory, name, 0) == 0 || errno == ENOENT)
		return 0;
	return errno;
}

errcode_t cache_pin(const struct layer_cache *cache, const char *name)
{
	char file[CACHE_NAME_BYTES];

	cache_pin_file(name, file);
	SCOPE_CLOSE int descriptor = cache_file_open(cache, file, O_WRONLY | O_CREAT);

	return descriptor < 0 ? errno : 0;
}

/* The last time that somebody wrote to the file or set its times is so long ago. */
static bool is_old(const struct stat *status)
{
	const time_t oldest = time(NULL) - CACHE_STILL_SECONDS;

	return status->st_atim.tv_sec < oldest && status->st_mtim.tv_sec < oldest;
}

/* Threads of a pool get no signals, so they cannot wait in flock(2): nothing would end that. */
errcode_t cache_wait(const struct layer_cache *cache, const char *name, bool beats, struct cache_waiting *waiting)
{
	const double now = seconds_of(CLOCK_MONOTONIC);
	struct stat status = { 0 };
	bool is_there = fstatat(cache->directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;

	if (!waiting->since_seconds || !is_there || !file_version_is(&waiting->version, &status)) {
		waiting->since_seconds = now;
		waiting->version = file_version_of(&status);
	}
	const double still = now - waiting->since_seconds;

	/* The clock of a server may be another one, so time stamps alone are not enough. */
	if (still >= CACHE_STILL_SECONDS || (beats && is_there && still >= LEAST_STILL_SECONDS && is_old(&status)))
		return ETIMEDOUT;
	nanosleep(&(struct timespec){ .tv_nsec = WAIT_NANOSECONDS }, NULL);
	return interrupt_pending() ? EINTR : 0;
}

#define BLOB_TEXT_BYTES (SOURCE_DIGEST_DIGITS + 24)

bool cache_blob_find(const struct layer_cache *cache, const char *digest, uint64_t bytes,
                     char diff_id[SOURCE_DIGEST_DIGITS + 1])
{
	char name[CACHE_NAME_BYTES], text[BLOB_TEXT_BYTES + 1], expected[BLOB_TEXT_BYTES + 1];

	snprintf(name, sizeof(name), BLOB_PREFIX "%s", digest);
	SCOPE_CLOSE int descriptor = cache_file_open(cache, name, O_RDONLY);
	ssize_t count = descriptor < 0 ? -1 : read(descriptor, text, sizeof(text) - 1);

	if (count < (ssize_t)SOURCE_DIGEST_DIGITS)
		return false;
	text[count] = '\0';
	memcpy(diff_id, text, SOURCE_DIGEST_DIGITS);
	diff_id[SOURCE_DIGEST_DIGITS] = '\0';
	snprintf(expected, sizeof(expected), "%s %" PRIu64 "\n", diff_id, bytes);
	return source_digest_is_valid(diff_id, SOURCE_DIGEST_DIGITS) && !strcmp(text, expected);
}

/* A reader that comes in between, or a crash, finds a text that is not whole, and so none. */
errcode_t cache_blob_note(const struct layer_cache *cache, const char *digest, uint64_t bytes, const char *diff_id)
{
	char name[CACHE_NAME_BYTES], text[BLOB_TEXT_BYTES + 1];

	snprintf(name, sizeof(name), BLOB_PREFIX "%s", digest);
	snprintf(text, sizeof(text), "%s %" PRIu64 "\n", diff_id, bytes);
	SCOPE_CLOSE int descriptor = cache_file_open(cache, name, O_WRONLY | O_CREAT);

	if (descriptor < 0 || ftruncate(descriptor, 0))
		return errno;
	return whole_write(descriptor, text, strlen(text), 0);
}
