/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a member's type, owner, mode, times, target, device and extended attributes, its ACLs among them, and describes
 * the member in messages.
 */
#include <errno.h>
#include <limits.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>

#include "source/archive/archive_acl.h"
#include "source/archive/archive_scan.h"
#include "source/archive/limited_reader.h"
#include "tree/file_flags.h"
#include "support/bisect.h"
#include "support/vector.h"

#define NANOSECONDS 1000000000
#define ACCESS_NAME "system.posix_acl_access"
#define DEFAULT_NAME "system.posix_acl_default"

/* Returns a path for messages. NULL: no member is at hand, or there is no memory. */
static char *member_path(const struct archive_scan *scan)
{
	const char *member = scan->entry ? archive_entry_pathname(scan->entry) : NULL;
	SCOPE_FREE char *shown = member ? path_shown(member) : NULL;
	char *path = NULL;

	return shown && asprintf(&path, "%s: %s", scan->name, shown) >= 0 ? path : NULL;
}

errcode_t archive_scan_note(const struct archive_scan *scan, errcode_t error, const char *action, const char *reason,
                            struct problem *problem)
{
	SCOPE_FREE char *path = member_path(scan);

	if (error == EDQUOT)
		return source_counts_problem(scan->options->counts, problem);
	if (!reason)
		return problem_set(problem, error, path ? path : scan->name, action);
	return problem_set_reason(problem, error, path ? path : scan->name, action, "%s", reason);
}

errcode_t archive_scan_problem(const struct archive_scan *scan, errcode_t error, const char *action, const char *reason)
{
	return archive_scan_note(scan, error, action, reason, scan->problem);
}

errcode_t archive_scan_failure(const struct archive_scan *scan)
{
	SCOPE_FREE char *path = member_path(scan);
	errcode_t error = scan->input.error ? scan->input.error : EBADMSG;

	return archive_input_problem(&scan->input, error, path ? path : scan->name, scan->problem);
}

static struct tree_time entry_time(int64_t seconds, long nanoseconds)
{
	bool is_right = nanoseconds >= 0 && nanoseconds < NANOSECONDS;

	return (struct tree_time){ seconds, is_right ? (uint32_t)nanoseconds : 0, true };
}

static void set_time(const struct archive_scan *scan, struct tree_node *node)
{
	const struct tree_time *header = &scan->header.mtime;
	const struct tree_time time =
		header->is_known ? *header :
				   entry_time(archive_entry_mtime(scan->entry), archive_entry_mtime_nsec(scan->entry));

	node->mtime_seconds = time.seconds;
	node->mtime_nanoseconds = time.nanoseconds;
}

