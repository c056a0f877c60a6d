/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree/contents.h"
#include "unpack/unpacked_store.h"

/* What libarchive and images need at once is freed after each input: more of it in quarantine takes new pages all the
 * time. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=4:malloc_context_size=8";
}

#define MOST_READ_FILES 16
#define MOST_READ_BYTES 4096

_Noreturn void fuzz_fail(const char *file, int line, const char *promise)
{
	fprintf(stderr, "%s:%d: broken: %s\n", file, line, promise);
	abort();
}

static char folder[200];
static pid_t owner; /* a child does not remove it */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static void remove_folder(void)
{
	if (getpid() == owner)
		nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_folder(void)
{
	const char *above = getenv("TMPDIR");

	if (*folder)
		return folder;
	snprintf(folder, sizeof(folder), "%s/fuzz.XXXXXX", above ? above : "/dev/shm");
	FUZZ_CHECK(mkdtemp(folder));
	owner = getpid();
	atexit(remove_folder);
	return folder;
}

struct fuzz_path fuzz_file(const char *name, const void *bytes, size_t count)
{
	struct fuzz_path path;
	size_t above = strlen(fuzz_folder());

	FUZZ_CHECK((size_t)snprintf(path.text, sizeof(path.text), "%s/%s", folder, name) < sizeof(path.text));
	for (char *slash = strchr(path.text + above + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path.text, 0700);
		*slash = '/';
	}
	FILE *file = fopen(path.text, "w");

	FUZZ_CHECK(file && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
	return path;
}

void fuzz_check_problem(errcode_t error, struct problem *problem)
{
	FUZZ_CHECK(error == problem->error);
	if (error) {
		SCOPE_FREE char *text = problem_text(problem);

		FUZZ_CHECK(text && *text);
	}
	problem_clear(problem);
}

struct fuzz_part fuzz_next_part(struct fuzz_part *rest)
{
	static const char separator[] = "====\n";
	const uint8_t *end = rest->count ? memmem(rest->bytes, rest->count, separator, sizeof(separator) - 1) : NULL;
	struct fuzz_part part = { rest->bytes, end ? (size_t)(end - rest->bytes) : rest->count };
	size_t used = end ? part.count + sizeof(separator) - 1 : part.count;

	rest->bytes += used;
	rest->count -= used;
	return part;
}

/* What a file has of data ascends, and lies in it. */
static void check_map(const struct tree_node *node)
{
	const struct tree_data_map *map = node->data_map;
	uint64_t end = 0;

	for (uint32_t n = 0; n < map->count; n++) {
		const struct tree_segment *segment = &map->segments[n];

		FUZZ_CHECK(segment->start_bytes >= end && segment->length_bytes);
		end = segment->start_bytes + segment->length_bytes;
		FUZZ_CHECK(end > segment->start_bytes && end <= node->size_bytes);
	}
}

/* No name leads out of its directory, and every directory lies in one that comes before it. */
static void check_nodes(const struct tree *tree)
{
	for (uint32_t number = 1; number < tree->node_count; number++) {
		const struct tree_node *node = &tree->nodes[number];

		FUZZ_CHECK(node->name_bytes && node->parent < number && !node->name[node->name_bytes]);
		FUZZ_CHECK(!memchr(node->name, '/', node->name_bytes) && !memchr(node->name, '\0', node->name_bytes));
		FUZZ_CHECK(node->name_bytes > 2 || strncmp(node->name, "..", node->name_bytes));
		if (S_ISREG(node->mode) && node->is_sparse && node->data_map && !tree_node_is_link(tree, number))
			check_map(node);
	}
}

static void read_contents(const struct tree *tree)
{
	static uint8_t bytes[MOST_READ_BYTES];
	struct problem problem = { 0 };
	struct content_reader *reader;
	unsigned int files = 0;

	FUZZ_CHECK(content_reader_create(tree, &reader) == 0);
	for (uint32_t number = 0; number < tree->node_count && files < MOST_READ_FILES; number++) {
		const struct tree_node *node = &tree->nodes[number];

		if (!S_ISREG(node->mode) || tree_node_is_link(tree, number) || !node->size_bytes)
			continue;
		uint64_t count = node->size_bytes < sizeof(bytes) ? node->size_bytes : sizeof(bytes);
		errcode_t error = content_reader_open(reader, number, &problem);

		if (!error)
			error = content_reader_read(reader, bytes, count, node->size_bytes - count, &problem);
		fuzz_check_problem(error, &problem);
		files++;
	}
	content_reader_destroy(reader);
}

void fuzz_check_tree(const struct tree *tree)
{
	check_nodes(tree);
	read_contents(tree);
}

struct tree *fuzz_scan(const char *name)
{
	return fuzz_scan_layers(&name, 1, WHITEOUTS_OCI);
}

struct tree *fuzz_scan_layers(const char *const *names, uint32_t count, enum whiteout_form whiteouts)
{
	struct scan_options options = { .spool_directory = fuzz_folder(), .asks_for_times = true };
	const struct source_layering layering = { .whiteouts = whiteouts };
	struct problem problem = { 0 };
	struct tree *tree = NULL;
	struct pool *pool;

	FUZZ_CHECK(unpacked_budget_create(1 << 20, &options.unpacked) == 0);
	FUZZ_CHECK(pool_create(0, &pool) == 0);
	errcode_t error = sources_scan(names, count, &layering, &options, pool, &tree, &problem);

	pool_destroy(pool);
	unpacked_budget_release(options.unpacked);
	fuzz_check_problem(error, &problem);
	if (error)
		return NULL;
	fuzz_check_tree(tree);
	return tree;
}
