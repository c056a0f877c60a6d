/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/image/image_scan.h"

#include <errno.h>
#include <linux/limits.h>
#include <string.h>

#include "image/contents.h"
#include "image/inode_table.h"
#include "ondisk/xattr.h"
#include "source/image/image_verity.h"
#include "support/bisect.h"
#include "support/vector.h"
#include "tree/details.h"
#include "tree/file_flags.h"

/* An inode while it is converted to one of the scan's. */
struct reading {
	struct image_scan *scan;
	struct image_worker *worker;
	struct volume_inode source;
	struct image_inode *inode;
};

static uint32_t inodes_per_block(const struct volume *volume)
{
	return volume->format.block_bytes / volume->format.inode_bytes;
}

static errcode_t list_pieces(struct image_scan *scan)
{
	const struct volume *volume = scan->volume;
	const struct geometry *geometry = &volume->geometry;
	uint32_t most = (uint32_t)(IMAGE_PIECE_BYTES >> geometry->block_bits);
	size_t capacity = 0;

	for (uint32_t group = 0; group < geometry->groups; group++) {
		const struct volume_group *of = &volume->group[group];
		uint32_t used = (of->inodes_used + inodes_per_block(volume) - 1) / inodes_per_block(volume);

		for (uint32_t done = 0; of->inode_table && done < used; done += most) {
			errcode_t error =
				vector_reserve(&scan->pieces, &capacity, scan->piece_count + 1, sizeof(*scan->pieces));

			if (error)
				return error;
			scan->pieces[scan->piece_count++] = (struct image_piece){
				.first_ino = group * geometry->inodes_per_group + done * inodes_per_block(volume) + 1,
				.block = of->inode_table + done,
				.block_count = used - done < most ? used - done : most,
			};
		}
	}
	return 0;
}

struct image_inode *image_find_inode(const struct image_scan *scan, uint32_t ino)
{
	size_t number = BISECT(scan->piece_count, n, scan->pieces[n].first_ino > ino);

	if (!number)
		return NULL;
	const struct image_piece *piece = &scan->pieces[number - 1];
	uint32_t at = (uint32_t)BISECT(piece->count, n, piece->inodes[n].ino >= ino);

	return at < piece->count && piece->inodes[at].ino == ino ? &piece->inodes[at] : NULL;
}

/* True if a file uses the inode, and not the filesystem itself. */
static bool is_wanted(const struct volume *volume, uint32_t ino, const struct inode_view *view)
{
	return view->mode && view->links && !volume_owns_inode(volume, ino);
}

/* --- Data to which an inode refers -------------------------------------------------------------------------------- */

static errcode_t add_xattr(struct reading *reading, const struct volume_xattr *item, uint32_t *count, bool *is_lost)
{
	struct image_worker *worker = reading->worker;
	bool is_context =
		image_is_encrypted(reading->inode) && item->name && !strcmp(item->name, XATTR_ENCRYPTION_CONTEXT);

	if (reading->scan->options->without_xattrs && !is_context)
		return 0;
	if (!is_context && (!item->name || !tree_xattr_is_kept(item->name))) {
		*is_lost = true;
		return 0;
	}
	if (is_context)
		image_read_policy(reading->inode, item->value, item->value_bytes);
	errcode_t error = vector_reserve(&worker->list, &worker->list_capacity, *count + 1ul, sizeof(*worker->list));

	if (!error)
		worker->list[(*count)++] = (struct tree_xattr){ item->name, item->value, item->value_bytes };
	return error;
}

static errcode_t read_xattrs(struct reading *reading)
{
	struct image_scan *scan = reading->scan;
	struct image_worker *worker = reading->worker;
	struct tree_node *node = &reading->inode->node;
	bool is_lost = false;
	uint32_t count = 0;

	if (scan->options->without_xattrs && !node->is_encrypted)
		return 0;
	errcode_t error = volume_xattrs_read(&worker->walker.map, &reading->source, &worker->xattrs);

	for (size_t n = 0; !error && n < worker->xattrs.count; n++)
		error = add_xattr(reading, &worker->xattrs.items[n], &count, &is_lost);
	if (error)
		return error;
	if (node->is_encrypted && !reading->inode->policy)
		damage_tell(&worker->damage, reading->source.ino, 0, "context of its encryption");
	node->has_lost_xattr = is_lost;
	if (count > 1)
		qsort(worker->list, count, sizeof(*worker->list), tree_xattr_compare);
	return xattr_table_intern(scan->xattr_table, worker->list, count, &worker->last_set, &node->xattrs);
}