bool archive_scan_takes_times(const struct archive_scan *scan)
{
	return scan->options->asks_for_times && scan->input.kind != &archive_kind_converted &&
	       (archive_format(scan->input.archive) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
}

/* Sets the other times. They come from extended headers, or from GNU tar's own form of a header. */
static errcode_t set_other_times(const struct archive_scan *scan, struct tree_node *node)
{
	struct archive_entry *entry = scan->entry;
	struct tree_detail detail = {
		.atime = scan->header.atime,
		.ctime = scan->header.ctime,
		.crtime = scan->header.crtime,
	};

	if (!archive_scan_takes_times(scan))
		return 0;
	if (!detail.atime.is_known && archive_entry_atime_is_set(entry))
		detail.atime = entry_time(archive_entry_atime(entry), archive_entry_atime_nsec(entry));
	if (!detail.ctime.is_known && archive_entry_ctime_is_set(entry))
		detail.ctime = entry_time(archive_entry_ctime(entry), archive_entry_ctime_nsec(entry));
	errcode_t error = source_counts_metadata(scan->options->counts, sizeof(detail));

	if (!error)
		error = tree_add_detail(scan->tree, &detail, &node->detail);
	return error ? archive_scan_problem(scan, error, "cannot read", NULL) : 0;
}

static void set_flags(const struct archive_scan *scan, struct tree_node *node)
{
	const char *text = scan->options->without_flags ? NULL : archive_entry_fflags_text(scan->entry);

	node->flags = text ? file_flags_parse(text) : 0;
	node->has_flags = true;
}

static errcode_t set_owner(const struct archive_scan *scan, struct tree_node *node)
{
	la_int64_t uid = archive_entry_uid(scan->entry), gid = archive_entry_gid(scan->entry);

	if (uid < 0 || uid > UINT32_MAX || gid < 0 || gid > UINT32_MAX)
		return archive_scan_problem(scan, EOVERFLOW, "cannot read", "its owner does not fit in 32 bits");
	if (uid == UINT32_MAX || gid == UINT32_MAX) /* "no id" to chown(2) */
		return archive_scan_problem(scan, EOVERFLOW, "cannot read",
		                            "its owner is 4294967295, which no user and no group has");
	node->uid = (uint32_t)uid;
	node->gid = (uint32_t)gid;
	return 0;
}

static errcode_t set_target(const struct archive_scan *scan, struct tree_node *node)
{
	const char *target = archive_entry_symlink(scan->entry);
	size_t bytes = target ? strlen(target) : 0;

	if (!bytes)
		return archive_scan_problem(scan, EINVAL, "cannot read", "the symbolic link has no target");
	if (bytes >= PATH_MAX)
		return archive_scan_problem(scan, ENAMETOOLONG, "cannot read",
		                            "it is a symbolic link to a path of more than 4095 bytes");
	errcode_t error = source_counts_metadata(scan->options->counts, bytes + 1);

	node->size_bytes = bytes;
	node->target = error ? NULL : arena_copy_string(&scan->tree->memory, target, bytes);
	return node->target ? 0 : archive_scan_problem(scan, error ? error : ENOMEM, "cannot read", NULL);
}

/* Sets the device numbers. They may have as many bits as Linux has for them. */
static errcode_t set_device(const struct archive_scan *scan, struct tree_node *node)
{
	uint64_t major = archive_entry_rdevmajor(scan->entry), minor = archive_entry_rdevminor(scan->entry);

	if (major >= 1u << 12 || minor >= 1u << 20)
		return archive_scan_problem(scan, EOVERFLOW, "cannot read", "its device numbers are too large");
	node->device.major = (uint32_t)major;
	node->device.minor = (uint32_t)minor;
	return 0;
}

static errcode_t xattr_problem(const struct archive_scan *scan, errcode_t error, const char *reason)
{
	return archive_scan_problem(scan, error, "cannot read extended attributes", reason);
}

static errcode_t add_xattr(struct archive_scan *scan, uint32_t *count, const char *name, const void *value,
                           size_t bytes)
{
	errcode_t error = vector_reserve(&scan->xattrs, &scan->xattr_capacity, *count + 1, sizeof(*scan->xattrs));

	if (error)
		return xattr_problem(scan, error, NULL);
	if (strlen(name) > XATTR_NAME_MAX || bytes > XATTR_SIZE_MAX || !strchr(name, '.')[1])
		return xattr_problem(scan, EINVAL, "a name or a value is too long, or a name is only a prefix");
	scan->xattrs[(*count)++] = (struct tree_xattr){ .name = name, .value = value, .value_bytes = (uint32_t)bytes };
	return 0;
}

/* Returns the tag of a POSIX ACL's entry; 0: it is not one. */
static uint16_t tag_of(int archive_tag)
{
	static const struct {
		int archive;
		uint16_t tag;
	} tags[] = { { ARCHIVE_ENTRY_ACL_USER_OBJ, ACL_USER_OBJ },   { ARCHIVE_ENTRY_ACL_USER, ACL_USER },
		     { ARCHIVE_ENTRY_ACL_GROUP_OBJ, ACL_GROUP_OBJ }, { ARCHIVE_ENTRY_ACL_GROUP, ACL_GROUP },
		     { ARCHIVE_ENTRY_ACL_MASK, ACL_MASK },           { ARCHIVE_ENTRY_ACL_OTHER, ACL_OTHER } };

	for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++)
		if (tags[i].archive == archive_tag)
			return tags[i].tag;
	return 0;
}

