/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contents/protect.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "contents/protection.h"
#include "support/io/unnamed_file.h"
#include "support/vector.h"

#define READ_BYTES ((size_t)1 << 20)

/* Taken to make the hash tree of a large file, which few threads do. */
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

void protect_worker_free(struct protect_worker *own)
{
	free(own->memory);
	free(own->tail);
	free(own->read);
}

/* Allocates the file's blocks first: a write into a mapping reports errors only by a signal. */
static errcode_t map_file(const char *directory, size_t bytes, uint8_t **memory)
{
	SCOPE_CLOSE int descriptor = -1;
	errcode_t error = unnamed_file_open(directory, &descriptor);

	if (!error)
		error = posix_fallocate(descriptor, 0, (off_t)bytes);
	if (error)
		return error;
	void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);

	*memory = mapping == MAP_FAILED ? NULL : mapping;
	return *memory ? 0 : errno;
}

static void free_shared(struct shared_tree *shared)
{
	if (!shared)
		return;
	if (shared->is_mapped)
		munmap(shared->memory, hash_tree_memory_bytes(&shared->tree));
	else
		free(shared->memory);
	free(shared);
}

static errcode_t make_shared(const struct verity_value *value, const char *directory, struct shared_tree **ret)
{
	const struct hash_tree_form form = protection_form(value);
	struct shared_tree *shared = aligned_alloc(alignof(struct shared_tree), sizeof(*shared));
	errcode_t error = shared ? hash_tree_init(&shared->tree, &form, value->data_bytes) : ENOMEM;

	*ret = NULL;
	if (error) {
		free(shared);
		return error;
	}
	uint64_t bytes = hash_tree_memory_bytes(&shared->tree);

	shared->is_mapped = bytes > PROTECT_MOST_MEMORY_BYTES;
	if (shared->is_mapped) {
		error = map_file(directory, bytes, &shared->memory);
	} else {
		shared->memory = malloc(bytes);
		error = shared->memory ? 0 : ENOMEM;
	}
	if (error) {
		free(shared);
		return error;
	}
	*ret = shared;
	return 0;
}

static errcode_t begin_shared(struct protect_worker *own, const char *directory)
{
	errcode_t error = 0;

	pthread_mutex_lock(&shared_lock);
	if (!own->file->tree)
		error = make_shared(&own->value, directory, &own->file->tree);
	pthread_mutex_unlock(&shared_lock);
	if (error)
		return error;
	own->current = &own->file->tree->tree;
	own->current_memory = own->file->tree->memory;
	return 0;
}

static bool are_alike(const struct verity_value *one, const struct verity_value *other)
{
	return one->algorithm == other->algorithm && one->block_bits == other->block_bits &&
	       one->salt_bytes == other->salt_bytes && !memcmp(one->salt, other->salt, sizeof(one->salt));
}

static errcode_t begin_whole(struct protect_worker *own)
{
	errcode_t error = 0;

	if (are_alike(&own->form, &own->value)) {
		hash_tree_resize(&own->tree, own->value.data_bytes);
	} else {
		const struct hash_tree_form form = protection_form(&own->value);

		error = hash_tree_init(&own->tree, &form, own->value.data_bytes);
		own->form = own->value;
	}
	if (!error)
		error = vector_reserve(&own->memory, &own->capacity, hash_tree_memory_bytes(&own->tree), 1);
	own->current = &own->tree;
	own->current_memory = own->memory;
	return error;
}

errcode_t protect_begin(const struct protection *protection, struct protect_worker *own, uint32_t node, bool is_slice,
                        const char *directory)
{
	own->file = protection_find(protection, node);
	if (!own->file)
		return 0;
	own->value = protection_value(protection, node);
	return is_slice ? begin_shared(own, directory) : begin_whole(own);
}

errcode_t protect_read(struct protect_worker *own, struct content_reader *reader, uint64_t offset_bytes, uint64_t count,
                       struct problem *problem)
{
	if (!own->file)
		return 0;
	if (!own->read)
		own->read = malloc(READ_BYTES);
	if (!own->read)
		return ENOMEM;
	while (count) {
		size_t piece = count < READ_BYTES ? (size_t)count : READ_BYTES;
		errcode_t error = content_reader_read(reader, own->read, piece, offset_bytes, problem);

		if (error)
			return error;
		protect_hash(own, own->read, piece, offset_bytes);
		offset_bytes += piece;
		count -= piece;
	}
	return 0;
}

/* Notes that blocks [from, to) of the file are a hole. */
static void add_hole(const struct protection *protection, const struct protect_worker *own, uint64_t from, uint64_t to)
{
	const struct hash_tree *tree = own->current;
	unsigned int bits = protection->format->block_bits - tree->data_block_bits;
	uint64_t first = from << bits, end = to << bits;

	end = end < tree->data_blocks ? end : tree->data_blocks;
	if (first < end)
		hash_tree_add_zeros(tree, end - first, own->current_memory + hash_tree_leaf(tree, first));
}

static void add_holes(const struct protection *protection, const struct protect_worker *own,
                      const struct file_extent *extents, uint32_t count)
{
	uint64_t next = 0;

	for (uint32_t number = 0; number < count; number++) {
		add_hole(protection, own, next, extents[number].logical);
		next = (uint64_t)extents[number].logical + extents[number].count;
	}
}

static errcode_t check_digest(const struct protection *protection, const struct protect_worker *own,
                              struct problem *problem)
{
	uint32_t node = own->file->node;
	const struct tree_verity *verity = tree_detail(protection->tree, &protection->tree->nodes[node])->verity;
	char wanted[TREE_VERITY_TEXT_BYTES], found[TREE_VERITY_TEXT_BYTES];
	unsigned int bytes = verity_digest_bytes(verity->algorithm);