/* Reads a symlink's target. Linux can follow a target of at most 4095 bytes. */
static errcode_t read_target(struct reading *reading)
{
	struct image_worker *worker = reading->worker;
	SCOPE_FREE char *target = NULL;
	size_t bytes;
	errcode_t error = symlink_read(&worker->walker.map, &reading->source, &target, &bytes);

	if (error)
		return error == EUCLEAN ? 0 : error;
	if (image_is_encrypted(reading->inode) ? !image_is_encrypted_target(target, bytes) : bytes >= PATH_MAX) {
		damage_tell(&worker->damage, reading->source.ino, 0, "size of a symlink");
		return 0;
	}
	error = source_counts_metadata(reading->scan->options->counts, bytes + 1);
	if (error)
		return error;
	reading->inode->node.target = arena_copy_string(&worker->memory, target, bytes);
	reading->inode->node.size_bytes = bytes;
	return reading->inode->node.target ? 0 : ENOMEM;
}

static bool follows(const struct map_record *last, const struct map_record *next)
{
	return last->logical + last->count == next->logical && last->is_unwritten == next->is_unwritten &&
	       (last->is_unwritten || last->physical + last->count == next->physical) &&
	       last->count <= UINT32_MAX - next->count;
}

/* Notes what is preallocated, also after the end of the file. */
static errcode_t note_unwritten(struct reading *reading, const struct map_record *record)
{
	struct image_worker *worker = reading->worker;
	const unsigned int bits = reading->scan->volume->format.block_bits;
	const struct tree_segment found = { record->logical << bits, (uint64_t)record->count << bits };
	struct tree_segment *last = worker->unwritten_count ? &worker->unwritten[worker->unwritten_count - 1] : NULL;

	if (!reading->scan->options->asks_for_unwritten || !record->is_unwritten)
		return 0;
	if (last && last->start_bytes + last->length_bytes == found.start_bytes) {
		last->length_bytes += found.length_bytes;
		return 0;
	}
	errcode_t error = source_counts_metadata(reading->scan->options->counts, sizeof(found));

	return error ? error :
	               vector_add(&worker->unwritten, &worker->unwritten_count, &worker->unwritten_capacity, &found,
	                          sizeof(found));
}

/* Receives a record of a map. Written blocks after the file's end are left to be cut off. */
static bool take_record(void *context, const struct map_record *record)
{
	struct reading *reading = context;
	struct image_worker *worker = reading->worker;
	const struct volume *volume = reading->scan->volume;
	uint64_t size = reading->inode->node.size_bytes, bits = volume->format.block_bits;
	uint64_t end = (size >> bits) + !!(size & (volume->format.block_bytes - 1));
	struct map_record kept = *record;

	worker->error = note_unwritten(reading, record);
	if (worker->error)
		return false;
	if (record->logical >= end)
		return reading->scan->options->asks_for_unwritten;
	if (end - record->logical < record->count)
		kept.count = (uint32_t)(end - record->logical);
	if (!record->is_unwritten && record->physical + kept.count > volume->readable_end)
		damage_tell(&worker->damage, reading->source.ino, record->physical,
		            "block of a file that lies after the end of the image");
	if (worker->record_count && follows(&worker->records[worker->record_count - 1], &kept)) {
		worker->records[worker->record_count - 1].count += kept.count;
		return true;
	}
	worker->error = source_counts_metadata(reading->scan->options->counts, sizeof(kept));
	if (!worker->error)
		worker->error = vector_reserve(&worker->records, &worker->record_capacity, worker->record_count + 1,
		                               sizeof(*worker->records));
	if (worker->error)
		return false;
	worker->records[worker->record_count++] = kept;
	return true;
}

/* Adds data that begin at or after the end of the last segment. */
static errcode_t add_segment(struct image_worker *worker, uint64_t start, uint64_t length)
{
	struct tree_segment *last = worker->segment_count ? &worker->segments[worker->segment_count - 1] : NULL;

	if (last && last->start_bytes + last->length_bytes == start) {
		last->length_bytes += length;
		return 0;
	}
	errcode_t error = vector_reserve(&worker->segments, &worker->segment_capacity, worker->segment_count + 1,
	                                 sizeof(*worker->segments));

	if (!error)
		worker->segments[worker->segment_count++] = (struct tree_segment){ start, length };
	return error;
}

