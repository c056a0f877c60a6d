/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A source is read through the cache. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/archive/archive_kind.h"
#include "source/kind/source_digest.h"
#include "source/pack/cache_files.h"
#include "source/pack/heartbeat.h"
#include "source/pack/pack.h"
#include "source/pack/pack_options.h"
#include "tree/contents.h"
#include "support/scope_lock.h"
#include "support/vector.h"

/* One source on its way through the cache. */
struct layer_scan {
	struct layer_cache *cache;
	struct source *source;
	const struct scan_options *options;
	struct pool *pool;
	struct problem *problem;
	uint32_t number;
	char making[CACHE_NAME_BYTES]; /* the file in which its pack is made */
	bool is_layer;                 /* of an OCI image: the name of its pack is not that of its file */
	bool is_direct;                /* the cache cannot help: the source is read without it */
	bool is_waiting;               /* for another process, and that is shown */
	struct cache_waiting waiting;
	enum layer_use use;
	uint64_t pack_bytes; /* on the disk */
	struct tree *tree;
	struct links_below below;
	struct pack_counts counts;
};

static const char *kind_name(const struct source *source)
{
	const struct archive_kind *kind = source->archive;

	return kind == &archive_kind_layer ? "layer" : kind->prefix ? kind->prefix : "archive";
}

static void pack_name(const struct layer_scan *scan, const char *digest, char name[PACK_NAME_BYTES])
{
	snprintf(name, PACK_NAME_BYTES, "%.8s.%.64s", kind_name(scan->source), digest);
}

static char *pack_path(const struct layer_scan *scan, const char *name)
{
	char file[CACHE_NAME_BYTES];

	cache_pack_file(name, file);
	return cache_file_path(scan->cache, file);
}

bool layer_cache_takes(const struct source *source)
{
	struct stat status;

	if (source->kind != &archive_source || source->archive == &archive_kind_manifest ||
	    source->archive->is_limited || !strcmp(source->path, "-"))
		return false;
	return *source->digest || (stat(source->path, &status) == 0 && S_ISREG(status.st_mode));
}

/* A pack could not be made, so its source is read without. */
static errcode_t go_without(struct layer_scan *scan, struct problem *problem)
{
	cache_note_failure(scan->cache, problem, "it is read without the cache");
	scan->is_direct = true;
	return 0;
}

/* Waits a moment for the process that has locked the file, unless it stands still. beats: as that of cache_wait(). */
static errcode_t wait_for(struct layer_scan *scan, const char *file, bool beats)
{
	SCOPE_FREE char *path = cache_file_path(scan->cache, file);
	struct problem problem = { 0 };

	if (!scan->is_waiting)
		progress_wait(scan->options->progress, 1);
	scan->is_waiting = true;
	errcode_t error = cache_wait(scan->cache, file, beats, &scan->waiting);

	if (error != ETIMEDOUT)
		return error;
	problem_set_reason(&problem, error, path, "cannot use",
	                   "another process has locked it, and has done nothing for %u seconds: it may be stopped",
	                   CACHE_STILL_SECONDS);
	return go_without(scan, &problem);
}

static void stop_waiting(struct layer_scan *scan)
{
	if (scan->is_waiting)
		progress_wait(scan->options->progress, -1);
	scan->is_waiting = false;
	scan->waiting = (struct cache_waiting){ 0 };
}

static void drop_tree(struct layer_scan *scan)
{
	tree_destroy(TAKE(scan->tree));
	links_below_destroy(&scan->below);
}

static void pin_pack(struct layer_scan *scan, const char *name, const char *path)
{
	struct problem problem = { 0 };
	errcode_t error = cache_pin(scan->cache, name);

	if (!error)
		return;
	problem_set(&problem, error, path, "cannot pin");
	cache_note_failure(scan->cache, &problem, "it may be dropped to make room");
}

