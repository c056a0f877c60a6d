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

static uint64_t add(uint64_t hash, const void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

static uint64_t add_number(uint64_t hash, uint64_t number)
{
	return add(hash, &number, sizeof(number));
}

static uint64_t add_contents(uint64_t hash, struct content_reader *reader, uint32_t node, uint64_t bytes)
{
	SCOPE_FREE uint8_t *data = malloc(bytes + 1);
	struct problem problem = { 0 };

	if (!data || content_reader_open(reader, node, &problem) ||
	    content_reader_read(reader, data, bytes, 0, &problem))
		errx(2, "contents cannot be read");
	return add(hash, data, bytes);
}

static uint64_t digest_of(const struct tree *tree, uint32_t number, struct content_reader *reader)
{
	const struct tree_node *node = &tree->nodes[tree->nodes[number].link_to];
	const struct tree_xattr_set *set = &tree->xattr_sets[node->xattrs];
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	hash = add_number(hash, node->mode);
	hash = add_number(hash, node->uid);
	hash = add_number(hash, node->gid);
	hash = add_number(hash, (uint64_t)node->mtime_seconds);
	hash = add_number(hash, node->mtime_nanoseconds);
	hash = add_number(hash, node->flags);
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
		if (!digest->path)
			errx(2, "out of memory");
	}
	content_reader_destroy(reader);
	qsort(digests->list, digests->count, sizeof(*digests->list), compare);
}

void file_digests_read(const char *image, struct file_digests *digests)
{
	const struct scan_options options = { 0 };
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

/* The digest of a path; 0: there is no such file. The position advances beyond it. */
static uint64_t take(const struct file_digests *digests, size_t *at, const char *path)
{
	const struct file_digest *digest = next(digests, *at);

	if (!digest || strcmp(digest->path, path))
		return 0;
	++*at;
	return digest->digest;
}

static const char *first_path(const struct file_digest *const *digests)
{
	const char *first = NULL;

	for (int i = 0; i < 3; i++)
		if (digests[i] && (!first || strcmp(digests[i]->path, first) < 0))
			first = digests[i]->path;
	return first;
}

const char *file_digests_judge(const struct file_digests *found, const struct file_digests *old,
                               const struct file_digests *new, bool is_all)
{
	static char text[512];
	size_t at_found = 0, at_old = 0, at_new = 0;
	bool is_old = true, is_new = true;

	for (;;) {
		const struct file_digest *nexts[] = { next(found, at_found), next(old, at_old), next(new, at_new) };
		const char *path = first_path(nexts);

		if (!path)
			break;
		uint64_t here = take(found, &at_found, path);
		uint64_t before = take(old, &at_old, path), after = take(new, &at_new, path);

		is_old = is_old && here == before;
		is_new = is_new && here == after;
		if (here != before && here != after) {
			snprintf(text, sizeof(text), "%.400s is neither the old nor the new one", path);
			return text;
		}
	}
	return is_all && !is_old && !is_new ? "it is between two states" : NULL;
}
