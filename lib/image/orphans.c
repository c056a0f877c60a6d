/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/orphans.h"

#include <errno.h>
#include <sys/stat.h>

#include "ondisk/orphan_block.h"
#include "support/bisect.h"
#include "support/bits.h"
#include "support/vector.h"

struct reading {
	struct map_walker *walker;
	orphan_function function;
	void *context;
	struct orphans *found; /* used instead of function; NULL: the caller does not ask for fates */
	uint32_t file;         /* the orphan file's inode */
	uint32_t seed;         /* seeds its checksums */
	void *raw;             /* the inode that a slot names */
	uint8_t *bytes;
	uint32_t *slots;
	errcode_t error;
};

static void lose(const struct reading *reading, uint32_t ino, uint64_t block, const char *what)
{
	reading->walker->losses++;
	damage_tell(&reading->walker->damage, ino, block, what);
}

static bool is_possible(const struct volume *volume, uint32_t ino)
{
	return ino <= volume->inodes && ino != EXT2_ROOT_INO && !volume_owns_inode(volume, ino);
}

static enum orphan_fate fate_of(const struct volume_inode *inode)
{
	uint16_t mode = inode->view.mode;

	if (!mode)
		return ORPHAN_NONE;
	if (!inode->view.links)
		return ORPHAN_DELETED;
	bool is_short_symlink = S_ISLNK(mode) && !volume_inode_has_map(inode);

	return S_ISREG(mode) || S_ISDIR(mode) || (S_ISLNK(mode) && !is_short_symlink) ? ORPHAN_TRUNCATED : ORPHAN_NONE;
}

/* Returns false if the kernel takes the inode for damage. */
static bool add_fate(struct reading *reading, const struct volume_inode *inode)
{
	struct orphans *found = reading->found;
	enum orphan_fate fate = fate_of(inode);

	if (fate == ORPHAN_NONE)
		return false;
	reading->error = vector_reserve(&found->items, &found->capacity, found->count + 1, sizeof(*found->items));
	if (!reading->error)
		found->items[found->count++] = (struct orphan){ inode->ino, fate };
	return true;
}

static errcode_t read_list(struct reading *reading)
{
	const struct volume *volume = reading->walker->volume;
	uint32_t ino = volume->superblock.s_last_orphan;
	SCOPE_FREE uint64_t *seen = ino ? calloc(bits_words((size_t)volume->inodes + 1), sizeof(*seen)) : NULL;
	SCOPE_FREE void *raw = malloc(volume->format.inode_bytes);

	if (!raw || (ino && !seen))
		return ENOMEM;
	while (ino) {
		struct volume_inode inode;

		if (!is_possible(volume, ino) || bits_test(seen, ino)) {
			lose(reading, ino, 0, "list of orphans");
			return 0;
		}
		bits_set(seen, ino);
		errcode_t error = volume_inode_read(volume, ino, raw, &inode);

		if (error == EXT2_ET_BAD_INODE_NUM || error == EXT2_ET_INODE_CSUM_INVALID) {
			lose(reading, ino, 0, "list of orphans");
			return 0;
		}
		if (error)
			return error;
		if (!reading->found) {
			reading->function(reading->context, ino);
		} else if (!add_fate(reading, &inode)) {
			lose(reading, ino, 0, "list of orphans");
			return 0;
		}
		if (reading->error)
			return reading->error;
		ino = inode.all.deletion_time;
	}
	return 0;
}

/* Returns false if the slot is damaged. */
static bool read_slot(struct reading *reading, uint32_t ino)
{
	const struct volume *volume = reading->walker->volume;
	struct volume_inode inode;

	if (!is_possible(volume, ino))
		return false;
	if (!reading->found) {
		reading->function(reading->context, ino);
		return true;
	}
	errcode_t error = volume_inode_read(volume, ino, reading->raw, &inode);

	if (error == EXT2_ET_BAD_INODE_NUM || error == EXT2_ET_INODE_CSUM_INVALID)
		return false;
	reading->error = error;
	return error || add_fate(reading, &inode);
}