/* Reads the pack that is open and locked; the descriptor becomes the tree's. EBADMSG: the pack is damaged. */
static errcode_t read_pack(struct layer_scan *scan, int descriptor, const char *name, struct problem *problem)
{
	SCOPE_FREE char *path = pack_path(scan, name);
	struct stat status;
	errcode_t error = path ? 0 : ENOMEM;

	if (fstat(descriptor, &status) == 0)
		scan->pack_bytes = (uint64_t)status.st_blocks * 512;
	/* What was not used for longest is dropped first. Its mtime stays: another one would show that it was written.
	 */
	(void)!futimens(descriptor, (const struct timespec[]){ { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_OMIT } });
	if (!error && scan->cache->checks_all)
		error = pack_check_contents(descriptor, name, path, scan->pool, problem);
	if (!error && scan->cache->pins)
		pin_pack(scan, name, path);
	scan->tree = error ? NULL : calloc(1, sizeof(*scan->tree));
	if (scan->tree)
		return pack_read(descriptor, name, path, source_file_name(scan->source), scan->tree, &scan->below,
		                 &scan->counts, problem);
	close(descriptor);
	return error ? error : ENOMEM;
}

/* Takes the name of a damaged pack away, unless another process has done so. */
static errcode_t drop_damaged(struct layer_scan *scan, int descriptor, const char *name, struct problem *damage)
{
	SCOPE_FREE char *path = pack_path(scan, name);
	char file[CACHE_NAME_BYTES];
	struct problem problem = { 0 };

	cache_pack_file(name, file);
	errcode_t error = cache_file_remove(scan->cache, file, descriptor);

	if (!error) {
		cache_note_damage(scan->cache, damage, "it is made anew");
		return 0;
	}
	problem_clear(damage);
	problem_set(&problem, error, path, "it is damaged, and cannot be removed");
	return go_without(scan, &problem);
}

/*
 * Uses the pack of this name, if it is there: then scan->tree is set. It is not if the pack was damaged, or is being
 * dropped.
 */
static errcode_t try_pack(struct layer_scan *scan, const char *name)
{
	struct problem problem = { 0 };
	char file[CACHE_NAME_BYTES];

	cache_pack_file(name, file);
	int descriptor = cache_file_lock(scan->cache, file, O_RDONLY, LOCK_SH);
	SCOPE_CLOSE int kept = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
	SCOPE_FREE char *path = pack_path(scan, name);

	if (descriptor < 0 && errno == EWOULDBLOCK)
		return wait_for(scan, file, false);
	if (descriptor < 0 && errno == ENOENT)
		return 0;
	if (descriptor < 0) {
		if (errno == EPERM)
			problem_set_reason(&problem, EPERM, path, "cannot use",
			                   "it is not a file that this user alone can write");
		else
			problem_set(&problem, errno, path, "cannot open");
		return go_without(scan, &problem);
	}
	scan->use = LAYER_CACHED;
	errcode_t error = read_pack(scan, descriptor, name, &problem);

	if (!error)
		return 0;
	drop_tree(scan);
	/* What cannot be read from the disk is as bad as what is wrong there. */
	if ((error == EBADMSG || error == EIO) && kept >= 0)
		return drop_damaged(scan, kept, name, &problem);
	problem_set(&problem, error, path, "cannot read");
	problem_move(scan->problem, &problem);
	return error;
}

/* The name that the source's pack has, if that is known without reading the source; else "". */
static void find_name(const struct layer_scan *scan, char name[PACK_NAME_BYTES], char diff_id[SOURCE_DIGEST_DIGITS + 1])
{
	const struct source *source = scan->source;

	*name = *diff_id = '\0';
	if (!scan->is_layer)
		pack_name(scan, source->digest, name);
	else if (cache_blob_find(scan->cache, source->digest, source->bytes, diff_id))
		pack_name(scan, diff_id, name);
}

