/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folder of packs (source/pack/pack_format.h), shared by any number of processes.
 *
 *   KIND.DIGEST.v2.pack a layer, in version 2 of the format. KIND "layer": of an OCI image, DIGEST is the sha256 of
 * what it unpacks to (its diff_id); else how an archive is read ("archive", "tar", "zip"...), and DIGEST is its file's
 *   blob.DIGEST         a blob of an OCI image that was found to unpack to a layer: "DIFF_ID BYTES\n"
 *   KIND.DIGEST.making  a pack that is being made; DIGEST is that of the file of which it is made
 *   KIND.DIGEST.v1.pack.pin  says that the pack is not dropped to make room
 *   KIND.DIGEST.v1.pack.KEY.leaves  hashes of its blocks for dm-verity (pack_leaves.h)
 *   lock                held by the process that drops what was not used for long
 *
 * A claim of an image's author never leads to a pack: a layer is found by the digest of its blob alone, and the name of
 * a pack is what we have computed. Packs do not depend on options, and hold all that their layer has.
 *
 * Each file has one lock, flock(2). A process that uses a pack holds it shared, and one
 * that drops a pack takes it exclusively. A pack is
 * made under the exclusive lock of KIND.DIGEST.making, which gets the pack's name when all of it is on disk; others
 * who want that layer wait for the lock, or for the name. A file of this kind that nobody has locked was left by a
 * process that was killed; the next one that wants the layer, or that drops, takes it away. No thread waits for a lock
 * while it has another one. A process that makes a pack touches its file every few seconds; if a locked file stands
 * still for a minute, its process may be stopped, and the layer is read without the cache. So none waits for ever.
 *
 * The folder is the caller's: it is refused if it belongs to another user, or if others can write to it, or if it is a
 * symbolic link. Nothing in it is opened through a symbolic link.
 */
#pragma once

#include "source/kind/source_kind.h"

struct layer_cache;

/* Finds the folder that "auto" means, below XDG_CACHE_HOME or ~/.cache. The caller frees it. ENOENT: neither is known;
 * ENOMEM.
 */
MUST_CHECK errcode_t layer_cache_usual_path(char **path, struct problem *problem);

/* Which folder, and what it may take. Zeros: there is no cache. */
struct layer_cache_place {
	const char *path;    /* NULL: layers are not cached */
	bool is_usual;       /* it is that of layer_cache_usual_path(): folders above it are made, too */
	uint64_t most_bytes; /* that packs may take on the disk, for layer_cache_trim(); 0: no limit */
	bool pins;           /* all packs that are used from now on stay when room is made */
};

/*
 * Opens the folder, which is made if it is not there. *ret is NULL without a place. EINVAL with a reason: it is not the
 * caller's alone; errors of open(2) and mkdir(2); ENOMEM.
 */
MUST_CHECK errcode_t layer_cache_open(const struct layer_cache_place *place, struct layer_cache **ret,
                                      struct problem *problem);
void layer_cache_close(struct layer_cache *cache);

/* From now on all contents of a pack are compared with their checksums before it is used. */
void layer_cache_check_all(struct layer_cache *cache);

/* Can the source be in a cache? A regular file that is an archive; neither a manifest, nor standard input, nor what a
 * process with limits reads. */
bool layer_cache_takes(const struct source *source);

/*
 * source_scan() of such a source, from its pack; if there is none yet, it is made. With a pack, a layer of an OCI image
 * is not read, and need not be there. The source is read without the cache if its pack could not be made, or if it
 * depends on more than its bytes; that changes nothing of the tree. number: of the source, for
 * layer_cache_use_of(). Any thread.
 */
MUST_CHECK errcode_t layer_cache_scan(struct layer_cache *cache, struct source *source, uint32_t number,
                                      const struct scan_options *options, struct pool *pool, struct tree **ret,
                                      struct problem *problem);

/* How a source was read. */
enum layer_use {
	LAYER_NOT_CACHED, /* without the cache */
	LAYER_MADE,       /* its pack was made */
	LAYER_CACHED,     /* its pack was there */
};

/* *bytes: what the pack takes on the disk. Main thread. */
enum layer_use layer_cache_use_of(const struct layer_cache *cache, uint32_t number, uint64_t *bytes);

/* How many sources were read in this way? Main thread. */
uint32_t layer_cache_count(const struct layer_cache *cache, enum layer_use use);

/* Moves the warnings of all scans: packs that were damaged, and those that could not be made. ENOMEM. Main thread. */
MUST_CHECK errcode_t layer_cache_warnings(struct layer_cache *cache, struct warnings *warnings);

/* A pack, for a list. */
struct layer_entry {
	char name[96];       /* without ".pack" */
	uint64_t disk_bytes; /* on the disk */
	uint64_t names;
	int64_t used_seconds; /* when it was used last */
	uint32_t used_nanoseconds;
	bool is_used; /* somebody uses it now */
	bool is_damaged, is_pinned;
};

/* All packs, the last one used first; the caller frees *list. Errors of reading the folder; ENOMEM. */
MUST_CHECK errcode_t layer_cache_list(struct layer_cache *cache, struct layer_entry **list, size_t *count,
                                      struct problem *problem);

struct layer_drop {
	uint64_t packs, bytes; /* that were dropped; bytes on the disk */
	uint64_t used;         /* packs that stay, since somebody uses them */
};

/*
 * Drops the packs of a layer by its digest (of a blob, a diff_id or an archive, with or without "sha256:"; "all": all
 * of them), pinned or not, and what processes left that were killed. ENOENT: there is none. Errors of reading the
 * folder.
 */
MUST_CHECK errcode_t layer_cache_drop(struct layer_cache *cache, const char *digest, struct layer_drop *dropped,
                                      struct problem *problem);

/* From now on the packs of a layer, named as above, may be dropped to make room; *count: how many could not before. */
MUST_CHECK errcode_t layer_cache_unpin(struct layer_cache *cache, const char *digest, uint64_t *count,
                                       struct problem *problem);

/*
 * Drops packs until they take no more than the place's most_bytes, first those that have not been used for longest;
 * those in use and pinned ones stay. Does nothing while another process does so. If it fails, there is a warning. Main
 * thread.
 */
void layer_cache_trim(struct layer_cache *cache);

/*
 * Makes room for so many bytes of this open file where it is on the disk of the cache, and packs that are neither used
 * nor pinned have so much: drops those that were not used for longest. Does nothing if there is no cache, or after an
 * error.
 */
void layer_cache_make_room(const struct layer_cache_place *place, int descriptor, uint64_t bytes);

/*
 * Compares all packs with their checksums, and drops those that are damaged: *count of them, each a warning. ENOMEM,
 * EINTR, errors of reading the folder.
 */
MUST_CHECK errcode_t layer_cache_check(struct layer_cache *cache, struct pool *pool, struct warnings *damaged,
                                       uint64_t *checked, struct problem *problem);