	if (!verity->has_digest || !memcmp(verity->digest, own->file->digest, bytes))
		return 0;
	SCOPE_FREE char *path = tree_path(protection->tree, node);

	tree_verity_text(verity->algorithm, verity->digest, wanted);
	tree_verity_text(verity->algorithm, own->file->digest, found);
	return problem_set_reason(problem, EINVAL, path, "cannot be protected by fs-verity",
	                          "its digest should be %s, and is %s", wanted, found);
}

/* Makes the descriptor's blocks: the descriptor is at their beginning, and its size at their end. */
static errcode_t make_tail(const struct protection *protection, struct protect_worker *own,
                           const struct verity_place *place)
{
	const struct tree_verity *verity =
		tree_detail(protection->tree, &protection->tree->nodes[own->file->node])->verity;
	size_t bytes = (size_t)(place->blocks - place->tree_blocks) << protection->format->block_bits;
	uint32_t size = htole32(VERITY_DESCRIPTOR_BYTES + own->value.signature_bytes);
	errcode_t error = vector_reserve(&own->tail, &own->tail_capacity, bytes, 1);

	if (error)
		return error;
	memset(own->tail, 0, bytes);
	verity_encode(&own->value, own->tail);
	if (own->value.signature_bytes)
		memcpy(own->tail + VERITY_DESCRIPTOR_BYTES, verity->signature, own->value.signature_bytes);
	memcpy(own->tail + bytes - sizeof(size), &size, sizeof(size));
	return 0;
}

errcode_t protect_finish(const struct protection *protection, struct protect_worker *own,
                         const struct file_extent *extents, uint32_t count, struct problem *problem)
{
	const struct verity_place place = protection_place(protection, own->file->node);

	add_holes(protection, own, extents, count);
	memset(own->value.root, 0, sizeof(own->value.root));
	hash_tree_finish(own->current, own->current_memory, own->value.root);
	verity_digest(&own->value, tree_verity_hash(own->value.algorithm), own->file->digest);
	errcode_t error = check_digest(protection, own, problem);

	return error ? error : make_tail(protection, own, &place);
}

/* A protected file as it is written. */
struct file_writer {
	struct run_writer *writer;
	unsigned int block_bits;
	const struct file_extent *extents;
	uint32_t count;
};

/* Writes bytes, and zeros after them, into those blocks [from, to) of the file that are mapped. */
static errcode_t write_blocks(const struct file_writer *file, uint64_t from, uint64_t to, const uint8_t *bytes,
                              uint64_t byte_count)
{
	const unsigned int block_bits = file->block_bits;
	const uint32_t most = RUN_WRITER_BYTES >> block_bits;

	for (uint32_t number = 0; number < file->count; number++) {
		const struct file_extent *extent = &file->extents[number];
		uint64_t next = extent->logical > from ? extent->logical : from;
		uint64_t end = (uint64_t)extent->logical + extent->count;

		end = end < to ? end : to;
		for (uint32_t blocks; next < end; next += blocks) {
			uint64_t done = (next - from) << block_bits, left = done < byte_count ? byte_count - done : 0;
			void *space;

			blocks = end - next < most ? (uint32_t)(end - next) : most;
			errcode_t error = run_writer_reserve(file->writer, extent->physical + (next - extent->logical),
			                                     blocks, &space);

			if (error)
				return error;
			size_t space_bytes = (size_t)blocks << block_bits;
			size_t filled = left < space_bytes ? (size_t)left : space_bytes;

			if (filled)
				memcpy(space, bytes + done, filled);
			memset((uint8_t *)space + filled, 0, space_bytes - filled);
		}
	}
	return 0;
}

/* Blocks between the data and the tree are mapped only if clusters are larger than 64 KiB. */
static errcode_t write_all(const struct protection *protection, const struct protect_worker *own,
                           const struct file_writer *file)
{
	const struct verity_place place = protection_place(protection, own->file->node);
	const unsigned int block_bits = file->block_bits;
	uint64_t tail = place.first_block + place.tree_blocks, end = place.first_block + place.blocks;
	uint64_t data_end = (own->value.data_bytes + protection->format->block_bytes - 1) >> block_bits;
	errcode_t error = write_blocks(file, data_end, place.first_block, NULL, 0);

	if (!error)
		error = write_blocks(file, place.first_block, tail, own->current_memory, hash_tree_bytes(own->current));
	return error ? error : write_blocks(file, tail, end, own->tail, (end - tail) << block_bits);
}

errcode_t protect_end(const struct protection *protection, struct protect_worker *own,
                      const struct file_extent *extents, uint32_t count, struct run_writer *writer,
                      struct problem *problem)
{
	const struct file_writer destination = { writer, protection->format->block_bits, extents, count };
	struct protected_file *file = own->file;

	/* From here on this thread sees the hashes that other workers have made. */
	if (!file || (file->tree && atomic_fetch_sub_explicit(&file->pending_slices, 1, memory_order_acq_rel) > 1))
		return 0;
	errcode_t error = protect_finish(protection, own, extents, count, problem);

	if (!error)
		error = write_all(protection, own, &destination);
	free_shared(TAKE(file->tree));
	return error ? problem_set(problem, error, protection->image, "cannot write") : 0;
}

void protect_drop(struct protect_worker *own)
{
	if (own->file)
		free_shared(TAKE(own->file->tree));
}

void protect_release(const struct protection *protection)
{
	for (uint32_t number = 0; number < protection->count; number++)
		free_shared(TAKE(protection->files[number].tree));
}
