/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/xattr_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <string.h>

#include "support/crc32c.h"
#include "support/vector.h"

/* Each shard has a lock of its own, so that threads do not wait for one lock if every file has its own set. */
#define SHARDS 64
#define FIRST_SLOTS 64

struct shard {
	alignas(128) pthread_mutex_t lock;
	struct tree_xattr_set *sets;
	size_t count, capacity;
	uint32_t *slots;   /* 1 + an index in sets; 0: free. Open addressing, at most half full */
	size_t slot_count; /* a power of two */
	uint32_t *final_numbers;
	struct arena memory;
};

struct xattr_table {
	struct source_counts *counts; /* NULL: nothing is counted */
	struct shard shards[SHARDS];
};

uint32_t xattr_list_hash(const struct tree_xattr *list, uint32_t count)
{
	uint32_t hash = ~0u;

	for (uint32_t i = 0; i < count; i++) {
		hash = crc32c(hash, list[i].name, strlen(list[i].name) + 1);
		hash = crc32c(hash, &list[i].value_bytes, sizeof(list[i].value_bytes));
		hash = crc32c(hash, list[i].value, list[i].value_bytes);
	}
	return hash;
}

static bool lists_are_equal(const struct tree_xattr *one, const struct tree_xattr *other, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (one[i].value_bytes != other[i].value_bytes || strcmp(one[i].name, other[i].name) ||
		    memcmp(one[i].value, other[i].value, one[i].value_bytes))
			return false;
	return true;
}

errcode_t xattr_table_create(struct xattr_table **ret)
{
	struct xattr_table *table = aligned_alloc(alignof(struct xattr_table), sizeof(*table));

	*ret = table;
	if (!table)
		return ENOMEM;
	memset(table, 0, sizeof(*table));
	for (size_t i = 0; i < SHARDS; i++)
		pthread_mutex_init(&table->shards[i].lock, NULL);
	return 0;
}

void xattr_table_count(struct xattr_table *table, struct source_counts *counts)
{
	table->counts = counts;
}

void xattr_table_destroy(struct xattr_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < SHARDS; i++) {
		struct shard *shard = &table->shards[i];

		pthread_mutex_destroy(&shard->lock);
		arena_destroy(&shard->memory);
		free(shard->sets);
		free(shard->slots);
		free(shard->final_numbers);
	}
	free(table);
}

/* Returns the slot that holds an equal set, or the free slot where it belongs. */
static uint32_t *find_slot(const struct shard *shard, const struct tree_xattr_set *set)
{
	/* The low bits have chosen the shard. */
	size_t slot = set->hash / SHARDS;

	for (;; slot++) {
		uint32_t *at = &shard->slots[slot & (shard->slot_count - 1)];

		if (!*at)
			return at;
		const struct tree_xattr_set *other = &shard->sets[*at - 1];

		if (other->hash == set->hash && other->count == set->count &&
		    lists_are_equal(other->list, set->list, set->count))
			return at;
	}
}

static errcode_t grow_slots(struct shard *shard)
{
	size_t count = shard->slot_count ? 2 * shard->slot_count : FIRST_SLOTS;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return ENOMEM;
	free(shard->slots);
	shard->slots = slots;
	shard->slot_count = count;
	for (size_t i = 0; i < shard->count; i++)
		*find_slot(shard, &shard->sets[i]) = (uint32_t)i + 1;
	return 0;
}

struct tree_xattr *xattr_list_copy(struct arena *memory, const struct tree_xattr *list, size_t count)
{
	struct tree_xattr *copy = arena_alloc(memory, count * sizeof(*copy));

	if (!copy)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		copy[i].name = arena_copy_string(memory, list[i].name, strlen(list[i].name));
		copy[i].value = arena_copy_string(memory, list[i].value, list[i].value_bytes);
		copy[i].value_bytes = list[i].value_bytes;
		if (!copy[i].name || !copy[i].value)
			return NULL;
	}
	return copy;
}

static uint64_t set_bytes(const struct tree_xattr_set *set)
{
	uint64_t bytes = sizeof(*set);

	for (uint32_t i = 0; i < set->count; i++)
		bytes += sizeof(*set->list) + strlen(set->list[i].name) + set->list[i].value_bytes;
	return bytes;
}

/* The caller holds the shard's lock. */
static errcode_t find_or_add(struct shard *shard, const struct tree_xattr_set *set, struct source_counts *counts,
                             uint32_t *index)
{
	errcode_t error;

	if (2 * shard->count >= shard->slot_count) {
		error = grow_slots(shard);
		if (error)
			return error;
	}
	uint32_t *slot = find_slot(shard, set);

	if (*slot) {
		*index = *slot - 1;
		return 0;
	}
	if (shard->count >= UINT32_MAX / SHARDS - 1)
		return EOVERFLOW;
	error = source_counts_metadata(counts, set_bytes(set));
	if (error)
		return error;
	error = vector_reserve(&shard->sets, &shard->capacity, shard->count + 1, sizeof(*shard->sets));
	if (error)
		return error;
	struct tree_xattr *list = xattr_list_copy(&shard->memory, set->list, set->count);

	if (!list)
		return ENOMEM;
	shard->sets[shard->count] = (struct tree_xattr_set){ set->count, set->hash, list };
	*index = (uint32_t)shard->count++;
	*slot = *index + 1;
	return 0;
}

