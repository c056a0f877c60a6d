/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "journal/journal_overlay.h"
#include "support/crc32c.h"
#include "support/io/whole_io.h"
#include "support/seconds.h"

void volume_close(struct volume *volume)
{
	close(volume->descriptor);
	journal_overlay_free(volume->overlay);
	free(volume->group);
	free(volume->suspect);
	fs_zones_free(&volume->zones);
}

errcode_t volume_check_end(const struct volume *volume, const char *name, const char *action, struct problem *problem)
{
	uint64_t end = volume->geometry.end_block, there = volume->readable_end;

	return there >= end ? 0 :
	                      problem_set_reason(problem, EXT2_ET_SHORT_READ, name, action, VOLUME_CUT_OFF, there, end);
}

void volume_check_descriptors(const struct volume *volume, const struct damage_listener *damage)
{
	for (uint32_t number = 0; number < volume->geometry.groups; number++)
		if (volume->group[number].is_doubtful)
			damage_tell_group(damage, number, "its descriptor differs from its checksum");
}

bool volume_bitmap_fits(const struct volume *volume, uint32_t group, const void *bytes)
{
	uint32_t checksum = crc32c(volume->format.checksum_seed, bytes, volume->geometry.clusters_per_group / 8);

	return (checksum & volume->checksum_mask) == volume->group[group].bitmap_checksum;
}

bool volume_owns_inode(const struct volume *volume, uint32_t ino)
{
	if (ino < volume->geometry.first_inode)
		return ino != EXT2_ROOT_INO;
	for (size_t n = 0; n < sizeof(volume->own_inodes) / sizeof(*volume->own_inodes); n++)
		if (ino == volume->own_inodes[n])
			return true;
	return false;
}

bool volume_is_spent(const struct volume *volume)
{
	const struct read_budget *budget = volume->budget;

	return budget && (__atomic_load_n(&budget->read_bytes, __ATOMIC_RELAXED) >= budget->most_bytes ||
	                  seconds_of(CLOCK_MONOTONIC) >= budget->end);
}

static size_t common_divisor(size_t a, size_t b)
{
	return b ? common_divisor(b, a % b) : a;
}

size_t volume_spread(const struct volume *volume, size_t index, size_t count)
{
	/* Steps of the golden ratio fill a circle evenly. A step without a common divisor comes everywhere. */
	size_t step = (size_t)((double)count * 0.6180339887) | 1;

	if (!volume->budget)
		return index;
	while (common_divisor(step, count) > 1)
		step += 2;
	return (size_t)((unsigned __int128)index * step % count);
}

static errcode_t read_in_place(void *context, uint64_t offset_bytes, void *buffer, size_t bytes)
{
	const struct volume *volume = context;

	return whole_read(volume->descriptor, buffer, bytes, volume->offset_bytes + offset_bytes);
}

struct journal_source volume_in_place(const struct volume *volume)
{
	return (struct journal_source){
		.read = read_in_place,
		.context = (void *)volume,
		.path = volume->path,
		.block_bytes = volume->format.block_bytes,
	};
}

errcode_t volume_read(const struct volume *volume, uint64_t block, uint64_t count, void *bytes)
{
	uint64_t at = volume->offset_bytes + (block << volume->format.block_bits);
	errcode_t error = whole_read(volume->descriptor, bytes, count << volume->format.block_bits, at);

	if (volume->budget)
		__atomic_add_fetch(&volume->budget->read_bytes, count << volume->format.block_bits, __ATOMIC_RELAXED);
	if (!error && volume->overlay) {
		const struct journal_source source = volume_in_place(volume);

		error = journal_overlay_apply(volume->overlay, &source, block, count, bytes);
	}
	return error == ENODATA ? EXT2_ET_SHORT_READ : error;
}

bool volume_is_in_place(const struct volume *volume, uint64_t block, uint64_t count)
{
	return !volume->overlay || !journal_overlay_has(volume->overlay, block, count);
}

errcode_t volume_find_inode(const struct volume *volume, uint32_t ino, struct inode_place *place)
{
	const struct geometry *geometry = &volume->geometry;

	if (!ino || ino > volume->inodes || (ino - 1) / geometry->inodes_per_group >= geometry->groups)
		return EXT2_ET_BAD_INODE_NUM;
	uint64_t table = volume->group[(ino - 1) / geometry->inodes_per_group].inode_table;
	uint64_t offset = (uint64_t)((ino - 1) % geometry->inodes_per_group) * volume->format.inode_bytes;
	uint64_t index = offset >> geometry->block_bits;

	if (!table)
		return EXT2_ET_BAD_INODE_NUM;
	*place = (struct inode_place){
		.block = table + index,
		.table_blocks = volume->inode_table_blocks - index,
		.offset_bytes = (uint32_t)(offset & (volume->format.block_bytes - 1)),
	};
	return 0;
}

errcode_t volume_read_inode(const struct volume *volume, uint32_t ino, void *bytes, struct inode_view *inode)
{
	struct inode_place place;
	errcode_t error = volume_find_inode(volume, ino, &place);

	if (error)
		return error;
	SCOPE_FREE uint8_t *block = malloc(volume->format.block_bytes);

	error = block ? volume_read(volume, place.block, 1, block) : ENOMEM;
	if (error)
		return error;
	memcpy(bytes, block + place.offset_bytes, volume->format.inode_bytes);
	inode_view_read(&volume->format, bytes, inode);
	return 0;
}

void volume_expect(const struct volume *volume, uint64_t block, uint64_t count)
{
	posix_fadvise(volume->descriptor, (off_t)(volume->offset_bytes + (block << volume->format.block_bits)),
	              (off_t)(count << volume->format.block_bits), POSIX_FADV_WILLNEED);
}
