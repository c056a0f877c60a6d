/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/projects.h"
#include "source/host/host_contents.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tree/contents.h"
#include "tree/file_flags.h"
#include "support/run/interrupt.h"

#define CHUNK_NODES 1024

/* Of Linux 6.17; older headers have neither its number, which few machines have to themselves, nor its struct. */
#ifndef SYS_file_getattr
#if defined(__alpha__) || defined(__mips__)
#define SYS_file_getattr (-1)
#else
#define SYS_file_getattr 468
#endif
#endif

struct attributes { /* struct file_attr */
	uint64_t xflags;
	uint32_t extsize, nextents, projid, cowextsize;
};

/* Not an id of a project: the file has that of its directory. */
#define UNKNOWN UINT32_MAX

/* What workers read with, one each. */
struct project_readers {
	const struct tree *tree;
	struct project *projects;
	struct content_reader **readers;
};

static errcode_t ask_opened(int descriptor, struct attributes *attributes)
{
	struct fsxattr old;

	if (descriptor < 0 || ioctl(descriptor, FS_IOC_FSGETXATTR, &old))
		return errno;
	attributes->xflags = old.fsx_xflags;
	attributes->projid = old.fsx_projid;
	return 0;
}

static errcode_t ask_by_name(int directory, const char *name, uint32_t mode, struct attributes *attributes)
{
	if (syscall(SYS_file_getattr, directory, name, attributes, sizeof(*attributes), AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	/* EPERM: a filter of system calls that does not know it. */
	if (errno != ENOSYS && errno != EPERM)
		return errno;
	if (!S_ISREG(mode) && !S_ISDIR(mode))
		return EOPNOTSUPP;
	SCOPE_CLOSE int descriptor = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return ask_opened(descriptor, attributes);
}

/* Never by a path, which could lead to another file when directories are renamed meanwhile. */
static errcode_t ask(struct content_reader *reader, const struct tree *tree, uint32_t number,
                     struct attributes *attributes)
{
	const struct tree_node *node = &tree->nodes[number];
	const char *name;
	int directory;
	void *state;
	errcode_t error = content_reader_state(reader, node->origin, &state);

	/* One that has come to lie elsewhere. */
	if (!error && S_ISREG(node->mode) && tree_contents(node)) {
		error = content_reader_open(reader, number, NULL);
		return error ? error : ask_opened(host_contents_descriptor(state), attributes);
	}
	if (!error)
		error = host_contents_locate(state, number, &directory, &name, NULL);
	return error ? error : ask_by_name(directory, name, node->mode, attributes);
}

/* A file that is not there is one that only --metadata has; one that has gone is missed when it is copied. */
static bool says_nothing(errcode_t error)
{
	return error == EOPNOTSUPP || error == ENOTTY || error == EINVAL || error == ENOENT || error == ENOTDIR ||
	       error == ENAMETOOLONG || error == ELOOP;
}

static errcode_t read_node(const struct tree *tree, struct content_reader *reader, uint32_t number,
                           struct project *project, struct problem *problem)
{
	const struct tree_node *node = &tree->nodes[number];
	struct attributes attributes = { 0 };

	project->is_inherited = S_ISDIR(node->mode) && (node->flags & FILE_FLAGS_OF_PROJECT);
	if (!tree->origins[node->origin].is_host)
		return 0;
	errcode_t error = ask(reader, tree, number, &attributes);

	if (says_nothing(error)) {
		project->id = UNKNOWN;
		return 0;
	}
	if (error) {
		SCOPE_FREE char *path = tree_path(tree, number);

		return problem_set(problem, error, path, "cannot read its project");
	}
	project->id = attributes.projid;
	project->is_inherited = S_ISDIR(node->mode) && (attributes.xflags & FS_XFLAG_PROJINHERIT);
	return 0;
}

static errcode_t read_chunk(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct project_readers *reading = context;
	const struct tree *tree = reading->tree;
	struct content_reader **reader = &reading->readers[worker];
	size_t end = (index + 1) * CHUNK_NODES;
	errcode_t error = *reader ? 0 : content_reader_create(tree, reader);

	if (interrupt_pending())
		return error ? error : EINTR;
	for (size_t node = index * CHUNK_NODES; !error && node < end && node < tree->node_count; node++)
		if (!tree_node_is_link(tree, (uint32_t)node))
			error = read_node(tree, *reader, (uint32_t)node, &reading->projects[node], problem);
	return error;
}

/* Directories come before what is in them. */
static void inherit(const struct tree *tree, struct project *projects)
{
	for (uint32_t node = 0; node < tree->node_count; node++) {
		const struct project *parent = &projects[tree->nodes[node].parent];

		if (projects[node].id == UNKNOWN)
			projects[node].id = node && parent->is_inherited ? parent->id : 0;
	}
}

errcode_t projects_read(const struct tree *tree, struct pool *pool, struct project **ret, struct problem *problem)
{
	SCOPE_FREE struct project *projects = calloc(tree->node_count, sizeof(*projects));
	unsigned int workers = pool_workers(pool);
	SCOPE_FREE struct content_reader **readers = calloc(workers, sizeof(*readers));
	struct project_readers reading = { tree, projects, readers };

	*ret = NULL;
	if (!projects || !readers)
		return ENOMEM;
	errcode_t error =
		pool_run(pool, (tree->node_count + CHUNK_NODES - 1ul) / CHUNK_NODES, read_chunk, &reading, problem);

	for (unsigned int i = 0; i < workers; i++)
		content_reader_destroy(readers[i]);
	if (error)
		return error;
	inherit(tree, projects);
	*ret = TAKE(projects);
	return 0;
}