/* Reads the source with all that it says. What cannot be read so is read without the cache, which says why. */
static errcode_t read_whole(struct layer_scan *scan, struct source_counts *counts, struct archive_facts *facts)
{
	struct scan_options options = *scan->options;
	struct problem problem = { 0 };

	scan->tree = calloc(1, sizeof(*scan->tree));
	facts->hashes_unpacked = scan->is_layer;
	if (scan->options->counts)
		counts->limits = scan->options->counts->limits;
	options.exclude = NULL;
	options.without_xattrs = options.without_flags = false;
	options.asks_for_times = options.has_oci_whiteouts = true;
	options.below = &scan->below;
	options.counts = counts;
	options.facts = facts;
	options.layers = NULL;
	if (!scan->tree)
		return ENOMEM;
	errcode_t error = scan->source->kind->scan(scan->source, &options, scan->pool, scan->tree, &problem);

	/* What it unpacks to has no room in the temporary file, whose disk may be full of packs. */
	if (error == ENOSPC && cache_make_room(scan->cache, UINT64_MAX)) {
		drop_tree(scan);
		problem_clear(&problem);
		*counts = (struct source_counts){ 0 };
		return read_whole(scan, counts, facts);
	}
	/* The warnings of a source are given each time. */
	scan->is_direct = error || facts->asked_host || scan->source->warnings.count;
	if (scan->is_direct)
		drop_tree(scan);
	problem_clear(&problem);
	return error == EINTR ? error : 0;
}

/* The file that is locked and written gets the pack's name, and is read; the descriptor is taken. */
static errcode_t publish(struct layer_scan *scan, int descriptor, const char *name)
{
	struct layer_cache *cache = scan->cache;
	struct problem problem = { 0 };
	char file[CACHE_NAME_BYTES];
	errcode_t error = 0;

	cache_pack_file(name, file);
	if (renameat(cache->directory, scan->making, cache->directory, file) || fsync(cache->directory))
		error = errno;
	/*
	 * Only now: before it had its name, others could have taken an unlocked file for one that was left. They still
	 * lock it for a moment to find out.
	 */
	while (!error && flock(descriptor, LOCK_SH | LOCK_NB))
		error = errno == EWOULDBLOCK ? cache_wait(cache, file, false, &scan->waiting) : errno;
	scan->use = LAYER_MADE;
	if (!error)
		error = read_pack(scan, descriptor, name, &problem);
	else
		close(descriptor);
	if (!error)
		return 0;
	SCOPE_FREE char *path = pack_path(scan, name);

	drop_tree(scan);
	problem_set(&problem, error, path, "cannot write");
	return go_without(scan, &problem);
}

/*
 * The pack's name says what its source is, so the file that was read to find that out must be the one whose contents
 * have been copied: its ctime, too, is as it was.
 */
static errcode_t check_source(const struct layer_scan *scan, struct problem *problem)
{
	const struct source *source = scan->source;
	struct stat status;

	if (stat(source->path, &status))
		return problem_set(problem, errno, source->path, "cannot examine");
	return file_version_is(&source->version, &status) ? 0 : contents_changed(source->path, problem);
}

/* Writes the tree as a pack; the descriptor is taken. */
static errcode_t write_pack(struct layer_scan *scan, int descriptor, const char *name,
                            const struct source_counts *counts, const struct archive_facts *facts)
{
	SCOPE_FREE char *path = cache_file_path(scan->cache, scan->making);
	const struct pack_layer layer = { scan->tree, &scan->below, counts, facts->left_out_whiteouts };
	struct problem problem = { 0 };
	uint64_t bytes;
	errcode_t error = pack_contents_bytes(scan->tree, &bytes);

	if (!error) {
		cache_make_room(scan->cache, bytes);
		error = pack_write(descriptor, name, path, &layer, scan->pool, &problem);
	}

	drop_tree(scan);
	if (!error)
		error = check_source(scan, &problem);
	if (!error)
		return publish(scan, descriptor, name);
	(void)!cache_file_remove(scan->cache, scan->making, descriptor);
	close(descriptor);
	return go_without(scan, &problem);
}

/*
 * The name of the source's pack, once that has been read. *is_there: another blob has unpacked to the same layer, and
 * the next look finds it.
 */
