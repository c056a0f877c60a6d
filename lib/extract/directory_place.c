/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/directory_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

static errcode_t is_empty(int directory, bool *ret)
{
	SCOPE_CLOSEDIR DIR *stream = NULL;
	const struct dirent *entry;
	int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (own < 0)
		return errno;
	stream = fdopendir(own);
	if (!stream) {
		close(own);
		return ENOMEM;
	}
	*ret = true;
	while ((entry = readdir(stream)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			*ret = false;
	return 0;
}

static errcode_t open_top(struct place *place, bool has_force, struct problem *problem)
{
	const char *path = place->path;
	bool is_free = true;

	place->is_new = mkdir(path, 0700) == 0;
	if (!place->is_new && errno != EEXIST)
		return problem_set(problem, errno, path, "cannot create directory");
	place->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place->root < 0)
		return problem_set(problem, errno, path, "cannot open directory");
	errcode_t error = is_empty(place->root, &is_free);

	if (!error && faccessat(place->root, ".", W_OK | X_OK, AT_EACCESS))
		error = errno;
	if (error)
		return problem_set(problem, error, path, "cannot write into this directory");
	if (!is_free && !has_force)
		return problem_set_reason(problem, ENOTEMPTY, path, "cannot write into this directory",
		                          "it is not empty; --force puts files in the place of those that are there");
	/* Existing directories below may have a default ACL, too. */
	place->inherits_acls = !is_free || fgetxattr(place->root, "system.posix_acl_default", NULL, 0) > 0;
	return 0;
}

errcode_t place_open(struct place *place, struct extraction *extraction, struct problem *problem)
{
	unsigned int count = pool_workers(extraction->pool);

	*place = (struct place){ .extraction = extraction, .path = extraction->options->output, .root = -1 };
	place->workers = aligned_alloc(alignof(struct place_worker), count * sizeof(*place->workers));
	if (!place->workers)
		return ENOMEM;
	memset(place->workers, 0, count * sizeof(*place->workers));
	errcode_t error = open_top(place, extraction->options->has_force, problem);

	for (unsigned int i = 0; i < count; i++) {
		descender_init(&place->workers[i].descender, place->root, tree_ascend, extraction->tree);
		for (unsigned int j = 0; j < OPEN_DIRECTORIES; j++)
			place->workers[i].open[j].descriptor = -1;
	}
	return error;
}

void place_close(struct place *place)
{
	for (unsigned int i = 0; place->workers && i < pool_workers(place->extraction->pool); i++) {
		for (unsigned int j = 0; j < OPEN_DIRECTORIES; j++)
			cleanup_close_descriptor(&place->workers[i].open[j].descriptor);
		descender_destroy(&place->workers[i].descender);
	}
	free(place->workers);
	cleanup_close_descriptor(&place->root);
}

errcode_t place_directory(struct place *place, unsigned int worker, uint32_t node, int *descriptor)
{
	struct place_worker *own = &place->workers[worker];

	if (!place_has(place, node))
		return ENOENT;
	if (node == TREE_ROOT) {
		*descriptor = place->root;
		return 0;
	}
	for (unsigned int i = 0; i < OPEN_DIRECTORIES; i++)
		if (own->open[i].descriptor >= 0 && own->open[i].node == node) {
			own->last = i;
			*descriptor = own->open[i].descriptor;
			return 0;
		}
	own->last = (own->last + 1) % OPEN_DIRECTORIES;
	struct open_directory *open = &own->open[own->last];

	cleanup_close_descriptor(&open->descriptor);
	open->node = node;
	errcode_t error = descender_open(&own->descender, node, &open->descriptor);

	*descriptor = open->descriptor;
	return error;
}

errcode_t place_parent(struct place *place, unsigned int worker, uint32_t node, int *descriptor)
{
	return place_directory(place, worker, place->extraction->tree->nodes[node].parent, descriptor);
}

/*
 * True if only this file is affected. Any other error would also stop the next file: the host's disk is full or broken,
 * or memory is short.
 */
static bool is_of_file(errcode_t error)
{
	static const errcode_t list[] = { EEXIST, ENOTEMPTY, EISDIR, ENOTDIR, ELOOP,   ENAMETOOLONG, EINVAL,
		                          EPERM,  EACCES,    EILSEQ, EBUSY,   ETXTBSY, EFBIG,        EOPNOTSUPP,
		                          ENOENT, EMLINK,    EXDEV,  ESTALE,  ENODATA, ENXIO };

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (list[i] == error)
			return true;
	return false;
}

void place_forget(const struct place *place, uint32_t node)
{
	__atomic_store_n(&place->extraction->damaged[node], (uint8_t)DAMAGE_LEFT_OUT, __ATOMIC_RELAXED);
}

errcode_t place_fail(struct place *place, unsigned int worker, uint32_t node, errcode_t error, const char *action,
                     struct problem *problem)
{
	const struct tree *tree = place->extraction->tree;
	SCOPE_FREE char *path = path_text(place->path, tree_ascend, tree, node, NULL);
	struct problem own = { 0 };

	if (!path || !is_of_file(error))
		return path ? problem_set(problem, error, path, action) : ENOMEM;
	problem_set(&own, error, path, action);
	return extraction_damaged(place->extraction, worker, node, DAMAGE_LEFT_OUT, &own);
}
