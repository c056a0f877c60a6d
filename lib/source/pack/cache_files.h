/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a cache of layers (layer_cache.h): their names and locks. */
#pragma once

#include <pthread.h>

#include "source/pack/layer_cache.h"
#include "source/pack/pack_format.h"

/* The version (PACK_VERSION) is in the name, so that programs of several versions can share a folder. */
#define PACK_SUFFIX ".v2.pack"
#define MAKING_SUFFIX ".making"
#define PIN_SUFFIX ".pin"       /* after the name of the pack's file */
#define LEAVES_SUFFIX ".leaves" /* source/pack/pack_leaves.h */
#define BLOB_PREFIX "blob."

/* Room for the name of each file. */
#define CACHE_NAME_BYTES (PACK_NAME_BYTES + 12)

struct layer_cache_use {
	uint32_t number;
	enum layer_use use;
	uint64_t bytes;
};

struct layer_cache {
	char *path;
	int directory;
	uint64_t most_bytes;
	bool checks_all, pins;

	pthread_mutex_t lock; /* of what follows */
	struct layer_cache_use *uses;
	size_t use_count, use_capacity;
	struct problem damaged, failed; /* the first of each, to be warned of */
	uint64_t damaged_count, failed_count;
};

/*
 * Notes a warning, of which the user gets the first one of its kind, with what follows from it. Takes the problem. Any
 * thread.
 */
void cache_note_failure(struct layer_cache *cache, struct problem *problem, const char *consequence);
void cache_note_damage(struct layer_cache *cache, struct problem *problem, const char *consequence);

/* The path of a file, for messages. The caller frees it; NULL: no memory. */
char *cache_file_path(const struct layer_cache *cache, const char *name);

/* The file of a pack, and is there one? */
void cache_pack_file(const char *name, char file[CACHE_NAME_BYTES]);
bool cache_has_pack(const struct layer_cache *cache, const char *name);

/* The file that pins a pack, and is it there? */
void cache_pin_file(const char *name, char file[CACHE_NAME_BYTES]);
bool cache_is_pinned(const struct layer_cache *cache, const char *name);

/* Pins a pack. Errors of openat(2). */
MUST_CHECK errcode_t cache_pin(const struct layer_cache *cache, const char *name);

/*
 * Makes room for so many bytes on the cache's disk, if there is too little and packs that are neither used nor pinned
 * have so much: drops those that were not used for longest. UINT64_MAX: drops all of them. True: something was dropped.
 */
bool cache_make_room(struct layer_cache *cache, uint64_t bytes);

/*
 * Opens a file that is there and the caller's alone. -1 with errno: ENOENT; EPERM: it is another user's, others can
 * write to it, or it is not a regular file.
 */
int cache_file_open(const struct layer_cache *cache, const char *name, int flags);

/* Is this what the name leads to now? */
bool cache_file_is(const struct layer_cache *cache, const char *name, int descriptor);

/* Opens a file and locks it at once (LOCK_SH, LOCK_EX). -1 with errno; EWOULDBLOCK: another one has locked it. */
int cache_file_lock(const struct layer_cache *cache, const char *name, int flags, int lock);

/* Takes a name away if it still leads to this file. Errors of unlinkat(2). */
MUST_CHECK errcode_t cache_file_remove(const struct layer_cache *cache, const char *name, int descriptor);

/*
 * Waiting for another process, which has locked a file. Such a process may be stopped, or its control group frozen, or
 * its host gone: after CACHE_STILL_SECONDS in which the file stayed as it was, nobody waits any longer.
 */
#define CACHE_STILL_SECONDS 60

struct cache_waiting {
	double since_seconds; /* of CLOCK_MONOTONIC: when the file was found to be as follows; 0: not yet */
	struct file_version version;
};

/*
 * Lets others come forward for a moment. beats: whoever has locked the file shows that it goes on (heartbeat.h), so
 * a file whose time is that old needs not be watched so long. EINTR: a signal has arrived; ETIMEDOUT: the file stands
 * still.
 */
MUST_CHECK errcode_t cache_wait(const struct layer_cache *cache, const char *name, bool beats,
                                struct cache_waiting *waiting);

/* Finds what a blob unpacks to. False: it is not known, or the blob has another size. */
bool cache_blob_find(const struct layer_cache *cache, const char *digest, uint64_t bytes,
                     char diff_id[SOURCE_DIGEST_DIGITS + 1]);

/* Notes it. Errors of writing. The caller has the lock under which the blob's layer is made. */
MUST_CHECK errcode_t cache_blob_note(const struct layer_cache *cache, const char *digest, uint64_t bytes,
                                     const char *diff_id);
