/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/directory_metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fsverity.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tree/details.h"
#include "tree/file_flags.h"

/* A file that is to get its metadata. */
struct target {
	struct place *place;
	unsigned int worker;
	uint32_t number;
	const struct tree_node *node; /* the node that has the metadata */
	int descriptor;
	bool is_path;
	char path[32]; /* /proc/self/fd/N leads to the file itself, also to a symlink */
};

static errcode_t lose(const struct target *target, enum loss loss, errcode_t error)
{
	return losses_note(&target->place->extraction->workers[target->worker].losses, loss, target->number, error);
}

/* Users know that only root gives files away: they are told when they ask for it. */
static bool is_owner_expected(const struct extract_options *options)
{
	return geteuid() == 0 || options->is_strict || options->names_losses;
}

static errcode_t set_owner(const struct target *target, bool *is_set)
{
	*is_set = fchownat(target->descriptor, "", target->node->uid, target->node->gid, AT_EMPTY_PATH) == 0;
	if (*is_set || (errno == EPERM && !is_owner_expected(target->place->extraction->options)))
		return 0;
	return lose(target, LOSS_OWNER, errno);
}

static errcode_t set_mode(const struct target *target, bool has_owner)
{
	mode_t wanted = target->node->mode & 07777, mode = wanted;

	if (S_ISLNK(target->node->mode))
		return 0;
	if (!has_owner && !S_ISDIR(target->node->mode))
		mode &= ~(mode_t)(S_ISUID | S_ISGID);
	if (target->is_path ? chmod(target->path, mode) : fchmod(target->descriptor, mode))
		return lose(target, LOSS_MODE, errno);
	return mode == wanted ? 0 : lose(target, LOSS_MODE, EPERM);
}

static int set_xattr(const struct target *target, const struct tree_xattr *xattr)
{
	return target->is_path ? setxattr(target->path, xattr->name, xattr->value, xattr->value_bytes, 0) :
	                         fsetxattr(target->descriptor, xattr->name, xattr->value, xattr->value_bytes, 0);
}

/* Removes the ACLs that the file has inherited from the output directory. */
static void remove_acls(const struct target *target)
{
	static const char *const names[] = { "system.posix_acl_access", "system.posix_acl_default" };

	for (size_t i = 0; target->place->inherits_acls && target->number != TREE_ROOT && i < 2; i++)
		if (target->is_path)
			removexattr(target->path, names[i]);
		else
			fremovexattr(target->descriptor, names[i]);
}

static errcode_t set_xattrs(const struct target *target)
{
	const struct tree_xattr_set *set = &target->place->extraction->tree->xattr_sets[target->node->xattrs];
	errcode_t refused = 0;

	remove_acls(target);
	for (uint32_t i = 0; i < set->count; i++)
		if (set_xattr(target, &set->list[i]) && !refused)
			refused = errno;
	return refused ? lose(target, LOSS_XATTR, refused) : 0;
}

static errcode_t set_times(const struct target *target)
{
	const struct tree_detail *detail = tree_detail(target->place->extraction->tree, target->node);
	const struct timespec times[2] = {
		{ .tv_sec = (time_t)detail->atime.seconds,
		  .tv_nsec = detail->atime.is_known ? (long)detail->atime.nanoseconds : UTIME_OMIT },
		{ .tv_sec = (time_t)target->node->mtime_seconds, .tv_nsec = (long)target->node->mtime_nanoseconds },
	};
	int failed = target->is_path ? utimensat(target->descriptor, "", times, AT_EMPTY_PATH) :
	                               futimens(target->descriptor, times);

	/* Linux before 5.8 lacks AT_EMPTY_PATH for this call. */
	if (failed && errno == EINVAL && target->is_path)
		failed = utimensat(AT_FDCWD, target->path, times, 0);
	return failed ? lose(target, LOSS_TIME, errno) : 0;
}

static struct target target_of(struct place *place, unsigned int worker, uint32_t node, int descriptor, bool is_path)
{
	const struct tree_node *nodes = place->extraction->tree->nodes;
	struct target target = { .place = place,
		                 .worker = worker,
		                 .number = node,
		                 .node = &nodes[nodes[node].link_to],
		                 .descriptor = descriptor,
		                 .is_path = is_path };

	snprintf(target.path, sizeof(target.path), "/proc/self/fd/%d", descriptor);
	return target;
}