errcode_t xattr_table_intern(struct xattr_table *table, const struct tree_xattr *list, uint32_t count,
                             struct xattr_table_memory *last, uint32_t *number)
{
	uint32_t index;

	*number = TREE_NO_XATTRS;
	if (!count)
		return 0;
	if (last->count == count && lists_are_equal(last->list, list, count)) {
		*number = last->number;
		return 0;
	}
	struct tree_xattr_set set = { count, xattr_list_hash(list, count), list };
	uint32_t shard_number = set.hash % SHARDS;
	struct shard *shard = &table->shards[shard_number];

	pthread_mutex_lock(&shard->lock);
	errcode_t error = find_or_add(shard, &set, table->counts, &index);

	if (!error)
		*last = (struct xattr_table_memory){ shard->sets[index].list, count,
			                             index * SHARDS + shard_number + 1 };
	pthread_mutex_unlock(&shard->lock);
	if (!error)
		*number = last->number;
	return error;
}

errcode_t xattr_table_finish(struct xattr_table *table, struct tree *tree)
{
	size_t total = 1;

	for (size_t i = 0; i < SHARDS; i++) {
		struct shard *shard = &table->shards[i];

		total += shard->count;
		shard->final_numbers = calloc(shard->count + 1, sizeof(*shard->final_numbers));
		if (!shard->final_numbers)
			return ENOMEM;
	}
	if (total > UINT32_MAX)
		return EOVERFLOW;
	tree->xattr_sets = calloc(total, sizeof(*tree->xattr_sets));
	if (!tree->xattr_sets)
		return ENOMEM;
	tree->xattr_set_count = 1;
	for (uint32_t i = 0; total > 1 && i < tree->node_count; i++) {
		struct tree_node *node = &tree->nodes[i];

		if (node->xattrs == TREE_NO_XATTRS)
			continue;
		struct shard *shard = &table->shards[(node->xattrs - 1) % SHARDS];
		uint32_t index = (node->xattrs - 1) / SHARDS;

		if (!shard->final_numbers[index]) {
			shard->final_numbers[index] = tree->xattr_set_count;
			tree->xattr_sets[tree->xattr_set_count++] = shard->sets[index];
		}
		node->xattrs = shard->final_numbers[index];
	}
	for (size_t i = 0; i < SHARDS; i++)
		arena_join(&tree->memory, &table->shards[i].memory);
	return 0;
}

errcode_t xattr_sets_add(struct tree *tree, uint32_t like, const struct tree_xattr *xattr, uint32_t *number)
{
	uint32_t from = 0, to = 0;

	if (tree->xattr_set_count == UINT32_MAX)
		return EOVERFLOW;
	struct tree_xattr_set *sets = realloc(tree->xattr_sets, (tree->xattr_set_count + 1ul) * sizeof(*sets));

	if (!sets)
		return ENOMEM;
	tree->xattr_sets = sets;
	const struct tree_xattr_set *old = &sets[like];
	struct tree_xattr *list = arena_alloc(&tree->memory, (old->count + 1ul) * sizeof(*list));

	if (!list)
		return ENOMEM;
	while (from < old->count && strcmp(old->list[from].name, xattr->name) < 0)
		list[to++] = old->list[from++];
	list[to++] = *xattr;
	if (from < old->count && !strcmp(old->list[from].name, xattr->name))
		from++;
	while (from < old->count)
		list[to++] = old->list[from++];
	*number = tree->xattr_set_count++;
	sets[*number] = (struct tree_xattr_set){ .count = to, .list = list };
	return 0;
}

static errcode_t intern_sets(const struct tree *tree, struct xattr_table *table, uint32_t *numbers)
{
	struct xattr_table_memory last = { 0 };

	for (uint32_t set = 0; set < tree->xattr_set_count; set++) {
		errcode_t error = xattr_table_intern(table, tree->xattr_sets[set].list, tree->xattr_sets[set].count,
		                                     &last, &numbers[set]);

		if (error)
			return error;
	}
	return 0;
}

errcode_t xattr_sets_unify(struct tree *tree)
{
	SCOPE_FREE uint32_t *numbers = malloc(tree->xattr_set_count * sizeof(*numbers));
	struct xattr_table *table = NULL;
	errcode_t error = numbers ? xattr_table_create(&table) : ENOMEM;

	if (!error)
		error = intern_sets(tree, table, numbers);
	if (!error) {
		for (uint32_t node = 0; node < tree->node_count; node++)
			tree->nodes[node].xattrs = numbers[tree->nodes[node].xattrs];
		free(TAKE(tree->xattr_sets));
		error = xattr_table_finish(table, tree);
	}
	xattr_table_destroy(table);
	return error;
}
