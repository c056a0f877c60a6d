/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "file_digests.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "source/sources.h"
#include "support/cleanup.h"
#include "tree/contents.h"
#include "tree/details.h"

#define MULTIPLIER UINT64_C(0x9fb21c651e98df25)

/*
 * Contents are hashed in pieces of this size, each with its place, and pieces of zeros are left out. So the digest
 * depends neither on holes nor on extents, and a file of 8 GiB that is a hole takes no time.
 */
#define PIECE_BYTES 1024u
#define READ_BYTES (1u << 18)

static uint64_t add_number(uint64_t hash, uint64_t number)
{
	hash = (hash ^ number) * MULTIPLIER;
	return hash ^ hash >> 32;
}

static uint64_t add(uint64_t hash, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;
	uint64_t word = 0;

	for (; count >= sizeof(word); count -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = add_number(hash, word);
	}
	word = 0;
	memcpy(&word, at, count);
	return add_number(add_number(hash, word), count);
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
	return !count || (!bytes[0] && !memcmp(bytes, bytes + 1, count - 1));
}

static uint64_t add_data(uint64_t hash, const uint8_t *data, uint64_t offset, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += PIECE_BYTES) {
		size_t count = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;

		if (!is_zero(data + at, count))
			hash = add(add_number(hash, offset + at), data + at, count);
	}
	return hash;
}

static uint64_t add_contents(uint64_t hash, struct content_reader *reader, uint32_t node, uint64_t bytes)
{
	static uint8_t data[READ_BYTES];
	struct problem problem = { 0 };

	if (content_reader_open(reader, node, &problem))
		errx(2, "contents cannot be read");
	for (uint64_t at = 0; at < bytes;) {
		struct content_range range = content_reader_map(reader, at);
		uint64_t end = range.logical_bytes + range.length_bytes, most = at + READ_BYTES;

		end = end < bytes ? end : bytes;
		if (range.kind == CONTENT_DATA) {
			end = end < most ? end : most;
			if (content_reader_read(reader, data, end - at, at, &problem))
				errx(2, "contents cannot be read");
			hash = add_data(hash, data, at, end - at);
		}
		at = end;
	}
	return add_number(hash, bytes);
}

static uint64_t digest_of(const struct tree *tree, uint32_t number, struct content_reader *reader)
{
	const struct tree_node *node = &tree->nodes[tree->nodes[number].link_to];
	const struct tree_xattr_set *set = &tree->xattr_sets[node->xattrs];
	const struct tree_detail *detail = tree_detail(tree, node);
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	hash = add_number(hash, node->mode);
	hash = add_number(hash, node->uid);
	hash = add_number(hash, node->gid);
	hash = add_number(hash, (uint64_t)node->mtime_seconds);
	hash = add_number(hash, node->mtime_nanoseconds);
	hash = add_number(hash, node->flags);
	hash = add_number(hash, detail->project);
	for (uint32_t i = 0; i < set->count; i++) {
		hash = add(hash, set->list[i].name, strlen(set->list[i].name) + 1);
		hash = add(hash, set->list[i].value, set->list[i].value_bytes);
	}
	if (S_ISREG(node->mode))
		hash = add_contents(hash, reader, node->link_to, node->size_bytes);
	else if (S_ISLNK(node->mode))
		hash = add(hash, node->target, node->size_bytes);
	else if (S_ISCHR(node->mode) || S_ISBLK(node->mode))
		hash = add_number(add_number(hash, node->device.major), node->device.minor);
	return hash | 1;
}

static int compare(const void *one, const void *other)
{
	return strcmp(((const struct file_digest *)one)->path, ((const struct file_digest *)other)->path);
}