/* Reads an ACL in libarchive's form: one of Solaris's tar, or of a format other than tar. */
static errcode_t read_entries(const struct archive_scan *scan, int type, struct acl *acl)
{
	int entry_type, permissions, tag, id;
	const char *name;
	errcode_t error = 0;

	if (archive_entry_acl_reset(scan->entry, type) == 0)
		return 0;
	while (!error &&
	       archive_entry_acl_next(scan->entry, type, &entry_type, &permissions, &tag, &id, &name) == ARCHIVE_OK) {
		bool is_named = tag_of(tag) == ACL_USER || tag_of(tag) == ACL_GROUP;

		if (!tag_of(tag))
			return xattr_problem(scan, EINVAL, "its ACL is not a POSIX one");
		if (is_named && id == INT_MAX) /* libarchive turns every larger id into this one */
			return xattr_problem(
				scan, EOVERFLOW,
				"its ACL has an id of 2147483647 or more, which libarchive cannot tell apart");
		if (!is_named || id >= 0)
			error = acl_add(acl, tag_of(tag), (unsigned int)permissions, (uint32_t)id);
		else
			error = acl_add_name(acl, tag_of(tag), (unsigned int)permissions, name ? name : "");
	}
	return error;
}

/* Adds the entries of the owner, the group and the others from the mode, to which libarchive has moved them. */
static errcode_t read_from_mode(struct acl *acl, uint16_t mode)
{
	static const uint16_t tags[] = { ACL_OTHER, ACL_GROUP_OBJ, ACL_USER_OBJ };
	errcode_t error = 0;

	for (unsigned int i = 0; !error && i < sizeof(tags) / sizeof(*tags); i++)
		if (acl->count && acl_permissions(acl, tags[i]) < 0)
			error = acl_add(acl, tags[i], mode >> 3 * i, 0);
	return error;
}

/*
 * Sets the mode from the ACL. Its group bits are the mask, if there is one. An ACL of three entries says no more than
 * the mode, so it is dropped.
 */
static void give_to_mode(struct acl *acl, uint16_t *mode)
{
	int mask = acl_permissions(acl, ACL_MASK), group = acl_permissions(acl, ACL_GROUP_OBJ);

	if (!acl->count)
		return;
	*mode = (uint16_t)((*mode & ~0777) | acl_permissions(acl, ACL_USER_OBJ) << 6 | (mask >= 0 ? mask : group) << 3 |
	                   acl_permissions(acl, ACL_OTHER));
	if (acl->count == 3)
		acl->count = 0;
}

/* Reads an ACL from the header's text if that is known, since libarchive changes it. */
static errcode_t read_acl(struct archive_scan *scan, bool is_default, struct tree_node *node, struct acl *acl)
{
	const char *text = is_default ? scan->header.default_acl : scan->header.access_acl;
	errcode_t error;

	acl->is_default = is_default;
	acl->is_foreign = scan->input.kind == &archive_kind_layer;
	if (text)
		error = acl_parse(acl, text);
	else
		error = read_entries(scan, is_default ? ARCHIVE_ENTRY_ACL_TYPE_DEFAULT : ARCHIVE_ENTRY_ACL_TYPE_ACCESS,
		                     acl);
	if (!error && !is_default)
		error = read_from_mode(acl, node->mode);
	return error;
}

static errcode_t add_acl(struct archive_scan *scan, bool is_default, uint32_t *count, struct tree_node *node)
{
	struct acl acl = { 0 };
	const void *value = NULL;
	size_t bytes;
	errcode_t error = read_acl(scan, is_default, node, &acl);

	if (!error)
		error = acl_complete(&acl);
	if (!error && !is_default)
		give_to_mode(&acl, &node->mode);
	if (!error)
		error = acl_encode(&acl, &scan->member_memory, &value, &bytes);
	if (acl.has_asked_host && scan->options->facts)
		scan->options->facts->asked_host = true;
	if (value)
		error = add_xattr(scan, count, is_default ? DEFAULT_NAME : ACCESS_NAME, value, bytes);
	free(acl.list);
	return error ? xattr_problem(scan, error, acl.why) : 0;
}

/*
 * Checks that Linux can list the xattrs. A header has room for 40 000, which would take seconds to sort. The first ones
 * come again. */
static errcode_t check_list(const struct archive_scan *scan, uint32_t count, uint32_t again)
{
	size_t bytes = 0;

	for (uint32_t i = again; i < count; i++)
		bytes += strlen(scan->xattrs[i].name) + 1;
	return bytes <= XATTR_LIST_MAX ?
	               0 :
	               xattr_problem(scan, E2BIG, "it has more than Linux can list, 64 KiB of their names");
}

