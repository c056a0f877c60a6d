/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/metadata/flags.h"

#include <errno.h>
#include <sys/stat.h>

#include "tree/file_flags.h"

static bool are_asked(const struct plan *plan, uint32_t number)
{
	const struct tree_node *node = plan_node(plan, number);

	return S_ISREG(node->mode) && !node->has_flags && !plan->options->without_flags &&
	       plan->source->tree->origins[node->origin].is_host;
}

bool flags_are_missing(const struct plan *plan, uint32_t node)
{
	return !plan->placements[node].knows_flags && are_asked(plan, node);
}

void flags_note(const struct plan *plan, uint32_t node, uint32_t flags)
{
	plan->placements[node].flags = flags;
	plan->placements[node].knows_flags = true;
}

/*
 * Returns the flags, including those that ext4 cannot store. Flags of projects are left out with the projects
 * (plan_project_is_inherited()).
 */
static uint32_t given(const struct plan *plan, uint32_t node)
{
	const struct placement *placement = &plan->placements[node];
	uint32_t flags = placement->knows_flags ? placement->flags : plan_node(plan, node)->flags;

	return flags & ~FILE_FLAGS_OF_PROJECT;
}

uint32_t flags_of(const struct plan *plan, uint32_t node)
{
	return given(plan, node) & file_flags_of_type(plan_node(plan, node)->mode);
}

static void count(struct flags_left_out *left_out, uint32_t node)
{
	if (!left_out->count++ || node < left_out->first)
		left_out->first = node;
}

static bool is_changed(const struct plan *plan, struct inode_time time)
{
	return inode_stored_time(&plan->format, time).seconds != time.seconds;
}

void flags_count_lost(const struct plan *plan, uint32_t node, const struct inode_value *value, struct flags_lost *lost)
{
	uint32_t flags = given(plan, node) & ~flags_of(plan, node);

	if (plan_node(plan, node)->has_lost_acl)
		count(&lost->acls, node);
	if (plan_node(plan, node)->has_lost_xattr)
		count(&lost->xattrs, node);
	if (plan_node(plan, node)->is_casefolded && !plan->placements[node].is_casefolded)
		count(&lost->casefolded, node);
	if (tree_detail(plan->source->tree, plan_node(plan, node))->verity && !plan->placements[node].is_protected)
		count(&lost->unprotected, node);
	if (is_changed(plan, value->mtime) || is_changed(plan, value->atime) || is_changed(plan, value->ctime) ||
	    (plan->format.extra_isize && is_changed(plan, value->crtime)))
		count(&lost->times, node);
	if (flags & FILE_FLAGS_UNREAD)
		count(&lost->unread, node);
	else if (flags)
		count(&lost->unknown, node);
}

static void join(struct flags_left_out *all, const struct flags_left_out *more)
{
	if (more->count && (!all->count || more->first < all->first))
		all->first = more->first;
	all->count += more->count;
}

void flags_join_lost(struct flags_lost *all, const struct flags_lost *more)
{
	join(&all->unread, &more->unread);
	join(&all->unknown, &more->unknown);
	join(&all->acls, &more->acls);
	join(&all->xattrs, &more->xattrs);
	join(&all->times, &more->times);
	join(&all->casefolded, &more->casefolded);
	join(&all->unprotected, &more->unprotected);
}

static errcode_t warn(const struct plan *plan, struct warnings *warnings, const struct flags_left_out *left_out,
                      const char *action, const char *reason)
{
	struct problem first = { 0 };

	if (!left_out->count)
		return 0;
	SCOPE_FREE char *path = tree_path(plan->source->tree, left_out->first);

	problem_set_reason(&first, ENOTSUP, path, action, "%s", reason);
	return warnings_add(warnings, &first, left_out->count);
}

errcode_t flags_warn(const struct plan *plan, const struct flags_lost *lost, struct warnings *warnings)
{
	errcode_t error = warn(plan, warnings, &lost->unread, "its file flags are left out", "they cannot be read");

	if (!error)
		error = warn(plan, warnings, &lost->acls, "its ACL is left out", "ext4 does not store those of NFSv4");
	if (!error)
		error = warn(plan, warnings, &lost->xattrs, "some of its extended attributes are left out",
		             "ext4 stores user.*, trusted.*, security.* and POSIX ACLs");
	if (!error)
		error = warn(plan, warnings, &lost->times, "its time is changed to the nearest that can be stored",
		             plan->format.extra_isize ?
		                     "ext4 has 1901 to 2446, and e2fsck -p takes 2310 to 2378 for times before 1970" :
		                     "inodes of 128 bytes have 1901 to 2038");
	if (!error)
		error = warn(plan, warnings, &lost->casefolded, "its names are compared with their case",
		             "the filesystem lacks the feature casefold");
	if (!error)
		error = warn(plan, warnings, &lost->unprotected, "is not protected by fs-verity in the new image",
		             plan->format.verity && plan->format.extents ?
		                     "the hashes do not fit the new filesystem's blocks" :
		                     "the filesystem lacks the feature verity, or extents");
	return error ? error :
	               warn(plan, warnings, &lost->unknown, "some of its file flags are left out",
	                    "ext4 does not store them for a file of its type");
}
