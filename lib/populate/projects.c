// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/projects.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "support/interrupt.h"

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

/* A project that nobody has: it is that of the directory. */
#define UNKNOWN UINT32_MAX

static errcode_t ask_by_descriptor(const char *path, struct attributes *attributes)
{
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct fsxattr old;

	if (descriptor < 0 || ioctl(descriptor, FS_IOC_FSGETXATTR, &old))
		return errno;
	attributes->xflags = old.fsx_xflags;
	attributes->projid = old.fsx_projid;
	return 0;
}

static errcode_t ask(const char *path, const struct tree_node *node, int flags, struct attributes *attributes)
{
	if (syscall(SYS_file_getattr, AT_FDCWD, path, attributes, sizeof(*attributes), flags) == 0)
		return 0;
	/* EPERM: a filter of system calls that does not know it. */
	if (errno != ENOSYS && errno != EPERM)
		return errno;
	return S_ISREG(node->mode) || S_ISDIR(node->mode) ? ask_by_descriptor(path, attributes) : EOPNOTSUPP;
}

/* A file that is not there is one that only --metadata has; one that has gone is missed when it is copied. */
static bool says_nothing(errcode_t error)
{
	return error == EOPNOTSUPP || error == ENOTTY || error == EINVAL || error == ENOENT || error == ENOTDIR ||
	       error == ENAMETOOLONG || error == ELOOP;
}

static errcode_t read_node(const struct build *build, uint32_t number, struct problem *problem)
{
	const struct tree_node *node = build_node(build, number);
	bool has_own_path = build->tree->origins[node->origin].kind == TREE_ORIGIN_FILES;
	struct project *project = &build->projects[number];
	struct attributes attributes = { 0 };

	if (!tree_is_of_host(build->tree, node))
		return 0;
	SCOPE_FREE char *path = has_own_path ? tree_host_path(build->tree, number) : tree_path(build->tree, number);
	errcode_t error = path ? ask(path, node, number == TREE_ROOT ? 0 : AT_SYMLINK_NOFOLLOW, &attributes) : ENOMEM;

	if (says_nothing(error)) {
		project->id = UNKNOWN;
		return 0;
	}
	if (error)
		return problem_set(problem, error, path, "cannot read its project");
	project->id = attributes.projid;
	project->is_inherited = S_ISDIR(node->mode) && (attributes.xflags & FS_XFLAG_PROJINHERIT);
	return 0;
}

static errcode_t read_chunk(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct build *build = context;
	size_t end = (index + 1) * CHUNK_NODES;

	(void)worker;
	if (interrupt_pending())
		return EINTR;
	for (size_t node = index * CHUNK_NODES; node < end && node < build->tree->node_count; node++) {
		errcode_t error = tree_node_is_link(build->tree, (uint32_t)node) ?
		                          0 :
		                          read_node(build, (uint32_t)node, problem);

		if (error)
			return error;
	}
	return 0;
}

errcode_t projects_read(struct build *build, struct problem *problem)
{
	uint32_t count = build->tree->node_count;

	if (!build->format.project || build->projects)
		return 0;
	build->projects = calloc(count, sizeof(*build->projects));
	if (!build->projects)
		return ENOMEM;
	errcode_t error = pool_run(build->pool, (count + CHUNK_NODES - 1ul) / CHUNK_NODES, read_chunk, build, problem);

	/* Directories come before what is in them. */
	for (uint32_t node = 0; node < count; node++) {
		const struct project *parent = &build->projects[build_node(build, node)->parent];

		if (build->projects[node].id == UNKNOWN)
			build->projects[node].id = node && parent->is_inherited ? parent->id : 0;
	}
	return error;
}

void projects_free(struct build *build)
{
	free(TAKE(build->projects));
}