/*
 * Sorts xattrs by name. If two have the same name, the first one stays: stored bytes, which have numbers, override
 * text, which has names.
 */
static uint32_t sort_unique(struct tree_xattr *list, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct tree_xattr xattr = list[i];
		uint32_t at = (uint32_t)BISECT(kept, index, strcmp(list[index].name, xattr.name) >= 0);

		if (at < kept && !strcmp(list[at].name, xattr.name))
			continue;
		memmove(list + at + 1, list + at, (kept - at) * sizeof(*list));
		list[at] = xattr;
		kept++;
	}
	return kept;
}

/* Adds what libarchive could give another value, that of another record. */
static errcode_t add_header_xattrs(struct archive_scan *scan, uint32_t *count)
{
	const struct header_xattr *xattr = scan->header.has_encoded_xattrs ? scan->header.xattrs : NULL;
	errcode_t error = 0;

	for (; !error && xattr; xattr = xattr->next)
		if (tree_xattr_is_kept(xattr->name))
			error = add_xattr(scan, count, xattr->name, xattr->value, xattr->value_bytes);
	return error;
}

/* Sets node->xattrs. An ACL's mask becomes the mode's group bits. */
static errcode_t set_xattrs(struct archive_scan *scan, struct tree_node *node)
{
	uint32_t count = 0;
	const char *name;
	const void *value;
	size_t bytes;
	errcode_t error = 0;

	/* libarchive leaves the label out, or gives it without its NUL. */
	if (scan->header.label && *scan->header.label)
		error = add_xattr(scan, &count, TREE_LABEL_XATTR, scan->header.label, strlen(scan->header.label) + 1);
	if (!error)
		error = add_header_xattrs(scan, &count);
	const uint32_t again = count;

	archive_entry_xattr_reset(scan->entry);
	while (!error && archive_entry_xattr_next(scan->entry, &name, &value, &bytes) == ARCHIVE_OK) {
		if (scan->header.label && name && !strcmp(name, TREE_LABEL_XATTR) && !bytes)
			continue;
		if (name && tree_xattr_is_kept(name))
			error = add_xattr(scan, &count, name, value, bytes);
		else if (name && !scan->options->without_xattrs)
			node->has_lost_xattr = true;
	}
	node->has_lost_xattr |= scan->input.cut_xattr;
	if (!error && !S_ISLNK(node->mode))
		error = add_acl(scan, false, &count, node);
	if (!error && S_ISDIR(node->mode))
		error = add_acl(scan, true, &count, node);
	if (!error)
		error = check_list(scan, count, again);
	node->has_lost_acl = archive_entry_acl_types(scan->entry) & ARCHIVE_ENTRY_ACL_TYPE_NFS4;
	if (!error && count && !scan->options->without_xattrs)
		error = xattr_table_intern(scan->xattr_table, scan->xattrs, sort_unique(scan->xattrs, count),
		                           &scan->last_set, &node->xattrs);
	return error ? xattr_problem(scan, error, NULL) : 0;
}

errcode_t archive_scan_attributes(struct archive_scan *scan, struct tree_node *node)
{
	mode_t type = archive_entry_filetype(scan->entry);

	*node = (struct tree_node){ .mode = (uint16_t)(archive_entry_perm(scan->entry) & 07777) };
	set_time(scan, node);
	set_flags(scan, node);
	errcode_t error = set_other_times(scan, node);

	if (!error)
		error = set_owner(scan, node);

	if (error)
		return error;
	/* libarchive's type values are this system's. */
	switch (type) {
	case AE_IFREG:
	case AE_IFDIR:
	case AE_IFIFO:
	case AE_IFSOCK:
		break;
	case AE_IFLNK:
		node->mode = 0777;
		error = set_target(scan, node);
		break;
	case AE_IFCHR:
	case AE_IFBLK:
		error = set_device(scan, node);
		break;
	default:
		return archive_scan_problem(scan, EINVAL, "cannot read", "it has no known type");
	}
	node->mode |= type;
	return error ? error : set_xattrs(scan, node);
}
