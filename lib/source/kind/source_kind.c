/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the file of a source that is not a directory. */
#include "source/kind/source_kind.h"
#include "source/kind/stored_contents.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

const char *const scan_output_names[SCAN_OUTPUTS] = {
	[SCAN_IMAGE] = "image",
	[SCAN_HASH_TREE] = "hash tree",
	[SCAN_ROOT_HASH] = "root hash",
};

static bool is_standard_input(const struct source *source)
{
	return !strcmp(source->path, "-");
}

const char *source_file_name(const struct source *source)
{
	return is_standard_input(source) ? "standard input" : source->name ? source->name : source->path;
}

bool source_is_pipe(const char *file)
{
	struct stat status;

	return !(strcmp(file, "-") ? stat(file, &status) : fstat(STDIN_FILENO, &status)) && !S_ISREG(status.st_mode) &&
	       !S_ISBLK(status.st_mode) && !S_ISDIR(status.st_mode);
}

static int open_source(const struct source *source)
{
	return is_standard_input(source) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) :
	                                   source_file_open_path(source->path);
}

const char *source_strip_name(const char *name, unsigned int components, bool is_directory)
{
	if (!components)
		return name;
	name += strspn(name, "/");
	for (; components && *name; components--) {
		name += strcspn(name, "/");
		name += strspn(name, "/");
	}
	return *name ? name : is_directory && !components ? "." : NULL;
}

errcode_t source_strip_problem(const char *source, unsigned int components, struct problem *problem)
{
	return problem_set_reason(problem, EINVAL, source, "cannot read",
	                          "no name in it has more than %u components (--strip-components)", components);
}

errcode_t source_file_open(const struct source *source, const struct scan_options *options, struct tree *tree,
                           struct problem *problem)
{
	const char *name = source_file_name(source), *reason = NULL;
	enum scan_output output;
	int descriptor = open_source(source);
	errcode_t error = descriptor < 0 ? errno : 0;
	struct stat status;
	uint32_t origin;

	if (!error)
		error = stored_contents_add(tree, name, descriptor, &origin);
	if (!error && fstat(descriptor, &status))
		error = errno;
	if (!error && source->name) {
		stored_contents_of(tree, origin)->file = strdup(source->path);
		error = stored_contents_of(tree, origin)->file ? 0 : ENOMEM;
	}
	if (!error && source->is_part && lseek(descriptor, (off_t)source->start_bytes, SEEK_SET) < 0)
		error = errno;
	if (error)
		return problem_set(problem, error, name, "cannot open");
	if ((source->is_checked || source->is_part) && !file_version_is(&source->version, &status))
		return problem_set_reason(problem, EBUSY, name, "cannot read", "it has been changed meanwhile");
	output = scan_output_of(options, &status);
	if (output != SCAN_OUTPUTS)
		return problem_set_reason(problem, EINVAL, name, "cannot read", "source and %s are the same file",
		                          scan_output_names[output]);
	/* Reading a character device may never end, and it holds no archive. Standard input, however, can be a tape. */
	if (S_ISCHR(status.st_mode) && !is_standard_input(source))
		reason = "it is a character device";
	else if (isatty(descriptor))
		reason = "it is a terminal";
	return reason ? problem_set_reason(problem, EINVAL, name, "cannot read", "%s", reason) : 0;
}