/*
 * Sets the metadata in this order because a new owner clears set-user-id bits and capabilities, and an ACL changes the
 * permissions of the group; the node has these as the ACL's mask.
 */
errcode_t metadata_set(struct place *place, unsigned int worker, uint32_t node, int descriptor, bool is_path)
{
	const struct target target = target_of(place, worker, node, descriptor, is_path);
	bool has_owner;
	errcode_t error = set_owner(&target, &has_owner);

	if (!error)
		error = set_xattrs(&target);
	if (!error)
		error = set_mode(&target, has_owner);
	if (!error)
		error = set_times(&target);
	return error ? error : extraction_note_lacks(place->extraction, worker, node);
}

static bool has_flags(const struct tree_node *node)
{
	return node->has_flags && (node->flags & (FILE_FLAGS_KEPT | FILE_FLAGS_OF_PROJECT));
}

bool metadata_has_flags(const struct place *place, uint32_t number)
{
	const struct tree *tree = place->extraction->tree;
	const struct tree_node *node = &tree->nodes[tree->nodes[number].link_to];

	return has_flags(node) || tree_detail(tree, node)->project || tree_detail(tree, node)->verity;
}

static errcode_t set_project(const struct target *target, uint32_t project)
{
	struct fsxattr attributes;

	if (ioctl(target->descriptor, FS_IOC_FSGETXATTR, &attributes))
		return lose(target, LOSS_PROJECT, errno);
	attributes.fsx_projid = project;
	return ioctl(target->descriptor, FS_IOC_FSSETXATTR, &attributes) ? lose(target, LOSS_PROJECT, errno) : 0;
}

static errcode_t set_flags(const struct target *target)
{
	const uint32_t kept = FILE_FLAGS_KEPT | FILE_FLAGS_OF_PROJECT;
	int flags;

	if (ioctl(target->descriptor, FS_IOC_GETFLAGS, &flags))
		return lose(target, LOSS_FLAGS, errno);
	flags = (int)(((uint32_t)flags & ~kept) | (target->node->flags & kept));
	return ioctl(target->descriptor, FS_IOC_SETFLAGS, &flags) ? lose(target, LOSS_FLAGS, errno) : 0;
}

/* Compares the host's fs-verity digest with the image's. If they differ, so do the contents. */
static errcode_t measure(const struct target *target, const struct tree_verity *verity)
{
	union {
		struct fsverity_digest digest;
		uint8_t bytes[sizeof(struct fsverity_digest) + HASH_TREE_MOST_DIGEST_BYTES];
	} answer = { .digest.digest_size = HASH_TREE_MOST_DIGEST_BYTES };
	size_t bytes = verity_digest_bytes(verity->algorithm);

	if (ioctl(target->descriptor, FS_IOC_MEASURE_VERITY, &answer))
		return lose(target, LOSS_VERITY, errno);
	bool is_same = answer.digest.digest_size == bytes &&
	               !memcmp(answer.bytes + sizeof(answer.digest), verity->digest, bytes);

	return is_same ? 0 : lose(target, LOSS_VERITY, EUCLEAN);
}

/*
 * Enables fs-verity. Linux requires that the descriptor is open for reading only, and that no descriptor is open for
 * writing.
 */
static errcode_t set_verity(const struct target *target, const struct tree_verity *verity)
{
	const struct fsverity_enable_arg argument = {
		.version = 1,
		.hash_algorithm = verity->algorithm,
		.block_size = 1u << verity->block_bits,
		.salt_size = verity->salt_bytes,
		.salt_ptr = (uintptr_t)verity->salt,
		.sig_size = verity->signature_bytes,
		.sig_ptr = (uintptr_t)verity->signature,
	};

	if (ioctl(target->descriptor, FS_IOC_ENABLE_VERITY, &argument))
		return lose(target, LOSS_VERITY, errno);
	return verity->has_digest ? measure(target, verity) : 0;
}

errcode_t metadata_set_flags(struct place *place, unsigned int worker, uint32_t node, int descriptor)
{
	const struct target target = target_of(place, worker, node, descriptor, false);
	const struct tree_detail *detail = tree_detail(place->extraction->tree, target.node);
	errcode_t error = detail->project ? set_project(&target, detail->project) : 0;

	/* fs-verity comes before the flags, since it could not be enabled on an immutable file. */
	if (!error && detail->verity)
		error = set_verity(&target, detail->verity);
	return !error && has_flags(target.node) ? set_flags(&target) : error;
}
