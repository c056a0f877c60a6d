// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/apply_options.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "populate/format/extended_options.h"
#include "source/manifest/metadata.h"
#include "source/tree/xattr_table.h"

static errcode_t set_root_permissions(struct build *build, const char *text)
{
	struct tree_node *root = &build->tree->nodes[TREE_ROOT];
	size_t digits = strspn(text, "01234567");

	if (!digits || digits > 5 || text[digits] || strtoul(text, NULL, 8) > 07777)
		return problem_set_reason(build->problem, EINVAL, "-E root_perms", "cannot set permissions",
		                          "\"%s\" is not an octal number up to 7777", text);
	root->mode = (uint16_t)((root->mode & S_IFMT) | strtoul(text, NULL, 8));
	return 0;
}

/* The value ends in a NUL, as setfilecon(3) writes it. */
static errcode_t set_root_label(struct build *build, const char *text)
{
	struct tree *tree = build->tree;
	char *label = arena_copy_string(&tree->memory, text, strlen(text));
	const struct tree_xattr xattr = { "security.selinux", label, (uint32_t)strlen(text) + 1 };
	size_t capacity = 0;

	if (!*text)
		return problem_set_reason(build->problem, EINVAL, "-E root_selinux", "cannot set label", "it is empty");
	errcode_t error = label ? xattr_sets_add(tree, &capacity, tree->nodes[TREE_ROOT].xattrs, &xattr,
	                                         &tree->nodes[TREE_ROOT].xattrs) :
	                          ENOMEM;

	if (!error)
		error = xattr_sets_unify(tree);
	return error ? problem_set(build->problem, error, "-E root_selinux", "cannot set label") : 0;
}

static errcode_t apply_extended(struct build *build, const char *name,
                                errcode_t (*apply)(struct build *build, const char *text))
{
	SCOPE_FREE char *text = NULL;

	if (!extended_has(build->options->extended, name))
		return 0;
	errcode_t error = extended_value(build->options->extended, name, &text);

	if (error)
		return problem_set(build->problem, error, NULL, "cannot read -E");
	return apply(build, text);
}

errcode_t apply_options(struct build *build)
{
	errcode_t error = 0;

	if (build->options->owners)
		error = owner_map_apply(build->options->owners, build->tree, build->problem);
	if (!error && build->options->metadata)
		error = metadata_apply(build->options->metadata, &build->tree, build->pool, build->problem);
	if (!error)
		error = apply_extended(build, "root_perms", set_root_permissions);
	if (!error)
		error = apply_extended(build, "root_selinux", set_root_label);
	return error;
}
