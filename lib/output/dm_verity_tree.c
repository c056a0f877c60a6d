/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/dm_verity_tree.h"

#include <errno.h>
#include <string.h>

#include "support/io/whole_io.h"

/* A task hashes this many bytes, or as many as fill one hash block. */
#define TASK_BYTES (8u << 20)
/* This many bytes are read at once, to stay in the processor's own cache. */
#define READ_BYTES (256u << 10)

/* One level: blocks of the filesystem, or of the level below, become hashes. An item is such a block, or its hash. */
struct pass {
	const struct hash_tree *tree;
	struct file_part source, target;
	uint64_t items, items_each; /* of a task, whole hash blocks of them but in the last task */
	bool has_holes;
	const struct leaf_hashes *leaves; /* NULL: none is known */
	struct progress *progress;        /* NULL: the pass adds nothing to it */
	struct pass_buffers {
		uint8_t *data, *hashes; /* allocated when the worker first needs them */
	} * buffers;
};

errcode_t dm_verity_tree_init(struct dm_verity_tree *tree, const struct hash_tree_form *form, uint64_t data_bytes)
{
	struct hash_tree_form upper = *form;
	errcode_t error = hash_tree_init(&tree->tree, form, data_bytes);

	upper.data_block_bits = form->hash_block_bits;
	return error ? error : hash_tree_init(&tree->upper, &upper, 0);
}

static size_t read_items(const struct pass *pass)
{
	return READ_BYTES >> pass->tree->data_block_bits ? READ_BYTES >> pass->tree->data_block_bits : 1;
}

static errcode_t need_buffers(const struct pass *pass, struct pass_buffers *own)
{
	if (!own->data)
		own->data = malloc(read_items(pass) << pass->tree->data_block_bits);
	if (!own->hashes)
		own->hashes = malloc((size_t)pass->items_each << pass->tree->slot_bits);
	return own->data && own->hashes ? 0 : ENOMEM;
}

/* A block that equals the previous block gets the same hash: in a tree over a large hole all blocks do. */
static void hash_items(const struct hash_tree *tree, const uint8_t *bytes, size_t items, uint8_t *hashes)
{
	const size_t block_bytes = (size_t)1 << tree->data_block_bits, slot_bytes = (size_t)1 << tree->slot_bits;

	for (size_t item = 0; item < items; item++, bytes += block_bytes, hashes += slot_bytes) {
		if (item && !memcmp(bytes, bytes - block_bytes, block_bytes))
			memcpy(hashes, hashes - slot_bytes, slot_bytes);
		else
			hash_tree_hash_data(tree, bytes, block_bytes, hashes);
	}
}

/* Returns the first item, from this one on, that is not within a hole; at most end. */
static uint64_t hole_end(const struct pass *pass, uint64_t item, uint64_t end)
{
	const unsigned int bits = pass->tree->data_block_bits;

	if (!pass->has_holes)
		return item;
	off_t data = lseek(pass->source.descriptor, (off_t)(pass->source.offset_bytes + (item << bits)), SEEK_DATA);
	if (data < 0)
		return errno == ENXIO ? end : item;
	uint64_t found = ((uint64_t)data - pass->source.offset_bytes) >> bits;

	return found < end ? found : end;
}

/* Hashes the items whose hashes are not known. hashes has room from the first item's hash on. */
static errcode_t make_hashes(const struct pass *pass, const struct pass_buffers *own, uint64_t first, uint64_t end,
                             uint8_t *hashes)
{
	const struct hash_tree *tree = pass->tree;
	const uint64_t most = read_items(pass);

	for (uint64_t item = first, count; item < end; item += count) {
		count = hole_end(pass, item, end) - item;
		hash_tree_add_zeros(tree, count, hashes + ((item - first) << tree->slot_bits));
		if (count)
			continue;
		count = end - item < most ? end - item : most;
		errcode_t error = whole_read(pass->source.descriptor, own->data, (size_t)count << tree->data_block_bits,
		                             pass->source.offset_bytes + (item << tree->data_block_bits));

		if (error)
			return error;
		hash_items(tree, own->data, (size_t)count, hashes + ((item - first) << tree->slot_bits));
	}
	return 0;
}

static uint64_t change_of_known(const struct pass *pass, uint64_t item, uint64_t end, bool is_known)
{
	while (item < end && leaf_hashes_has(pass->leaves, item) == is_known)
		item++;
	return item;
}

static errcode_t make_unknown(const struct pass *pass, const struct pass_buffers *own, uint64_t first, uint64_t end)
{
	errcode_t error = 0;

	if (!pass->leaves)
		return make_hashes(pass, own, first, end, own->hashes);
	for (uint64_t item = first, next; !error && item < end; item = next) {
		item = change_of_known(pass, item, end, true);
		next = change_of_known(pass, item, end, false);
		error = make_hashes(pass, own, item, next, own->hashes + ((item - first) << pass->tree->slot_bits));
	}
	return error;
}