/* Sets which parts of a file are data, in the tree's form; a file without holes has no map. */
static errcode_t set_contents(struct reading *reading, const struct image_file *file)
{
	struct image_worker *worker = reading->worker;
	struct tree_node *node = &reading->inode->node;
	uint64_t size = node->size_bytes, contents = (uintptr_t)file;
	unsigned int bits = reading->scan->volume->format.block_bits;
	errcode_t error = 0;

	worker->segment_count = 0;
	if (file && file->inline_bytes)
		error = add_segment(worker, 0, file->inline_bytes);
	for (uint32_t n = 0; !error && file && n < file->record_count; n++) {
		const struct map_record *record = &file->records[n];
		uint64_t start = record->logical << bits, end = (record->logical + record->count) << bits;

		if (!record->is_unwritten)
			error = add_segment(worker, start, (end < size ? end : size) - start);
	}
	if (error)
		return error;
	node->contents = contents;
	if (!size || (worker->segment_count == 1 && worker->segments[0].length_bytes == size))
		return 0;
	size_t bytes = worker->segment_count * sizeof(*worker->segments);

	error = source_counts_metadata(reading->scan->options->counts, sizeof(struct tree_data_map) + bytes);
	if (error)
		return error;
	struct tree_data_map *map = arena_alloc(&worker->memory, sizeof(*map) + bytes);

	if (!map)
		return ENOMEM;
	*map = (struct tree_data_map){ contents, (uint32_t)worker->segment_count };
	if (bytes)
		memcpy(map->segments, worker->segments, bytes);
	node->is_sparse = true;
	node->data_map = map;
	return 0;
}

/* mke2fs -d does not store a hole at the end of inline data, so missing bytes are a hole. */
static errcode_t read_inline(struct reading *reading, struct image_file **ret)
{
	struct image_worker *worker = reading->worker;
	uint64_t size = reading->inode->node.size_bytes;
	size_t rest, most;
	const uint8_t *more = inode_view_inline_rest(&reading->scan->volume->format, reading->source.raw, &rest);

	*ret = NULL;
	if (!more) {
		damage_tell(&worker->damage, reading->source.ino, 0, "inline data");
		return 0;
	}
	most = size < INODE_ROOT_BYTES + rest ? (size_t)size : INODE_ROOT_BYTES + rest;
	struct image_file *file = arena_alloc(&worker->memory, sizeof(*file) + INODE_ROOT_BYTES + rest);

	if (!file)
		return ENOMEM;
	uint8_t *bytes = (uint8_t *)(file + 1);

	*file = (struct image_file){ .ino = reading->source.ino };
	memcpy(bytes, reading->source.view.root, INODE_ROOT_BYTES);
	memcpy(bytes + INODE_ROOT_BYTES, more, rest);
	file->inline_data = bytes;
	file->inline_bytes = (uint32_t)most;
	*ret = file;
	return 0;
}

static errcode_t read_map(struct reading *reading, struct image_file **ret)
{
	struct image_worker *worker = reading->worker;
	struct map_shape shape;

	*ret = NULL;
	worker->record_count = 0;
	worker->error = 0;
	map_walk(&worker->walker.map, reading->source.ino, &reading->source.view, take_record, reading, &shape);
	if (worker->error || !worker->record_count)
		return worker->error;
	if (worker->record_count > UINT32_MAX)
		return EFBIG;
	size_t bytes = worker->record_count * sizeof(*worker->records);
	struct image_file *file = arena_alloc(&worker->memory, sizeof(*file) + bytes);

	if (!file)
		return ENOMEM;
	*file = (struct image_file){ .ino = reading->source.ino, .record_count = (uint32_t)worker->record_count };
	memcpy(file->records, worker->records, bytes);
	*ret = file;
	return 0;
}

/* How long a file can be that has such a map; e2fsck(8) takes a longer one for damaged, too. */
static uint64_t most_bytes(const struct reading *reading)
{
	const unsigned int bits = reading->scan->volume->format.block_bits, address_bits = bits - 2;
	uint64_t blocks = UINT64_C(1) << 32;

	if (!(reading->source.view.flags & (EXT4_EXTENTS_FL | EXT4_INLINE_DATA_FL))) {
		uint64_t indirect = EXT2_NDIR_BLOCKS;

		for (unsigned int level = 1; level <= 3; level++)
			indirect += UINT64_C(1) << (level * address_bits);
		blocks = indirect < blocks ? indirect : blocks;
	}
	/* Not the last byte of what an extent could map: its number of blocks would not fit. */
	return (blocks << bits) - (blocks == UINT64_C(1) << 32);
}

