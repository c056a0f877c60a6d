/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/map_walk.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ondisk/inode.h"

#define LARGEST_RUN (UINT32_C(1) << 30)

/* One walk. */
struct walk {
	struct map_walker *walker;
	uint32_t ino;
	const struct map_visitor *visitor;
	struct map_shape *shape;
	uint32_t seed;             /* seeds checksums; valid if the walker is strict */
	bool is_over;              /* the visitor has seen enough */
	uint64_t next_logical;     /* the next record must not lie before it */
	struct map_record pending; /* a record of an indirect map that is being joined; count 0: none */
};

errcode_t map_walker_open(const struct volume *volume, struct damage_listener damage, uint64_t *blocks_read,
                          struct map_walker *walker)
{
	*walker = (struct map_walker){ .volume = volume, .damage = damage, .blocks_read = blocks_read };
	walker->levels = malloc((size_t)EXTENT_TREE_MAX_DEPTH << volume->format.block_bits);
	walker->children = malloc(((size_t)1 << volume->format.block_bits) / sizeof(uint32_t) * sizeof(uint64_t));
	if (walker->levels && walker->children)
		return 0;
	map_walker_close(walker);
	return ENOMEM;
}

void map_walker_close(struct map_walker *walker)
{
	free(walker->levels);
	free(walker->children);
	*walker = (struct map_walker){ 0 };
}

static void lose(struct walk *walk, uint64_t block, const char *what)
{
	walk->walker->losses++;
	damage_tell(&walk->walker->damage, walk->ino, block, what);
}

/* Cuts off the part before the visitor's first block. Returns false if the whole record lies before it. */
static bool cut_off(const struct walk *walk, struct map_record *record)
{
	uint64_t from = walk->visitor->from;

	if (record->logical + record->count <= from)
		return false;
	record->physical += from - record->logical;
	record->count -= (uint32_t)(from - record->logical);
	record->logical = from;
	return true;
}

/* Returns false if the visitor has seen enough. */
static inline bool show(const struct walk *walk, struct map_record *record)
{
	if (record->logical < walk->visitor->from && !cut_off(walk, record))
		return true;
	return walk->visitor->record(walk->visitor->context, record);
}

/* Shows the pending record, if there is one; shows nothing after the walk is over. */
static inline void flush_pending(struct walk *walk)
{
	if (walk->pending.count && !walk->is_over)
		walk->is_over = !show(walk, &walk->pending);
	walk->pending.count = 0;
}

