/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preload/capabilities.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "preload/interposed.h"
#include "preload/program.h"

/* Room for files that are written at the same time. If the paths of two files hash to one place, fuse2fs is asked
 * again. */
#define PLACES 1024

struct lacking {
	uint64_t generation; /* in which the entry was noted; valid in no other */
	char *path;
	uid_t user;
	gid_t group;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The lock protects both. */
static struct lacking places[PLACES];
static uint64_t present = 1;

/* FNV-1a, 32 bits. */
static struct lacking *place_of(const char *path)
{
	uint32_t hash = UINT32_C(2166136261);

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * UINT32_C(16777619);
	return &places[(hash ^ hash >> 16) % PLACES];
}

bool capability_is_meant(const char *name)
{
	return strcmp(name, "security.capability") == 0;
}

uint64_t capabilities_generation(void)
{
	pthread_mutex_lock(&lock);
	uint64_t generation = present;
	pthread_mutex_unlock(&lock);
	return generation;
}

bool capability_is_lacking(const char *path)
{
	/* fuse2fs may tell one user what it refuses another. */
	const struct fuse_context *asks = NEXT(fuse_get_context)();

	pthread_mutex_lock(&lock);
	const struct lacking *place = place_of(path);
	bool is_lacking = place->generation == present && place->user == asks->uid && place->group == asks->gid &&
	                  strcmp(place->path, path) == 0;
	pthread_mutex_unlock(&lock);
	return is_lacking;
}

void capability_note_lacking(const char *path, uint64_t generation)
{
	const struct fuse_context *asks = NEXT(fuse_get_context)();
	char *copy = strdup(path);

	if (!copy)
		return;
	pthread_mutex_lock(&lock);
	struct lacking *place = place_of(path);
	free(place->path);
	*place = (struct lacking){ .generation = generation, .path = copy, .user = asks->uid, .group = asks->gid };
	pthread_mutex_unlock(&lock);
}

void capabilities_forget(void)
{
	pthread_mutex_lock(&lock);
	present++;
	pthread_mutex_unlock(&lock);
}
