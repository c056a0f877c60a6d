/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare/kernel_policy.h"

/* Returns NULL if this policy has sets. */
static struct kernel_lists *lists_of(const struct ext2mb *mb, enum index_kind kind)
{
	return kernel_policy_of(mb) ? kernel_policy_of(mb)->lists[kind] : NULL;
}

static int belongs_in(const struct ext2mb *mb, uint32_t number, enum index_kind kind,
                      const struct group_summary *summary)
{
	if (!group_index_is_on(mb))
		return -1;
	if (kernel_policy_of(mb)->lists_loaded_only && summary->state == GROUP_UNTOUCHED)
		return -1;
	/* Before patch 10 a group that became full stayed in its set: a zombie. */
	if (kind == INDEX_AVERAGE && summary->average_order < 0 && !kernel_chooses(mb, CHOICE_FULL_UNLISTED) &&
	    summary->state == GROUP_LOADED)
		return mb->groups[number].set[INDEX_AVERAGE];
	return group_summary_order(summary, kind);
}

static int expected(const struct ext2mb *mb, uint32_t number, enum index_kind kind, const struct group_summary *summary)
{
	return kernel_policy_of(mb)->has_stale_index ? INDEX_ANY_SET : belongs_in(mb, number, kind, summary);
}

static void update(struct ext2mb *mb, uint32_t number, const struct group_summary *summary)
{
	struct group *group = &mb->groups[number];

	/* Before patch 11 the new order was stored without leaving the set: later the group leaves the wrong set. */
	if (!group_index_is_on(mb) && !kernel_chooses(mb, CHOICE_ALWAYS_LEAVE)) {
		group->set[INDEX_LARGEST] = (int8_t)summary->largest_order;
		return;
	}
	for (enum index_kind kind = 0; kind < INDEX_KINDS; kind++) {
		int order = belongs_in(mb, number, kind, summary);

		if (!lists_of(mb, kind)) {
			group_index_move(mb->index->sets[kind], number, &group->set[kind], order);
		} else if (group->set[kind] != order) {
			kernel_lists_move(lists_of(mb, kind), number, group->set[kind], order);
			kernel_note_list(kernel_policy_of(mb), kind,
			                 (unsigned int)(order < 0 ? group->set[kind] : order));
			group->set[kind] = (int8_t)order;
		}
	}
}

static void settle(struct ext2mb *mb)
{
	if (kernel_chooses(mb, CHOICE_ALWAYS_LEAVE))
		group_index_settle(mb);
	else
		kernel_policy_of(mb)->has_stale_index = true;
}

static uint32_t next(struct ext2mb *mb, enum index_kind kind, unsigned int order, uint32_t after, uint32_t from,
                     uint32_t end)
{
	struct kernel_lists *lists = lists_of(mb, kind);

	return lists ? kernel_lists_next(lists, order, after, from, end) :
	               group_index_ordered.next(mb, kind, order, after, from, end);
}

static bool has(const struct ext2mb *mb, enum index_kind kind, unsigned int order, uint32_t number)
{
	const struct kernel_lists *lists = lists_of(mb, kind);

	return lists ? kernel_lists_has(lists, order, number) : group_index_ordered.has(mb, kind, order, number);
}

const struct index_operations kernel_index = {
	.update = update,
	.settle = settle,
	.largest_order = group_index_largest_of_all,
	.next = next,
	.has = has,
	.expected = expected,
};

unsigned int kernel_index_next_order(const struct ext2mb *mb, enum index_kind kind, unsigned int order)
{
	const struct kernel_lists *lists = lists_of(mb, kind);

	while (order < mb->orders &&
	       (lists ? kernel_lists_is_empty(lists, order) : order_set_is_empty(&mb->index->sets[kind][order])))
		order++;
	return order;
}
