/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/losses.h"

#include <errno.h>

#include "support/vector.h"

static const struct {
	const char *action; /* if the system refused it */
	const char *lacks;  /* if the form has no place for it */
} kinds[LOSS_KINDS] = {
	[LOSS_SOCKET] = { "cannot make this socket", "sockets" },
	[LOSS_DEVICE] = { "cannot make this device", "devices" },
	[LOSS_OWNER] = { "cannot set its owner", "owners" },
	[LOSS_MODE] = { "cannot set its permissions", "permissions" },
	[LOSS_XATTR] = { "cannot set all of its extended attributes", "such extended attributes" },
	[LOSS_XATTR_UNKNOWN] = { "cannot set all of its extended attributes", "its extended attributes or ACLs" },
	[LOSS_FLAGS] = { "cannot set its file flags", "some of its file flags" },
	[LOSS_TIME] = { "cannot set its times", "times" },
	[LOSS_PROJECT] = { "cannot set its project", "projects" },
	[LOSS_VERITY] = { "cannot protect it with fs-verity", "protection by fs-verity" },
};

errcode_t losses_note(struct losses *losses, enum loss loss, uint32_t node, errcode_t error)
{
	if (!losses->kinds[loss].count++ || node < losses->kinds[loss].first) {
		losses->kinds[loss].first = node;
		losses->kinds[loss].error = error;
	}
	if (!losses->names_each)
		return 0;
	errcode_t failure = vector_reserve(&losses->list, &losses->capacity, losses->count + 1, sizeof(*losses->list));

	if (!failure)
		losses->list[losses->count++] = (struct loss_record){ node, loss, error };
	return failure;
}

errcode_t losses_add(struct losses *all, const struct losses *more)
{
	for (unsigned int loss = 0; loss < LOSS_KINDS; loss++) {
		bool is_first = !all->kinds[loss].count || more->kinds[loss].first < all->kinds[loss].first;

		if (!more->kinds[loss].count)
			continue;
		all->kinds[loss].count += more->kinds[loss].count;
		if (!is_first)
			continue;
		all->kinds[loss].first = more->kinds[loss].first;
		all->kinds[loss].error = more->kinds[loss].error;
	}
	if (!more->count)
		return 0;
	errcode_t error = vector_reserve(&all->list, &all->capacity, all->count + more->count, sizeof(*all->list));

	if (error)
		return error;
	memcpy(all->list + all->count, more->list, more->count * sizeof(*all->list));
	all->count += more->count;
	return 0;
}

bool losses_are_any(const struct losses *losses)
{
	for (unsigned int loss = 0; loss < LOSS_KINDS; loss++)
		if (losses->kinds[loss].count)
			return true;
	return false;
}

static errcode_t tell(const struct loss_record *record, uint64_t count, const struct tree *tree, const char *form,
                      struct warnings *warnings)
{
	SCOPE_FREE char *path = tree_path(tree, record->node);
	struct problem problem = { 0 };

	if (!path)
		return ENOMEM;
	if (record->error)
		problem_set(&problem, record->error, path, kinds[record->loss].action);
	else
		problem_set_reason(&problem, EOPNOTSUPP, path, "cannot be kept", "%s cannot hold %s", form,
		                   kinds[record->loss].lacks);
	return warnings_add(warnings, &problem, count);
}

static int compare_records(const void *one, const void *other)
{
	const struct loss_record *first = one, *second = other;

	if (first->node != second->node)
		return first->node < second->node ? -1 : 1;
	return (int)first->loss - (int)second->loss;
}

errcode_t losses_tell(struct losses *losses, const struct tree *tree, const char *form, struct warnings *warnings)
{
	errcode_t error = 0;

	if (losses->count)
		qsort(losses->list, losses->count, sizeof(*losses->list), compare_records);
	for (size_t i = 0; !error && i < losses->count; i++)
		error = tell(&losses->list[i], 1, tree, form, warnings);
	for (unsigned int loss = 0; !error && !losses->names_each && loss < LOSS_KINDS; loss++) {
		struct loss_record first = { losses->kinds[loss].first, (enum loss)loss, losses->kinds[loss].error };

		if (losses->kinds[loss].count)
			error = tell(&first, losses->kinds[loss].count, tree, form, warnings);
	}
	return error;
}

void losses_free(struct losses *losses)
{
	free(losses->list);
	*losses = (struct losses){ 0 };
}