static errcode_t read_contents(struct reading *reading)
{
	struct image_file *file;
	errcode_t error;

	reading->worker->unwritten_count = 0;
	reading->inode->node.size_bytes = reading->source.all.value.size_bytes;
	if (reading->inode->node.size_bytes > most_bytes(reading)) {
		damage_tell(&reading->worker->damage, reading->source.ino, 0, "size of a file");
		return 0;
	}
	error = reading->source.view.flags & EXT4_INLINE_DATA_FL ? read_inline(reading, &file) :
	                                                           read_map(reading, &file);
	return error ? error : set_contents(reading, file);
}

static bool take_first(void *context, const struct map_record *record)
{
	*(uint64_t *)context = record->physical;
	return false;
}

/*
 * Notes a directory and its first block. Directories are read in the order of these blocks, and that read also reports
 * damage of the map.
 */
static errcode_t note_directory(struct reading *reading)
{
	struct image_worker *worker = reading->worker;
	const struct volume *volume = reading->scan->volume;
	struct map_shape shape;
	uint64_t first = 0;
	size_t count = worker->directory_count + 1;
	errcode_t error =
		vector_reserve(&worker->directories, &worker->directory_capacity, count, sizeof(*worker->directories));
	uint8_t *raw = arena_alloc(&worker->scratch, volume->format.inode_bytes + sizeof(first));

	if (!error)
		error = vector_reserve(&worker->raws, &worker->raw_capacity, count, sizeof(*worker->raws));
	if (error || !raw)
		return ENOMEM;
	if (!(reading->source.view.flags & EXT4_INLINE_DATA_FL))
		map_walk(&worker->walker.map, reading->source.ino, &reading->source.view, take_first, &first, &shape);
	memcpy(raw, &first, sizeof(first));
	memcpy(raw + sizeof(first), reading->source.raw, volume->format.inode_bytes);
	worker->raws[worker->directory_count] = raw;
	worker->directories[worker->directory_count++] = reading->inode;
	return 0;
}

/* --- An inode ----------------------------------------------------------------------------------------------------- */

static void set_attributes(const struct reading *reading)
{
	const struct inode_value *value = &reading->source.all.value;
	struct tree_node *node = &reading->inode->node;

	*node = (struct tree_node){
		.mode = value->mode,
		.uid = value->uid,
		.gid = value->gid,
		.mtime_seconds = value->mtime.seconds,
		.mtime_nanoseconds = value->mtime.nanoseconds,
		.has_flags = true,
	};
	if (!reading->scan->options->without_flags)
		node->flags = value->flags & FILE_FLAGS_KEPT & file_flags_of_type(value->mode);
	if (!S_ISDIR(value->mode))
		return;
	node->is_casefolded = value->flags & EXT4_CASEFOLD_FL;
	node->flags |= value->flags & FILE_FLAGS_OF_PROJECT;
}

static struct tree_time time_of(const struct inode_time *time)
{
	return (struct tree_time){ time->seconds, time->nanoseconds, true };
}

static errcode_t keep_unwritten(struct reading *reading, const struct tree_unwritten **ret)
{
	struct image_worker *worker = reading->worker;
	const size_t bytes = worker->unwritten_count * sizeof(*worker->unwritten);
	struct tree_unwritten *kept = arena_alloc(&worker->memory, sizeof(*kept) + bytes);

	*ret = kept;
	if (!kept || worker->unwritten_count > UINT32_MAX)
		return ENOMEM;
	kept->count = (uint32_t)worker->unwritten_count;
	memcpy(kept->segments, worker->unwritten, bytes);
	return 0;
}

