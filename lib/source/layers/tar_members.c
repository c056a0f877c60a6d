/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/layers/tar_members.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "source/archive/archive_kind.h"
#include "support/cleanup.h"
#include "support/io/whole_io.h"
#include "support/run/interrupt.h"

#define READ_BYTES ((size_t)64 << 10)

/* So many bytes tell a packer. */
#define PACKER_BYTES 8

/* An image has a few files for each of its layers, which are 128 at most with docker and containerd. */
#define MOST_MEMBERS 65536

/* As the kernel has it. */
#define MOST_LINKS 40

struct tar_member {
	char *name;   /* owned; without "./", ".." or an empty part */
	char *target; /* owned; of a link, likewise; NULL: it is a regular file: */
	uint64_t start_bytes, bytes;
	bool is_sparse;
};

struct tar_members {
	char *path;
	void *by_name; /* for tsearch(3) */
	size_t count;
};

static int compare_members(const void *one, const void *other)
{
	return strcmp(((const struct tar_member *)one)->name, ((const struct tar_member *)other)->name);
}

static void destroy_member(void *data)
{
	struct tar_member *member = data;

	free(member->name);
	free(member->target);
	free(member);
}

void tar_members_destroy(struct tar_members *members)
{
	if (!members)
		return;
	tdestroy(members->by_name, destroy_member);
	free(members->path);
	free(members);
}

/*
 * The path of `relative`, seen from the folder of the member `from` (""; the archive's root), without empty parts and
 * dots. The caller frees *ret; NULL: it leads out of the archive. ENOMEM.
 */
static errcode_t resolve(const char *from, const char *relative, char **ret)
{
	const char *slash = strrchr(from, '/');
	size_t used = slash ? (size_t)(slash - from) : 0;
	SCOPE_FREE char *path = malloc(used + strlen(relative) + 2);

	*ret = NULL;
	if (!path)
		return ENOMEM;
	memcpy(path, from, used);
	for (size_t length; *relative; relative += length) {
		relative += strspn(relative, "/");
		length = strcspn(relative, "/");
		if (!length || (length == 1 && *relative == '.'))
			continue;
		if (length == 2 && strncmp(relative, "..", 2) == 0) {
			if (!used)
				return 0;
			while (used && path[--used] != '/')
				;
			continue;
		}
		if (used)
			path[used++] = '/';
		memcpy(path + used, relative, length);
		used += length;
	}
	path[used] = '\0';
	*ret = TAKE(path);
	return 0;
}

static errcode_t refuse(const struct tar_members *members, struct problem *problem, const char *name,
                        const char *reason)
{
	return problem_set_reason(problem, EINVAL, members->path, "cannot use", "its member %.160s %s", name, reason);
}

static bool has_dots(const char *path)
{
	for (; *path; path += strcspn(path, "/")) {
		path += strspn(path, "/");
		if (strcspn(path, "/") == 2 && strncmp(path, "..", 2) == 0)
			return true;
	}
	return false;
}

/* Takes the member's name and its target. */
static errcode_t name_member(const struct tar_members *members, struct archive_entry *entry, struct tar_member *member,
                             struct problem *problem)
{
	const char *name = archive_entry_pathname(entry), *hard = archive_entry_hardlink(entry);
	const char *symbolic = archive_entry_filetype(entry) == AE_IFLNK ? archive_entry_symlink(entry) : NULL;

	if (*name == '/' || has_dots(name))
		return refuse(members, problem, name, "leads out of the archive");
	errcode_t error = resolve("", name, &member->name);

	if (error || (!hard && !symbolic))
		return error;
	error = resolve(hard ? "" : member->name, hard ? hard : symbolic, &member->target);
	if (!error && (!member->target || (!hard && *symbolic == '/')))
		return refuse(members, problem, name, "is a link that leads out of the archive");
	return error;
}

static errcode_t insert(struct tar_members *members, struct tar_member **member, struct problem *problem)
{
	struct tar_member *const *found = tsearch(*member, &members->by_name, compare_members);

	if (!found)
		return ENOMEM;
	if (*found != *member)
		return refuse(members, problem, (*member)->name, "is there twice");
	*member = NULL;
	if (++members->count > MOST_MEMBERS)
		return problem_set_reason(problem, EFBIG, members->path, "cannot use", "it has more than %u members",
		                          MOST_MEMBERS);
	return 0;
}

static errcode_t add_member(struct tar_members *members, struct archive *archive, struct archive_entry *entry,
                            uint64_t file_bytes, struct problem *problem)
{
	struct tar_member *member = calloc(1, sizeof(*member));
	const bool is_link = archive_entry_hardlink(entry) || archive_entry_filetype(entry) == AE_IFLNK;
	errcode_t error = member ? name_member(members, entry, member, problem) : ENOMEM;

	if (!error && !is_link) {
		/* libarchive has read the header, and nothing of what follows it. */
		member->start_bytes = (uint64_t)archive_filter_bytes(archive, 0);
		member->bytes = (uint64_t)archive_entry_size(entry);
		member->is_sparse = archive_entry_sparse_count(entry) > 0;
		if (!member->is_sparse &&
		    (member->start_bytes > file_bytes || member->bytes > file_bytes - member->start_bytes))
			error = refuse(members, problem, member->name, "ends beyond the end of the file");
	}
	if (!error)
		error = insert(members, &member, problem);
	if (member)
		destroy_member(member);
	return error;
}