static errcode_t learn_name(struct layer_scan *scan, struct archive_facts *facts, char name[PACK_NAME_BYTES],
                            bool *is_there)
{
	const struct source *source = scan->source;
	char digest[SOURCE_DIGEST_DIGITS + 1];
	struct problem problem = { 0 };

	strcpy(digest, source->digest);
	if (scan->is_layer && facts->is_packed)
		source_digest_text(&facts->unpacked, digest);
	pack_name(scan, digest, name);
	*is_there = false;
	if (!scan->is_layer)
		return 0;
	errcode_t error = source_diff_id_check(source, digest, scan->problem);

	if (error)
		return error;
	error = cache_blob_note(scan->cache, source->digest, source->bytes, digest);
	if (error) {
		problem_set(&problem, error, scan->cache->path, "cannot write");
		return go_without(scan, &problem);
	}
	*is_there = cache_has_pack(scan->cache, name);
	return 0;
}

/* Makes the pack in a file that is locked; the descriptor is taken. */
static errcode_t make_pack(struct layer_scan *scan, int descriptor)
{
	struct archive_facts facts = { 0 };
	struct source_counts counts = { 0 };
	char name[PACK_NAME_BYTES];
	bool is_there = false;
	errcode_t error = scan->source->is_checked ? 0 : source_digest_check(scan->source, scan->problem);

	if (!error)
		error = read_whole(scan, &counts, &facts);
	if (!error && !scan->is_direct)
		error = learn_name(scan, &facts, name, &is_there);
	if (!error && !scan->is_direct && !is_there)
		return write_pack(scan, descriptor, name, &counts, &facts);
	drop_tree(scan);
	(void)!cache_file_remove(scan->cache, scan->making, descriptor);
	close(descriptor);
	return error;
}

/* Has another process made it since we looked? */
static bool is_made(const struct layer_scan *scan)
{
	char name[PACK_NAME_BYTES], diff_id[SOURCE_DIGEST_DIGITS + 1];

	find_name(scan, name, diff_id);
	return *name && cache_has_pack(scan->cache, name);
}

/* Makes the pack, while others see that this goes on; the descriptor is taken. */
static errcode_t make_and_beat(struct layer_scan *scan, int descriptor)
{
	SCOPE_CLOSE int beating = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
	struct heartbeat heartbeat;

	stop_waiting(scan);
	heartbeat_start(&heartbeat, beating);
	errcode_t error = make_pack(scan, descriptor);

	heartbeat_stop(&heartbeat);
	return error;
}

/* Makes the pack unless another process does so, or has done so. */
static errcode_t make_or_wait(struct layer_scan *scan)
{
	struct problem problem = { 0 };
	int descriptor = cache_file_lock(scan->cache, scan->making, O_RDWR | O_CREAT, LOCK_EX);

	if (descriptor < 0 && errno == EWOULDBLOCK)
		return wait_for(scan, scan->making, true);
	if (descriptor >= 0 && !cache_file_is(scan->cache, scan->making, descriptor)) {
		close(descriptor);
		return 0;
	}
	/* What a process that was killed has left in it goes. */
	if (descriptor < 0 || ftruncate(descriptor, 0)) {
		SCOPE_FREE char *path = cache_file_path(scan->cache, scan->making);

		problem_set(&problem, errno, path, "cannot write");
		cleanup_close_descriptor(&descriptor);
		return go_without(scan, &problem);
	}
	if (!is_made(scan))
		return make_and_beat(scan, descriptor);
	(void)!cache_file_remove(scan->cache, scan->making, descriptor);
	close(descriptor);
	return 0;
}

static errcode_t get_pack(struct layer_scan *scan)
{
	char name[PACK_NAME_BYTES], diff_id[SOURCE_DIGEST_DIGITS + 1];
	errcode_t error = 0;

	snprintf(scan->making, sizeof(scan->making), "%.8s.%.64s" MAKING_SUFFIX, kind_name(scan->source),
	         scan->source->digest);
	while (!error && !scan->tree && !scan->is_direct) {
		find_name(scan, name, diff_id);
		if (*diff_id)
			error = source_diff_id_check(scan->source, diff_id, scan->problem);
		if (!error && *name)
			error = try_pack(scan, name);
		if (!error && !scan->tree && !scan->is_direct)
			error = make_or_wait(scan);
	}
	stop_waiting(scan);
	return error;
}

static bool exceeds(uint64_t counted, uint64_t more, uint64_t most)
{
	return most && (counted > most || more > most - counted);
}

