/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/labels/file_contexts.h"

#include <errno.h>
#include <stdio.h>

static const char cannot_read[] = "cannot read SELinux's rules";

errcode_t file_contexts_name_files(const char *path, struct run_files *files)
{
	static const char *const ends[] = { "", ".bin", ".homedirs", ".local", ".subs", ".subs_dist" };
	errcode_t error = 0;

	for (size_t i = 0; !error && i < sizeof(ends) / sizeof(*ends); i++) {
		SCOPE_FREE char *file = NULL;

		if (asprintf(&file, "%s%s", path, ends[i]) < 0)
			return ENOMEM;
		error = run_files_read(files, "file-contexts", file, 0);
	}
	return error;
}

#if HAVE_SELINUX
#include <pthread.h>
#include <selinux/label.h>
#include <selinux/selinux.h>
#include <string.h>
#include <sys/stat.h>

struct file_contexts {
	struct selabel_handle *handle;
	const char *path; /* the caller's */
	char *label;      /* what was found last */
};

/* libselinux's first message during the current call. Only the message tells which line is wrong. */
static _Thread_local char complaint[256];

/*
 * Keeps the first error. libselinux also reports things that are not errors, and where SELinux would take its policy
 * from.
 */
static int __attribute__((format(printf, 2, 3))) note_complaint(int type, const char *format, ...)
{
	va_list arguments;

	if (type != SELINUX_ERROR || *complaint)
		return 0;
	va_start(arguments, format);
	vsnprintf(complaint, sizeof(complaint), format, arguments);
	va_end(arguments);
	complaint[strcspn(complaint, "\n")] = '\0';
	return 0;
}

static void listen_for_complaints(void)
{
	selinux_set_callback(SELINUX_CB_LOG, (union selinux_callback){ .func_log = note_complaint });
}

static errcode_t rules_problem(const char *path, errcode_t error, struct problem *problem)
{
	if (*complaint)
		return problem_set_reason(problem, error, path, cannot_read, "libselinux says: %s", complaint);
	return problem_set(problem, error, path, cannot_read);
}

errcode_t file_contexts_open(const char *path, struct file_contexts **ret, struct problem *problem)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct selinux_opt options[] = { { SELABEL_OPT_PATH, path } };
	SCOPE_FREE struct file_contexts *contexts = calloc(1, sizeof(*contexts));
	struct stat status;

	*ret = NULL;
	if (!contexts)
		return problem_set(problem, ENOMEM, path, cannot_read);
	/* libselinux goes by the size: a directory or a device would be an empty file. A pipe would be one to all but
	 * one. */
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return S_ISDIR(status.st_mode) ?
		               problem_set(problem, EISDIR, path, cannot_read) :
		               problem_set_reason(problem, EINVAL, path, cannot_read, "it is not a regular file");
	pthread_once(&once, listen_for_complaints);
	*complaint = '\0';
	errno = 0;
	contexts->path = path;
	contexts->handle = selabel_open(SELABEL_CTX_FILE, options, 1);
	if (!contexts->handle)
		return rules_problem(path, errno ? errno : EINVAL, problem);
	*ret = TAKE(contexts);
	return 0;
}

errcode_t file_contexts_find(struct file_contexts *contexts, const char *path, uint16_t mode, const char **label,
                             struct problem *problem)
{
	freecon(TAKE(contexts->label));
	*label = NULL;
	*complaint = '\0';
	errno = 0;
	if (!selabel_lookup_raw(contexts->handle, &contexts->label, path, mode)) {
		*label = contexts->label;
		return 0;
	}
	errcode_t error = errno ? errno : EINVAL;

	contexts->label = NULL;
	if (error == ENOENT)
		return 0;
	/* libselinux reports nothing about a rule that cannot be compiled. */
	if (!*complaint && error == EINVAL)
		return problem_set_reason(problem, error, contexts->path, cannot_read,
		                          "one that could match %s is not a regular expression", path);
	return rules_problem(contexts->path, error, problem);
}

void file_contexts_close(struct file_contexts *contexts)
{
	if (!contexts)
		return;
	freecon(contexts->label);
	selabel_close(contexts->handle);
	free(contexts);
}
#else
errcode_t file_contexts_open(const char *path, struct file_contexts **ret, struct problem *problem)
{
	*ret = NULL;
	return problem_set_reason(problem, ENOTSUP, path, cannot_read,
	                          "this program was built without libselinux (Debian package: libselinux1-dev)");
}

errcode_t file_contexts_find(struct file_contexts *contexts, const char *path, uint16_t mode, const char **label,
                             struct problem *problem)
{
	(void)contexts;
	(void)mode;
	*label = NULL;
	return problem_set(problem, ENOTSUP, path, cannot_read);
}

void file_contexts_close(struct file_contexts *contexts)
{
	(void)contexts;
}
#endif