static errcode_t run_task(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct pass *pass = context;
	const struct hash_tree *tree = pass->tree;
	struct pass_buffers *own = &pass->buffers[worker];
	const uint64_t first = index * pass->items_each, left = pass->items - first;
	const uint64_t count = left < pass->items_each ? left : pass->items_each;
	const uint64_t at = pass->target.offset_bytes + (first << tree->slot_bits);
	const size_t block_bytes = (size_t)1 << tree->hash_block_bits, bytes = (size_t)count << tree->slot_bits;
	const size_t whole_bytes = (bytes + block_bytes - 1) / block_bytes * block_bytes;
	errcode_t error = need_buffers(pass, own);

	if (error)
		return problem_set(problem, error, pass->target.path, "cannot make the hash tree");
	if (pass->leaves && change_of_known(pass, first, first + count, false) < first + count)
		error = whole_read(pass->target.descriptor, own->hashes, bytes, at);
	if (error)
		return problem_set(problem, error, pass->target.path, "cannot read");
	error = make_unknown(pass, own, first, first + count);
	if (error)
		return problem_set(problem, error, pass->source.path, "cannot read");
	memset(own->hashes + bytes, 0, whole_bytes - bytes);
	error = whole_write(pass->target.descriptor, own->hashes, whole_bytes, at);
	progress_add(pass->progress, count << tree->data_block_bits, 0);
	return error ? problem_set(problem, error, pass->target.path, "cannot write") : 0;
}

static errcode_t run_pass(struct pass *pass, struct pool *pool, struct problem *problem)
{
	const struct hash_tree *tree = pass->tree;
	const unsigned int workers = pool_workers(pool), each_bits = tree->hash_block_bits - tree->slot_bits;
	const uint64_t blocks = TASK_BYTES >> (each_bits + tree->data_block_bits);
	SCOPE_FREE struct pass_buffers *buffers = calloc(workers, sizeof(*buffers));

	if (!buffers)
		return problem_set(problem, ENOMEM, pass->target.path, "cannot make the hash tree");
	pass->buffers = buffers;
	pass->items_each = (blocks ? blocks : 1) << each_bits;
	errcode_t error = pool_run(pool, (size_t)((pass->items + pass->items_each - 1) / pass->items_each), run_task,
	                           pass, problem);

	for (unsigned int worker = 0; worker < workers; worker++) {
		free(buffers[worker].data);
		free(buffers[worker].hashes);
	}
	return error;
}

/* Returns a level, from its beginning on; level 0 is the filesystem. */
static struct file_part part_of(const struct dm_verity_tree *tree, unsigned int level)
{
	struct file_part part = level ? tree->hashes : tree->data;

	if (level)
		part.offset_bytes += tree->tree.levels[level - 1].first_block << tree->tree.hash_block_bits;
	return part;
}

static errcode_t hash_top(const struct dm_verity_tree *tree, uint8_t root[HASH_TREE_MOST_DIGEST_BYTES],
                          struct problem *problem)
{
	const unsigned int levels = tree->tree.level_count;
	const struct hash_tree *hashing = levels ? &tree->upper : &tree->tree;
	const struct file_part top = part_of(tree, levels);
	const size_t bytes = (size_t)1 << hashing->data_block_bits;
	SCOPE_FREE uint8_t *block = malloc(bytes);

	if (!block)
		return problem_set(problem, ENOMEM, top.path, "cannot make the hash tree");
	errcode_t error = whole_read(top.descriptor, block, bytes, top.offset_bytes);
	if (error)
		return problem_set(problem, error, top.path, "cannot read");
	hash_tree_hash_data(hashing, block, bytes, root);
	return 0;
}

errcode_t dm_verity_tree_write(const struct dm_verity_tree *tree, struct pool *pool, struct progress *progress,
                               uint8_t root[HASH_TREE_MOST_DIGEST_BYTES], struct problem *problem)
{
	errcode_t error = 0;

	for (unsigned int level = 0; !error && level < tree->tree.level_count; level++) {
		struct pass pass = {
			.tree = level ? &tree->upper : &tree->tree,
			.source = part_of(tree, level),
			.target = part_of(tree, level + 1),
			.items = level ? tree->tree.levels[level - 1].blocks : tree->tree.data_blocks,
			.has_holes = !level && tree->has_holes,
			.leaves = level ? NULL : tree->leaves,
			.progress = level ? NULL : progress,
		};

		error = run_pass(&pass, pool, problem);
	}
	return error ? error : hash_top(tree, root, problem);
}