static int by_number(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Lets the system read a node's children, in the disk's order, while the walk looks at the first of them. */
static void expect_children(const struct map_walker *walker, unsigned int count)
{
	const struct volume *volume = walker->volume;
	uint64_t *blocks = walker->children;

	qsort(blocks, count, sizeof(*blocks), by_number);
	for (unsigned int next, n = 0; n < count; n = next) {
		for (next = n + 1; next < count && blocks[next] == blocks[next - 1] + 1;)
			next++;
		if (volume_has_blocks(volume, blocks[n], next - n))
			volume_expect(volume, blocks[n], next - n);
	}
}

/*
 * Reads a block of the map into the buffer of its level. Returns NULL if it cannot, and notes damage or a part left
 * out.
 */
static const uint8_t *read_map_block(struct walk *walk, uint64_t block, unsigned int level)
{
	struct map_walker *walker = walk->walker;
	const struct volume *volume = walker->volume;
	uint8_t *bytes = walker->levels + ((size_t)level << volume->format.block_bits);

	if (volume_is_spent(volume)) {
		walk->shape->is_left_out = true;
		return NULL;
	}
	uint64_t read = __atomic_add_fetch(walker->blocks_read, 1, __ATOMIC_RELAXED);

	if (!volume_has_blocks(volume, block, 1) || volume_read(volume, block, 1, bytes)) {
		lose(walk, block, "block of a map");
		return NULL;
	}
	if (read > volume->geometry.end_block) {
		lose(walk, block, "block of a map that belongs to several files");
		return NULL;
	}
	walk->shape->blocks++;
	if (walk->visitor->block) {
		flush_pending(walk);
		walk->is_over = walk->is_over || !walk->visitor->block(walk->visitor->context, block);
	}
	return bytes;
}

static void read_leaf(struct walk *walk, const struct extent_node *node, uint64_t end, uint64_t block)
{
	for (unsigned int n = 0; n < node->count; n++) {
		struct extent_node_leaf leaf = extent_node_leaf(node, n);
		struct map_record record = { leaf.logical, leaf.physical, leaf.count, leaf.is_unwritten };

		if (!leaf.count || leaf.logical < walk->next_logical || record.logical + record.count > end ||
		    !volume_has_blocks(walk->walker->volume, leaf.physical, leaf.count)) {
			lose(walk, block, "extent");
			continue;
		}
		walk->next_logical = record.logical + record.count;
		if (!show(walk, &record)) {
			walk->is_over = true;
			return;
		}
	}
}

/*
 * Walks all that is below a node. end is the logical block where its right neighbour begins. Entries must ascend within
 * these bounds, and no node but the root may be empty. So the walk meets none twice, however they point at each other.
 */
static void read_node(struct walk *walk, const struct extent_node *node, uint64_t end, uint64_t block)
{
	if (!node->depth) {
		read_leaf(walk, node, end, block);
		return;
	}
	for (unsigned int n = 0; n < node->count; n++)
		walk->walker->children[n] = extent_node_index(node, n).block;
	if (!walk->visitor->from)
		expect_children(walk->walker, node->count);
	for (unsigned int n = 0; n < node->count && !walk->is_over; n++) {
		struct extent_node_index index = extent_node_index(node, n);
		uint64_t child_end = n + 1 < node->count ? extent_node_index(node, n + 1).logical : end;
		struct extent_node child;

		if (index.logical < walk->next_logical || child_end <= index.logical || child_end > end) {
			lose(walk, index.block, "extent tree");
			continue;
		}
		walk->next_logical = index.logical;
		if (child_end <= walk->visitor->from)
			continue;
		const uint8_t *bytes = read_map_block(walk, index.block, node->depth - 1);
		if (!bytes)
			continue;
		if (!extent_node_read(bytes, walk->walker->volume->format.block_bytes, &child) || !child.count ||
		    child.depth != node->depth - 1) {
			lose(walk, index.block, "extent tree");
			continue;
		}
		if (walk->walker->is_strict &&
		    !extent_node_checksum_fits(&walk->walker->volume->format, walk->seed, bytes)) {
			lose(walk, index.block, "checksum of an extent tree");
			continue;
		}
		read_node(walk, &child, child_end, index.block);
	}
}

/* Shows one block of a file with an indirect map, joined with the previous block if it follows that. */
static void read_block(struct walk *walk, uint64_t logical, uint64_t physical)
{
	struct map_record *pending = &walk->pending;

	if (!volume_has_blocks(walk->walker->volume, physical, 1)) {
		lose(walk, physical, "block of a file");
		return;
	}
	if (pending->count && logical == pending->logical + pending->count &&
	    physical == pending->physical + pending->count && pending->count < LARGEST_RUN) {
		pending->count++;
		return;
	}
	flush_pending(walk);
	*pending = (struct map_record){ logical, physical, 1, false };
}

static uint32_t pointer_at(const uint8_t *bytes, uint32_t index)
{
	uint32_t raw;

	memcpy(&raw, bytes + index * sizeof(raw), sizeof(raw));
	return le32toh(raw);
}

/* Reads an indirect block. Height 1 points to the file's blocks, heights 2 and 3 point to indirect blocks. */
static void read_indirect(struct walk *walk, uint64_t block, unsigned int height, uint64_t logical)
{
	struct map_walker *walker = walk->walker;
	unsigned int address_bits = walker->volume->format.block_bits - 2;
	unsigned int shift = address_bits * (height - 1);
	uint32_t pointers = UINT32_C(1) << address_bits;
	uint64_t from = walk->visitor->from, first = from > logical ? (from - logical) >> shift : 0;
	const uint8_t *bytes = read_map_block(walk, block, height - 1);

	if (!bytes)
		return;
	if (height > 1) {
		unsigned int count = 0;

		for (uint32_t n = 0; n < pointers; n++)
			if (pointer_at(bytes, n))
				walker->children[count++] = pointer_at(bytes, n);
		if (!walk->visitor->from)
			expect_children(walker, count);
	}
	for (uint64_t n = first; n < pointers; n++) {
		uint64_t at = logical + (n << shift);
		uint32_t pointer = pointer_at(bytes, (uint32_t)n);

		if (pointer && height == 1)
			read_block(walk, at, pointer);
		else if (pointer && !walk->is_over)
			read_indirect(walk, pointer, height - 1, at);
	}
}

static void walk_indirect(struct walk *walk, const uint8_t *root)
{
	unsigned int address_bits = walk->walker->volume->format.block_bits - 2;
	uint64_t logical = EXT2_NDIR_BLOCKS;

	for (uint32_t n = 0; n < EXT2_NDIR_BLOCKS; n++)
		if (pointer_at(root, n))
			read_block(walk, n, pointer_at(root, n));
	for (unsigned int height = 1; height <= 3; height++) {
		uint32_t pointer = pointer_at(root, EXT2_NDIR_BLOCKS + height - 1);
		uint64_t span = UINT64_C(1) << (height * address_bits);

		if (pointer) {
			walk->shape->depth = height;
			if (logical + span > walk->visitor->from && !walk->is_over)
				read_indirect(walk, pointer, height, logical);
		}
		logical += span;
	}
	flush_pending(walk);
}

void map_visit(struct map_walker *walker, uint32_t ino, const struct inode_view *inode,
               const struct map_visitor *visitor, struct map_shape *shape)
{
	struct walk walk = {
		.walker = walker,
		.ino = ino,
		.visitor = visitor,
		.shape = shape,
	};
	struct extent_node root;

	*shape = (struct map_shape){ 0 };
	if (walker->is_strict)
		walk.seed = ondisk_inode_seed(&walker->volume->format, ino, inode_view_generation(inode));
	if (!(inode->flags & EXT4_EXTENTS_FL)) {
		walk_indirect(&walk, inode->root);
		return;
	}
	if (!extent_node_read(inode->root, INODE_ROOT_BYTES, &root)) {
		lose(&walk, 0, "extent tree");
		return;
	}
	shape->depth = root.depth;
	read_node(&walk, &root, UINT64_C(1) << 32, 0);
}

struct collected {
	struct map_record *records;
	size_t count, most;
};

static bool collect(void *context, const struct map_record *record)
{
	struct collected *collected = context;

	collected->records[collected->count++] = *record;
	return collected->count < collected->most;
}

size_t map_records(struct map_walker *walker, uint32_t ino, const struct inode_view *inode, uint64_t from,
                   struct map_record *records, size_t most)
{
	struct collected collected = { records, 0, most };
	const struct map_visitor visitor = { .from = from, .record = collect, .context = &collected };
	struct map_shape shape;

	if (most)
		map_visit(walker, ino, inode, &visitor, &shape);
	return collected.count;
}

unsigned int map_first_blocks(const struct volume *volume, const struct inode_view *inode, uint64_t blocks[4])
{
	struct extent_node root;
	unsigned int count = 0;

	if (!(inode->flags & EXT4_EXTENTS_FL)) {
		for (uint32_t n = EXT2_IND_BLOCK; n < EXT2_N_BLOCKS; n++)
			blocks[count++] = pointer_at(inode->root, n);
	} else if (extent_node_read(inode->root, INODE_ROOT_BYTES, &root) && root.depth) {
		for (; count < root.count && count < 4; count++)
			blocks[count] = extent_node_index(&root, count).block;
	}
	unsigned int kept = 0;

	for (unsigned int n = 0; n < count; n++)
		if (volume_has_blocks(volume, blocks[n], 1))
			blocks[kept++] = blocks[n];
	return kept;
}

bool map_is_large(const struct inode_view *inode)
{
	struct extent_node root;

	if (!(inode->flags & EXT4_EXTENTS_FL))
		return pointer_at(inode->root, EXT2_DIND_BLOCK) || pointer_at(inode->root, EXT2_TIND_BLOCK);
	return extent_node_read(inode->root, INODE_ROOT_BYTES, &root) && root.depth > 1;
}