static void read_slots(struct reading *reading, uint64_t block)
{
	const struct volume *volume = reading->walker->volume;

	for (uint32_t n = 0; n < orphan_block_slots(&volume->format) && !reading->error; n++) {
		uint32_t ino = reading->slots[n];

		if (ino && !read_slot(reading, ino))
			lose(reading, reading->file, block, "slot of the orphan file");
	}
}

static bool read_record(void *context, const struct map_record *record)
{
	struct reading *reading = context;
	const struct volume *volume = reading->walker->volume;

	for (uint32_t n = 0; n < record->count && record->logical + n < ORPHAN_FILE_MAX_BLOCKS; n++) {
		uint64_t block = record->physical + n;

		reading->error = volume_read(volume, block, 1, reading->bytes);
		if (reading->error)
			return false;
		if (orphan_block_read(&volume->format, reading->seed, block, reading->bytes, reading->slots) ==
		    ORPHAN_BLOCK_GOOD)
			read_slots(reading, block);
		else
			lose(reading, reading->file, block, "block of the orphan file");
		if (reading->error)
			return false;
	}
	return record->logical + record->count < ORPHAN_FILE_MAX_BLOCKS;
}

static errcode_t read_file(struct reading *reading)
{
	const struct volume *volume = reading->walker->volume;
	SCOPE_FREE void *raw = reading->raw = malloc(volume->format.inode_bytes);
	SCOPE_FREE uint8_t *bytes = reading->bytes = malloc(volume->format.block_bytes);
	SCOPE_FREE uint32_t *slots = reading->slots = malloc(volume->format.block_bytes);
	struct volume_inode inode;
	struct map_shape shape;

	if (!raw || !bytes || !slots)
		return ENOMEM;
	errcode_t error = volume_inode_read(volume, reading->file, raw, &inode);

	if (error == EXT2_ET_BAD_INODE_NUM || error == EXT2_ET_INODE_CSUM_INVALID ||
	    (!error && (!volume_inode_is_in_use(volume, &inode) || !volume_inode_has_map(&inode)))) {
		lose(reading, reading->file, 0, "orphan file");
		return 0;
	}
	if (error)
		return error;
	reading->seed = ondisk_inode_seed(&volume->format, reading->file, inode.all.value.generation);
	map_walk(reading->walker, reading->file, &inode.view, read_record, reading, &shape);
	return reading->error;
}

static errcode_t read_all(struct reading *reading)
{
	reading->file = reading->walker->volume->own_inodes[2];
	errcode_t error = read_list(reading);

	return error || !reading->file ? error : read_file(reading);
}

errcode_t orphans_read(struct map_walker *walker, orphan_function function, void *context)
{
	return read_all(&(struct reading){ .walker = walker, .function = function, .context = context });
}

static int by_inode(const void *left, const void *right)
{
	const struct orphan *a = left, *b = right;

	return a->ino < b->ino ? -1 : a->ino > b->ino;
}

errcode_t orphans_find(struct map_walker *walker, struct orphans *orphans)
{
	size_t kept = 0;

	orphans->count = 0;
	if (walker->volume->superblock.s_state & EXT2_ERROR_FS)
		return 0;
	errcode_t error = read_all(&(struct reading){ .walker = walker, .found = orphans });

	if (error || !orphans->count)
		return error;
	qsort(orphans->items, orphans->count, sizeof(*orphans->items), by_inode);
	for (size_t n = 0; n < orphans->count; n++)
		if (!n || orphans->items[n].ino != orphans->items[kept - 1].ino)
			orphans->items[kept++] = orphans->items[n];
	orphans->count = kept;
	return 0;
}

void orphans_free(struct orphans *orphans)
{
	free(orphans->items);
	*orphans = (struct orphans){ 0 };
}

enum orphan_fate orphans_fate(const struct orphans *orphans, uint32_t ino)
{
	size_t index = BISECT(orphans->count, at, orphans->items[at].ino >= ino);

	return index < orphans->count && orphans->items[index].ino == ino ? orphans->items[index].fate : ORPHAN_NONE;
}

struct quota_inodes volume_quota_inodes(const struct volume *volume)
{
	const struct ext2_super_block *super = &volume->superblock;

	if (!volume->format.quota)
		return (struct quota_inodes){ 0 };
	return (struct quota_inodes){ super->s_usr_quota_inum, super->s_grp_quota_inum, super->s_prj_quota_inum };
}