static errcode_t read_detail(struct reading *reading)
{
	struct image_scan *scan = reading->scan;
	const struct inode_decoded *all = &reading->source.all;
	struct tree_detail detail = { 0 };
	errcode_t error = 0;

	if (scan->volume->format.project)
		detail.project = all->value.project;
	if (S_ISREG(all->value.mode) && reading->worker->unwritten_count)
		error = keep_unwritten(reading, &detail.unwritten);
	if (error)
		return error;
	if (scan->options->asks_for_times) {
		detail.atime = time_of(&all->value.atime);
		detail.ctime = time_of(&all->value.ctime);
		if (all->has_crtime)
			detail.crtime = time_of(&all->value.crtime);
	}
	if (reading->inode->keeps_number)
		detail.inode_number = reading->source.ino;
	/* fs-verity encrypts the hashes of an encrypted file together with the file. */
	if (S_ISREG(all->value.mode) && (reading->source.view.flags & EXT4_VERITY_FL) &&
	    !image_is_encrypted(reading->inode))
		error = image_read_verity(scan, reading->worker, &reading->source, &detail.verity);
	if (error || (!detail.project && !detail.inode_number && !scan->options->asks_for_times && !detail.verity &&
	              !detail.unwritten))
		return error;
	error = source_counts_metadata(scan->options->counts, sizeof(detail));

	if (error)
		return error;
	pthread_mutex_lock(&scan->detail_lock);
	error = tree_add_detail(scan->tree, &detail, &reading->inode->node.detail);
	pthread_mutex_unlock(&scan->detail_lock);
	return error;
}

static errcode_t read_type(struct reading *reading)
{
	struct tree_node *node = &reading->inode->node;

	switch (node->mode & S_IFMT) {
	case S_IFDIR:
		return note_directory(reading);
	case S_IFREG:
		return read_contents(reading);
	case S_IFLNK:
		return read_target(reading);
	case S_IFCHR:
	case S_IFBLK:
		inode_root_read_device(reading->source.all.value.root, &node->device.major, &node->device.minor);
		return 0;
	case S_IFIFO:
	case S_IFSOCK:
		return 0;
	default:
		reading->inode->refusal = IMAGE_UNKNOWN_TYPE;
		return 0;
	}
}

static errcode_t read_inode(struct image_scan *scan, struct image_worker *worker, uint32_t ino, const uint8_t *raw,
                            struct image_inode *inode)
{
	struct reading reading = { .scan = scan, .worker = worker, .inode = inode };
	bool is_damaged;
	errcode_t error = 0;

	reading.source = (struct volume_inode){ .ino = ino, .raw = raw };
	inode_view_read(&scan->volume->format, raw, &reading.source.view);
	inode_decode(&scan->volume->format, raw, &reading.source.all);
	*inode = (struct image_inode){
		.ino = ino,
		.first_node = UINT32_MAX,
		.flags = reading.source.view.flags,
	};
	set_attributes(&reading);
	image_begin_inode(worker, ino);
	if (inode->flags & EXT4_EA_INODE_FL) {
		inode->refusal = IMAGE_NO_USERS;
	} else if (!inode_checksum_fits(&scan->volume->format, ino, raw)) {
		damage_tell(&worker->damage, ino, 0, "checksum of an inode");
	} else if (!image_take_encryption(scan, worker, inode)) {
		inode->refusal = IMAGE_ENCRYPTED;
	} else {
		error = read_type(&reading);
		if (!error)
			error = read_xattrs(&reading);
		if (!error)
			error = read_detail(&reading);
	}
	/* The error is in an EA inode, to which only this inode refers. */
	if (error == EIO || error == EXT2_ET_SHORT_READ) {
		damage_tell(&worker->damage, ino, 0, "block that cannot be read");
		error = 0;
	}
	if (!error)
		error = image_end_inode(worker, &is_damaged);
	if (!error && is_damaged)
		inode->refusal = IMAGE_DAMAGED;
	return error;
}

/* --- A piece ------------------------------------------------------------------------------------------------------ */

/* A block of the inode table that cannot be read may hold inodes in use. */
static void lose_block(void *context, uint32_t ino, uint64_t block)
{
	struct image_worker *worker = context;
	bool is_damaged;

	for (uint32_t n = 0; n < inodes_per_block(worker->walker.map.volume) && !worker->error; n++) {
		image_begin_inode(worker, ino + n);
		damage_tell(&worker->damage, ino + n, block, "inode table");
		worker->error = image_end_inode(worker, &is_damaged);
	}
}