/*
 * Would the source itself be refused? Then it says why. With fewer times and xattrs it may also be within a limit that
 * all of it exceeds.
 */
static bool is_refused(const struct layer_scan *scan)
{
	const struct pack_counts *own = &scan->counts;
	const struct source_counts *counts = scan->options->counts;

	if ((own->marks & PACK_HAD_LINKS_BELOW && !scan->options->below) ||
	    (own->marks & PACK_LEFT_OUT_WHITEOUTS && !scan->options->has_oci_whiteouts))
		return true;
	return counts && (exceeds(0, own->path_bytes, counts->limits.path_bytes) ||
	                  exceeds(counts->names, own->names, counts->limits.names) ||
	                  exceeds(counts->metadata_bytes, own->metadata_bytes, counts->limits.metadata_bytes) ||
	                  exceeds(counts->unpacked_bytes, own->unpacked_bytes, counts->limits.unpacked_bytes));
}

/* What was read of the pack becomes what its source gives with the options. */
static errcode_t use_pack(struct layer_scan *scan)
{
	const struct scan_options *options = scan->options;
	const struct pack_counts *counts = &scan->counts;
	errcode_t error =
		source_counts_add(options->counts, counts->names, counts->metadata_bytes, counts->unpacked_bytes);

	if (error)
		return source_counts_problem(options->counts, scan->problem);
	error = pack_options_apply(scan->tree, &scan->below, options, scan->pool, scan->problem);
	if (error)
		return error;
	if (options->below) {
		*options->below = scan->below;
		scan->below = (struct links_below){ 0 };
	}
	progress_add(options->progress, 0, scan->tree->node_count - 1);
	const struct layer_cache_use use = { scan->number, scan->use, scan->pack_bytes };
	struct layer_cache *cache = scan->cache;

	SCOPE_LOCK(&cache->lock);

	return vector_add(&cache->uses, &cache->use_count, &cache->use_capacity, &use, sizeof(use));
}

static errcode_t scan_directly(struct layer_scan *scan)
{
	struct source *source = scan->source;
	errcode_t error = *source->digest && !source->is_checked ? source_digest_check(source, scan->problem) : 0;

	scan->tree = error ? NULL : calloc(1, sizeof(*scan->tree));
	if (error)
		return error;
	return scan->tree ? source->kind->scan(source, scan->options, scan->pool, scan->tree, scan->problem) : ENOMEM;
}

/* An archive is looked for by its digest, so it is read for that. */
static errcode_t look_at_source(struct layer_scan *scan)
{
	struct stat status;

	scan->is_layer = scan->source->archive == &archive_kind_layer;
	scan->is_direct = stat(scan->source->path, &status) || scan_output_of(scan->options, &status) != SCAN_OUTPUTS;
	/* A pack has all names as they are in the archive. */
	scan->is_direct |= !scan->is_layer && scan->options->strip_components;
	/* A layer's file is not read, but it must be there: without the cache it is needed, too. */
	if (scan->is_layer) {
		scan->is_direct = scan->is_direct || !S_ISREG(status.st_mode) ||
		                  (!scan->source->is_part && (uint64_t)status.st_size != scan->source->bytes);
		return 0;
	}
	return scan->is_direct ? 0 : source_digest_check(scan->source, scan->problem);
}

errcode_t layer_cache_scan(struct layer_cache *cache, struct source *source, uint32_t number,
                           const struct scan_options *options, struct pool *pool, struct tree **ret,
                           struct problem *problem)
{
	struct layer_scan scan = {
		.cache = cache,
		.source = source,
		.options = options,
		.pool = pool,
		.problem = problem,
		.number = number,
	};
	errcode_t error = look_at_source(&scan);

	*ret = NULL;
	if (!error && !scan.is_direct)
		error = get_pack(&scan);
	if (!error && !scan.is_direct && is_refused(&scan)) {
		drop_tree(&scan);
		scan.is_direct = true;
	}
	if (!error)
		error = scan.is_direct ? scan_directly(&scan) : use_pack(&scan);
	if (!error)
		*ret = TAKE(scan.tree);
	drop_tree(&scan);
	return error ? problem_set(problem, error, source->path, "cannot read") : 0;
}