static void digest_tree(const struct tree *tree, struct file_digests *digests)
{
	struct content_reader *reader;

	digests->list = calloc(tree->node_count, sizeof(*digests->list));
	if (!digests->list || content_reader_create(tree, &reader))
		errx(2, "out of memory");
	for (uint32_t node = 0; node < tree->node_count; node++) {
		struct file_digest *digest = &digests->list[digests->count++];

		digest->path = path_text("", tree_ascend, tree, node, NULL);
		digest->digest = digest_of(tree, node, reader);
		const struct tree_node *first = &tree->nodes[tree->nodes[node].link_to];

		digest->accessed = tree_detail(tree, first)->atime;
		digest->created = tree_detail(tree, first)->crtime;
		if (!digest->path)
			errx(2, "out of memory");
	}
	content_reader_destroy(reader);
	qsort(digests->list, digests->count, sizeof(*digests->list), compare);
}

void file_digests_read(const char *image, struct file_digests *digests)
{
	const struct scan_options options = { .asks_for_times = true };
	const struct source_layering layering = { 0 };
	struct problem problem = { 0 };
	SCOPE_FREE char *name = NULL;
	struct tree *tree;
	struct pool *pool;

	*digests = (struct file_digests){ 0 };
	if (pool_create(0, &pool) || asprintf(&name, "image:%s", image) < 0)
		errx(2, "out of memory");
	const char *source = name;

	if (sources_scan(&source, 1, &layering, &options, pool, &tree, &problem)) {
		SCOPE_FREE char *text = problem_text(&problem);

		errx(2, "%s", text);
	}
	digest_tree(tree, digests);
	tree_destroy(tree);
	pool_destroy(pool);
}

void file_digests_free(struct file_digests *digests)
{
	for (size_t i = 0; i < digests->count; i++)
		free(digests->list[i].path);
	free(digests->list);
}

static const struct file_digest *next(const struct file_digests *digests, size_t at)
{
	return at < digests->count ? &digests->list[at] : NULL;
}

/* Takes what the list has of a path, and moves on. A digest of 0: there is no such file. */
static struct file_digest take(const struct file_digests *digests, size_t *at, const char *path)
{
	const struct file_digest *digest = next(digests, *at);

	if (!digest || strcmp(digest->path, path))
		return (struct file_digest){ 0 };
	++*at;
	return *digest;
}

static const char *first_path(const struct file_digest *const *digests)
{
	const char *first = NULL;

	for (int i = 0; i < 3; i++)
		if (digests[i] && (!first || strcmp(digests[i]->path, first) < 0))
			first = digests[i]->path;
	return first;
}

static bool is_time(const struct tree_time *here, const struct tree_time *old, const struct tree_time *new)
{
	return (here->seconds == new->seconds && here->nanoseconds == new->nanoseconds) ||
	       (here->seconds == old->seconds && here->nanoseconds == old->nanoseconds);
}

/*
 * A file that has lost its further names before the crash keeps its inode when it is updated afterwards, and so has the
 * old crtime, and perhaps the old atime, beside what is new.
 */
static bool are_times_possible(const struct file_digest *here, const struct file_digest *old,
                               const struct file_digest *new)
{
	return is_time(&here->created, &old->created, &new->created) &&
	       is_time(&here->accessed, &old->accessed, &new->accessed);
}

const char *file_digests_judge(const struct file_digests *found, const struct file_digests *old,
                               const struct file_digests *new, enum digest_states states)
{
	static char text[512];
	size_t at_found = 0, at_old = 0, at_new = 0;
	bool is_old = states != STATE_NEW, is_new = true;

	for (;;) {
		const struct file_digest *nexts[] = { next(found, at_found), next(old, at_old), next(new, at_new) };
		const char *path = first_path(nexts);

		if (!path)
			break;
		struct file_digest here = take(found, &at_found, path), before = take(old, &at_old, path);
		struct file_digest after = take(new, &at_new, path);

		is_old = is_old && here.digest == before.digest;
		is_new = is_new && here.digest == after.digest;
		if ((here.digest != before.digest && here.digest != after.digest) ||
		    !are_times_possible(&here, &before, &after)) {
			snprintf(text, sizeof(text), "%.400s is neither the old nor the new one", path);
			return text;
		}
	}
	if (states == STATE_OLD_OR_NEW || is_old || is_new)
		return NULL;
	return states == STATE_NEW ? "not all files are the new ones" : "it is between two states";
}