/* Tells the system about the blocks that will be read for inodes of this piece: blocks of maps, xattrs and symlinks. */
static errcode_t expect_blocks(const struct image_scan *scan, struct image_worker *worker,
                               const struct image_piece *piece, uint32_t *used)
{
	const struct volume *volume = scan->volume;
	uint32_t end = piece->block_count * inodes_per_block(volume);
	errcode_t error = 0;

	*used = 0;
	for (uint32_t n = 0; !error && n < end; n++) {
		uint64_t blocks[4];
		struct inode_view view;

		inode_view_read(&volume->format, worker->table + (size_t)n * volume->format.inode_bytes, &view);
		if (!is_wanted(volume, piece->first_ino + n, &view))
			continue;
		++*used;
		if (view.xattr_block)
			error = image_add_expected(worker, view.xattr_block);
		bool has_map = !(view.flags & EXT4_INLINE_DATA_FL) && (S_ISREG(view.mode) || S_ISDIR(view.mode));
		unsigned int count = has_map ? map_first_blocks(volume, &view, blocks) : 0;

		for (unsigned int i = 0; !error && i < count; i++)
			error = image_add_expected(worker, blocks[i]);
	}
	image_expect(volume, worker);
	return error;
}

static errcode_t read_used(struct image_scan *scan, struct image_worker *worker, struct image_piece *piece)
{
	const struct volume *volume = scan->volume;
	uint32_t used, end = piece->block_count * inodes_per_block(volume);
	errcode_t error = expect_blocks(scan, worker, piece, &used);
	struct found found = { 0 };

	if (!error && used)
		error = source_counts_metadata(scan->options->counts, (uint64_t)used * sizeof(*piece->inodes));
	if (error || !used)
		return error;
	piece->inodes = malloc(used * sizeof(*piece->inodes));
	if (!piece->inodes)
		return ENOMEM;
	for (uint32_t n = 0; !error && n < end; n++) {
		const uint8_t *raw = worker->table + (size_t)n * volume->format.inode_bytes;
		struct image_inode *inode = &piece->inodes[piece->count];
		struct inode_view view;

		inode_view_read(&volume->format, raw, &view);
		if (!is_wanted(volume, piece->first_ino + n, &view))
			continue;
		piece->count++;
		error = read_inode(scan, worker, piece->first_ino + n, raw, inode);
		found.folders += S_ISDIR(inode->node.mode);
		found.bytes += S_ISREG(inode->node.mode) ? inode->node.size_bytes : 0;
	}
	progress_add(scan->options->progress, 0, piece->count);
	progress_find(scan->options->progress, &found);
	return error;
}

static errcode_t read_piece(void *context, unsigned int number, size_t index, struct problem *problem)
{
	struct image_scan *scan = context;
	struct image_piece *piece = &scan->pieces[index];
	struct image_worker *worker;
	errcode_t error = image_open_worker(scan, number, 0, &worker);

	if (error)
		return image_failure(scan, error, problem);
	worker->error = 0;
	inode_table_read(scan->volume, piece->first_ino, piece->block, piece->block_count, worker->table, lose_block,
	                 worker);
	error = worker->error ? worker->error : read_used(scan, worker, piece);
	return error ? image_failure(scan, error, problem) : 0;
}

static int by_ino(const void *one, const void *other)
{
	const struct image_directory *first = one, *second = other;

	return first->inode->ino < second->inode->ino ? -1 : 1;
}

static errcode_t gather_directories(struct image_scan *scan)
{
	size_t count = 0;

	for (unsigned int n = 0; n < scan->worker_count; n++)
		count += scan->workers[n].directory_count;
	scan->directories = calloc(count + 1, sizeof(*scan->directories));
	if (!scan->directories)
		return ENOMEM;
	count = 0;
	for (unsigned int n = 0; n < scan->worker_count; n++) {
		const struct image_worker *worker = &scan->workers[n];

		for (size_t i = 0; i < worker->directory_count; i++) {
			struct image_directory *directory = &scan->directories[count++];

			directory->inode = worker->directories[i];
			memcpy(&directory->first_block, worker->raws[i], sizeof(directory->first_block));
			directory->raw = worker->raws[i] + sizeof(directory->first_block);
		}
	}
	qsort(scan->directories, count, sizeof(*scan->directories), by_ino);
	scan->directory_count = (uint32_t)count;
	for (uint32_t n = 0; n < count; n++)
		scan->directories[n].inode->directory = n;
	return 0;
}

errcode_t image_read_inodes(struct image_scan *scan, struct problem *problem)
{
	errcode_t error = list_pieces(scan);

	if (!error)
		error = pool_run(scan->readers, scan->piece_count, read_piece, scan, problem);
	if (!error)
		error = image_gather_notes(scan);
	if (!error)
		error = gather_directories(scan);
	return error ? image_failure(scan, error, problem) : 0;
}