/* Directories and devices are no part of an image; what they could be linked to is not found then. */
static bool is_of_use(struct archive_entry *entry)
{
	mode_t type = archive_entry_filetype(entry);

	return archive_entry_pathname(entry) && (archive_entry_hardlink(entry) || type == AE_IFREG || type == AE_IFLNK);
}

static errcode_t read_members(struct tar_members *members, struct archive *archive, uint64_t file_bytes,
                              struct problem *problem)
{
	struct archive_entry *entry;
	errcode_t error = 0;
	int result = ARCHIVE_OK;

	while (!error && (result = archive_read_next_header(archive, &entry)) != ARCHIVE_EOF) {
		if (result == ARCHIVE_FATAL || result == ARCHIVE_FAILED || result == ARCHIVE_RETRY) {
			const char *reason = archive_error_string(archive);

			return problem_set_reason(problem, EINVAL, members->path, "cannot use", "%.200s",
			                          reason ? reason : "it is damaged");
		}
		error = interrupt_pending() ? EINTR : 0;
		if (!error && is_of_use(entry))
			error = add_member(members, archive, entry, file_bytes, problem);
	}
	if (!error && !members->count)
		return problem_set_reason(problem, EINVAL, members->path, "cannot use", "it has no files");
	return error;
}

static errcode_t check_file(const struct tar_members *members, int descriptor, struct stat *status,
                            struct problem *problem)
{
	uint8_t beginning[PACKER_BYTES] = { 0 };

	if (fstat(descriptor, status))
		return errno;
	if (!S_ISREG(status->st_mode))
		return problem_set_reason(problem, EINVAL, members->path, "cannot use",
		                          "it is not a regular file, and layers are read in place");
	errcode_t error = (size_t)status->st_size < sizeof(beginning) ?
	                          0 :
	                          whole_read(descriptor, beginning, sizeof(beginning), 0);
	const char *program = error ? NULL : packing_name(beginning, sizeof(beginning));

	if (program)
		return problem_set_reason(problem, EINVAL, members->path, "cannot use",
		                          "it is packed as a whole, and layers are read in place: %s -d unpacks it",
		                          program);
	return error;
}

errcode_t tar_members_read(int descriptor, const char *path, struct tar_members **ret, struct problem *problem)
{
	struct tar_members *members = calloc(1, sizeof(*members));
	struct archive *archive = archive_read_new();
	struct stat status;
	errcode_t error = members && archive ? 0 : ENOMEM;

	if (!error)
		members->path = strdup(path);
	if (!error)
		error = members->path ? check_file(members, descriptor, &status, problem) : ENOMEM;
	if (!error && (archive_read_support_format_tar(archive) != ARCHIVE_OK || lseek(descriptor, 0, SEEK_SET) < 0))
		error = ENOMEM;
	if (!error && archive_read_open_fd(archive, descriptor, READ_BYTES) != ARCHIVE_OK)
		error = problem_set_reason(problem, EINVAL, path, "cannot read", "%.200s",
		                           archive_error_string(archive));
	if (!error)
		error = read_members(members, archive, (uint64_t)status.st_size, problem);
	if (archive)
		archive_read_free(archive);
	if (error)
		tar_members_destroy(TAKE(members));
	*ret = members;
	return error ? problem_set(problem, error, path, "cannot read") : 0;
}

static const struct tar_member *member_of(const struct tar_members *members, const char *name)
{
	const struct tar_member wanted = { .name = (char *)(uintptr_t)name };
	struct tar_member *const *found = tfind(&wanted, &members->by_name, compare_members);

	return found ? *found : NULL;
}

bool tar_members_have(const struct tar_members *members, const char *name)
{
	return member_of(members, name);
}

errcode_t tar_members_find(const struct tar_members *members, const char *name, uint64_t *start_bytes, uint64_t *bytes,
                           struct problem *problem)
{
	SCOPE_FREE char *plain = NULL;
	errcode_t error = resolve("", name, &plain);
	const struct tar_member *member = plain ? member_of(members, plain) : NULL;

	if (error)
		return problem_set(problem, error, members->path, "cannot use");
	if (!member)
		return problem_set_reason(problem, ENOENT, members->path, "cannot use", "it has no member %.160s",
		                          name);
	for (int links = 0; member && member->target && links < MOST_LINKS; links++)
		member = member_of(members, member->target);
	if (!member || member->target)
		return refuse(members, problem, name, "is a link that leads to no file");
	if (member->is_sparse)
		return refuse(members, problem, name, "is sparse, so its bytes do not lie side by side");
	*start_bytes = member->start_bytes;
	*bytes = member->bytes;
	return 0;
}
