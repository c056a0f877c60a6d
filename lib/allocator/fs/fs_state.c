/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/fs/fs_state.h"

#include <errno.h>
#include <string.h>

#include "support/bits.h"
#include "ext2fs/ext2mb.h"
#include "filesystem/fs_zones.h"

/* All open allocators. A handle of libext2fs has no field that could say that it has one. */
static struct {
	pthread_mutex_t lock;
	struct fs_state *first;
} open_states = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * An allocator whose handle was freed while its hooks were installed is not told. A new handle at the same address has
 * no hooks, which shows it.
 */
static bool is_of(const struct fs_state *state, ext2_filsys fs)
{
	return state->fs == fs && (!state->follows_map || fs->get_alloc_block2);
}

static errcode_t enter(struct fs_state *state)
{
	pthread_mutex_lock(&open_states.lock);
	const struct fs_state *other = open_states.first;

	while (other && !is_of(other, state->fs))
		other = other->next;
	if (!other) {
		state->next = open_states.first;
		open_states.first = state;
	}
	pthread_mutex_unlock(&open_states.lock);
	return other ? EXT2MB_ET_ATTACHED : 0;
}

static void leave(const struct fs_state *state)
{
	pthread_mutex_lock(&open_states.lock);
	struct fs_state **link = &open_states.first;

	while (*link != state)
		link = &(*link)->next;
	*link = state->next;
	pthread_mutex_unlock(&open_states.lock);
}

/* That of an allocator which libext2fs's own calls do not change. */
static const struct fs_state *find_own(ext2_filsys fs)
{
	pthread_mutex_lock(&open_states.lock);
	const struct fs_state *state = open_states.first;

	while (state && (state->follows_map || state->fs != fs))
		state = state->next;
	pthread_mutex_unlock(&open_states.lock);
	return state;
}

errcode_t fs_state_sync_allocator(ext2_filsys fs)
{
	const struct fs_state *state = find_own(fs);

	return state ? state->sync(state->mb) : 0;
}

uint64_t fs_state_sync_blocks(ext2_filsys fs)
{
	const struct fs_state *state = find_own(fs);

	return state ? state->most_blocks(state->mb) : 0;
}

static errcode_t read_geometry(ext2_filsys fs, struct geometry *geometry)
{
	const struct ext2_super_block *super = fs->super;
	unsigned int block_bits = EXT2_BLOCK_SIZE_BITS(super);
	uint64_t bits_per_block = UINT64_C(8) << block_bits;
	uint64_t blocks = ext2fs_blocks_count(fs->super);

	if (block_bits < EXT2_MIN_BLOCK_LOG_SIZE || block_bits > EXT2_MAX_BLOCK_LOG_SIZE ||
	    super->s_first_data_block >= blocks || fs->cluster_ratio_bits < 0 || fs->cluster_ratio_bits > 20)
		return EXT2MB_ET_BAD_GEOMETRY;

	*geometry = (struct geometry){
		.first_block = super->s_first_data_block,
		.end_block = blocks,
		.groups = fs->group_desc_count,
		.clusters_per_group = super->s_clusters_per_group,
		.inodes_per_group = super->s_inodes_per_group,
		.first_inode = EXT2_FIRST_INODE(super),
		.flex_groups = 1,
		.cluster_bits = (unsigned int)fs->cluster_ratio_bits,
		.block_bits = block_bits,
	};
	uint64_t data_blocks = blocks - geometry->first_block;
	geometry->clusters = geometry_to_clusters(geometry, data_blocks);
	if (geometry_to_blocks(geometry, geometry->clusters) != data_blocks)
		return EXT2MB_ET_BAD_GEOMETRY;

	uint64_t per_group = geometry->clusters_per_group;
	if (!per_group || per_group % 8 || per_group > bits_per_block ||
	    geometry_to_blocks(geometry, per_group) != super->s_blocks_per_group ||
	    geometry->groups != (geometry->clusters + per_group - 1) / per_group)
		return EXT2MB_ET_BAD_GEOMETRY;
	if (geometry->first_inode < EXT2_GOOD_OLD_FIRST_INO || !geometry->inodes_per_group ||
	    geometry->inodes_per_group % 8 || geometry->inodes_per_group > bits_per_block ||
	    (uint64_t)geometry->inodes_per_group * geometry->groups != super->s_inodes_count)
		return EXT2MB_ET_BAD_GEOMETRY;
	if (ext2fs_has_feature_flex_bg(fs->super) && super->s_log_groups_per_flex < 32)
		geometry->flex_groups = 1u << super->s_log_groups_per_flex;
	return 0;
}

errcode_t fs_state_open(struct fs_state *state, ext2_filsys fs, bool follows_map)
{
	*state = (struct fs_state){
		.fs = fs,
		.follows_map = follows_map,
		.has_descriptor_checksums = ext2fs_has_group_desc_csum(fs),
	};
	/* A later replay of the journal would restore old bitmaps. */
	if (fs->flags & EXT2_FLAG_RW && ext2fs_has_feature_journal_needs_recovery(fs->super))
		return EXT2MB_ET_NEEDS_RECOVERY;
	errcode_t error = read_geometry(fs, &state->geometry);
	if (error)
		return error;

	state->suspect = calloc(bits_words(state->geometry.groups), sizeof(uint64_t));
	if (!state->suspect)
		return ENOMEM;
	error = fs_zones_find(fs, &state->geometry, &state->zones, state->suspect);
	if (!error) {
		error = enter(state);
		if (error)
			fs_zones_free(&state->zones);
	}
	if (error) {
		free(state->suspect);
		return error;
	}
	pthread_mutex_init(&state->lock, NULL);
	return 0;
}

void fs_state_close(struct fs_state *state)
{
	leave(state);
	pthread_mutex_destroy(&state->lock);
	fs_zones_free(&state->zones);
	free(state->suspect);
}

struct stripe fs_state_stripe(const struct fs_state *state, uint32_t asked)
{
	const struct ext2_super_block *super = state->fs->super;
	struct stripe stripe = stripe_of(asked ? asked : super->s_raid_stripe_width, &state->geometry);

	return asked || stripe.blocks ? stripe : stripe_of(super->s_raid_stride, &state->geometry);
}

errcode_t fs_state_counts(const struct fs_state *state, uint32_t group, struct group_counts *counts)
{
	uint32_t inodes = state->geometry.inodes_per_group;

	*counts = (struct group_counts){
		.free_clusters = ext2fs_bg_free_blocks_count(state->fs, group),
		.free_inodes = ext2fs_bg_free_inodes_count(state->fs, group),
		.directories = ext2fs_bg_used_dirs_count(state->fs, group),
	};
	if (state->has_descriptor_checksums)
		counts->unused_inodes = ext2fs_bg_flags_test(state->fs, group, EXT2_BG_INODE_UNINIT) ?
		                                inodes :
		                                ext2fs_bg_itable_unused(state->fs, group);
	if (state->follows_map && counts->free_clusters > geometry_group_clusters(&state->geometry, group))
		counts->free_clusters = geometry_group_clusters(&state->geometry, group);
	if (bits_test(state->suspect, group) || counts->free_inodes > inodes || counts->unused_inodes > inodes ||
	    counts->free_clusters > geometry_group_clusters(&state->geometry, group) ||
	    counts->directories > inodes - counts->free_inodes)
		return EXT2MB_ET_CORRUPT_GROUP;
	return 0;
}

static bool is_uninitialised(const struct fs_state *state, uint32_t group, uint16_t flag)
{
	return state->has_descriptor_checksums && ext2fs_bg_flags_test(state->fs, group, flag);
}

bool fs_state_is_block_uninit(const struct fs_state *state, uint32_t group)
{
	return is_uninitialised(state, group, EXT2_BG_BLOCK_UNINIT);
}

uint32_t fs_state_hash_name(const struct fs_state *state, const char *name)
{
	ext2_dirhash_t hash = 0, minor;

	/* This fails only for other versions of the structure. */
	if (ext2fs_dirhash(EXT2_HASH_HALF_MD4, name, (int)strlen(name), state->fs->super->s_hash_seed, &hash, &minor))
		return 0;
	return hash;
}

static bool trusts_checksums(const struct fs_state *state)
{
	return !(state->fs->flags & EXT2_FLAG_IGNORE_CSUM_ERRORS);
}

static errcode_t read_bitmap(struct fs_state *state, uint64_t block, uint64_t *words)
{
	pthread_mutex_lock(&state->lock);
	errcode_t error = io_channel_read_blk64(state->fs->io, block, 1, words);
	pthread_mutex_unlock(&state->lock);
	return error ? EXT2MB_ET_CORRUPT_GROUP : 0;
}

/* This needs the lock, since libext2fs clears the checksum in the descriptor while it computes it. */
static bool is_descriptor_right(struct fs_state *state, uint32_t group)
{
	if (!trusts_checksums(state))
		return true;
	pthread_mutex_lock(&state->lock);
	bool is_right = ext2fs_group_desc_csum_verify(state->fs, group);
	pthread_mutex_unlock(&state->lock);
	return is_right;
}

/* The first bit of the group's clusters in libext2fs's own bitmap. */
static uint64_t first_bit(const struct fs_state *state, uint32_t group)
{
	const struct geometry *geometry = &state->geometry;

	return geometry_to_clusters(geometry, geometry->first_block) + (uint64_t)group * geometry->clusters_per_group;
}

static errcode_t read_block_bitmap(struct fs_state *state, uint32_t group, uint64_t *words)
{
	const struct geometry *geometry = &state->geometry;
	size_t bytes = geometry->clusters_per_group / 8;

	if (state->fs->block_map) {
		pthread_mutex_lock(&state->lock);
		errcode_t error = ext2fs_get_block_bitmap_range2(state->fs->block_map, first_bit(state, group),
		                                                 geometry_group_clusters(geometry, group), words);
		pthread_mutex_unlock(&state->lock);
		return error ? EXT2MB_ET_CORRUPT_GROUP : 0;
	}
	errcode_t error = read_bitmap(state, ext2fs_block_bitmap_loc(state->fs, group), words);
	if (error)
		return error;
	if (trusts_checksums(state) && !ext2fs_block_bitmap_csum_verify(state->fs, group, (char *)words, (int)bytes))
		return EXT2MB_ET_CORRUPT_GROUP;
	return 0;
}

/*
 * The descriptors follow the map only at the end of each call, and not at all if a program marks blocks by itself. The
 * last cluster is held back: before 1.47.4 ext2fs_punch() fails for extents that end there.
 */
static errcode_t follow_map(struct fs_state *state, uint32_t group, uint64_t *words)
{
	errcode_t error = state->fs->block_map ? read_block_bitmap(state, group, words) : EXT2MB_ET_CORRUPT_GROUP;

	if (error)
		return error;
	uint32_t clusters = geometry_group_clusters(&state->geometry, group);
	bits_from_disk(words, geometry_block_bytes(&state->geometry) / sizeof(*words));
	for (struct zone_walk walk = { 0 }; fs_zones_next(&state->zones, &state->geometry, group, &walk);)
		bits_set_range(words, walk.from, walk.end);
	if (group + 1 == state->geometry.groups)
		bits_set_range(words, clusters - 1, clusters);
	return 0;
}

errcode_t fs_state_read_blocks(struct fs_state *state, uint32_t group, uint64_t *words)
{
	uint32_t clusters = geometry_group_clusters(&state->geometry, group);

	memset(words, 0, geometry_block_bytes(&state->geometry));
	if (state->follows_map)
		return follow_map(state, group, words);
	if (!is_descriptor_right(state, group))
		return EXT2MB_ET_CORRUPT_GROUP;
	if (is_uninitialised(state, group, EXT2_BG_BLOCK_UNINIT)) {
		for (struct zone_walk walk = { 0 }; fs_zones_next(&state->zones, &state->geometry, group, &walk);)
			bits_set_range(words, walk.from, walk.end);
	} else {
		errcode_t error = read_block_bitmap(state, group, words);
		if (error)
			return error;
		bits_from_disk(words, geometry_block_bytes(&state->geometry) / sizeof(*words));
		for (struct zone_walk walk = { 0 }; fs_zones_next(&state->zones, &state->geometry, group, &walk);)
			if (bits_next_zero(words, walk.from, walk.end) != walk.end)
				return EXT2MB_ET_CORRUPT_GROUP;
	}
	if (clusters - bits_count(words, 0, clusters) != ext2fs_bg_free_blocks_count(state->fs, group))
		return EXT2MB_ET_CORRUPT_GROUP;
	return 0;
}

static errcode_t read_inode_bitmap(struct fs_state *state, uint32_t group, uint64_t *words)
{
	uint32_t inodes = state->geometry.inodes_per_group;

	if (state->fs->inode_map) {
		pthread_mutex_lock(&state->lock);
		errcode_t error = ext2fs_get_inode_bitmap_range2(state->fs->inode_map, 1 + (uint64_t)group * inodes,
		                                                 inodes, words);
		pthread_mutex_unlock(&state->lock);
		return error ? EXT2MB_ET_CORRUPT_GROUP : 0;
	}
	/* The bitmap is a whole block on disk; only its first bytes are kept. */
	SCOPE_FREE uint64_t *block = malloc(geometry_block_bytes(&state->geometry));
	if (!block)
		return ENOMEM;
	errcode_t error = read_bitmap(state, ext2fs_inode_bitmap_loc(state->fs, group), block);
	if (error)
		return error;
	memcpy(words, block, (inodes + 7) / 8);
	if (trusts_checksums(state) &&
	    !ext2fs_inode_bitmap_csum_verify(state->fs, group, (char *)block, (int)(inodes / 8)))
		return EXT2MB_ET_CORRUPT_GROUP;
	return 0;
}

errcode_t fs_state_read_inodes(struct fs_state *state, uint32_t group, uint64_t *words)
{
	uint32_t inodes = state->geometry.inodes_per_group;

	memset(words, 0, bits_words(inodes) * sizeof(*words));
	if (!is_descriptor_right(state, group))
		return EXT2MB_ET_CORRUPT_GROUP;
	if (!is_uninitialised(state, group, EXT2_BG_INODE_UNINIT)) {
		errcode_t error = read_inode_bitmap(state, group, words);
		if (error)
			return error;
		bits_from_disk(words, bits_words(inodes));
	}
	if (inodes - bits_count(words, 0, inodes) != ext2fs_bg_free_inodes_count(state->fs, group))
		return EXT2MB_ET_CORRUPT_GROUP;
	return 0;
}

/* Checksums are computed here and nowhere else: 2.1 us for 4 KiB would be most of an allocation's time. */

static errcode_t write_bitmap(struct fs_state *state, uint64_t block, const uint64_t *bitmap, uint32_t bits,
                              uint8_t *buffer)
{
	memset(buffer, 0xff, geometry_block_bytes(&state->geometry));
	bits_to_disk(buffer, bitmap, bits / 8);
	return io_channel_write_blk64(state->fs->io, block, 1, buffer);
}

static errcode_t write_block_bitmap(struct fs_state *state, uint32_t group, const uint64_t *bitmap, uint8_t *buffer)
{
	const struct geometry *geometry = &state->geometry;
	ext2_filsys fs = state->fs;
	uint32_t bits = geometry->clusters_per_group;
	errcode_t error = write_bitmap(state, ext2fs_block_bitmap_loc(fs, group), bitmap, bits, buffer);

	if (!error)
		error = ext2fs_block_bitmap_csum_set(fs, group, (char *)buffer, (int)(bits / 8));
	if (error || !fs->block_map)
		return error;
	return ext2fs_set_block_bitmap_range2(fs->block_map, first_bit(state, group),
	                                      geometry_group_clusters(geometry, group), buffer);
}

static errcode_t write_inode_bitmap(struct fs_state *state, uint32_t group, const uint64_t *bitmap, uint8_t *buffer)
{
	ext2_filsys fs = state->fs;
	uint32_t inodes = state->geometry.inodes_per_group;
	errcode_t error = write_bitmap(state, ext2fs_inode_bitmap_loc(fs, group), bitmap, inodes, buffer);

	if (!error)
		error = ext2fs_inode_bitmap_csum_set(fs, group, (char *)buffer, (int)(inodes / 8));
	if (error || !fs->inode_map)
		return error;
	return ext2fs_set_inode_bitmap_range2(fs->inode_map, 1 + (uint64_t)group * inodes, inodes, buffer);
}

errcode_t fs_state_write_group(struct fs_state *state, uint32_t group, const uint64_t *block_bitmap,
                               const uint64_t *inode_bitmap, const struct group_counts *counts, uint8_t *buffer)
{
	ext2_filsys fs = state->fs;

	if (block_bitmap) {
		errcode_t error = write_block_bitmap(state, group, block_bitmap, buffer);
		if (error)
			return error;
		ext2fs_bg_free_blocks_count_set(fs, group, counts->free_clusters);
		ext2fs_bg_flags_clear(fs, group, EXT2_BG_BLOCK_UNINIT);
	}
	if (inode_bitmap) {
		errcode_t error = write_inode_bitmap(state, group, inode_bitmap, buffer);
		if (error)
			return error;
		ext2fs_bg_free_inodes_count_set(fs, group, counts->free_inodes);
		ext2fs_bg_used_dirs_count_set(fs, group, counts->directories);
		if (state->has_descriptor_checksums)
			ext2fs_bg_itable_unused_set(fs, group, counts->unused_inodes);
		ext2fs_bg_flags_clear(fs, group, EXT2_BG_INODE_UNINIT);
	}
	ext2fs_group_desc_csum_set(fs, group);
	return 0;
}

void fs_state_write_totals(struct fs_state *state)
{
	ext2_filsys fs = state->fs;
	uint64_t free_clusters = 0;
	uint64_t free_inodes = 0;

	for (uint32_t group = 0; group < state->geometry.groups; group++) {
		free_clusters += ext2fs_bg_free_blocks_count(fs, group);
		free_inodes += ext2fs_bg_free_inodes_count(fs, group);
	}
	ext2fs_free_blocks_count_set(fs->super, geometry_to_blocks(&state->geometry, free_clusters));
	fs->super->s_free_inodes_count = (uint32_t)free_inodes;
	fs->flags &= ~EXT2_FLAG_SUPER_ONLY;
	ext2fs_mark_super_dirty(fs);
}

bool fs_state_is_metadata(const struct fs_state *state, uint64_t start, uint64_t count)
{
	return fs_zones_overlap(&state->zones, start, count);
}

static bool find_run(ext2fs_block_bitmap map, bool is_marked, uint64_t from, uint64_t end, uint64_t *start,
                     uint64_t *stop)
{
	blk64_t found;
	errcode_t error = is_marked ? ext2fs_find_first_set_block_bitmap2(map, from, end - 1, &found) :
	                              ext2fs_find_first_zero_block_bitmap2(map, from, end - 1, &found);

	if (error)
		return false;
	*start = found > from ? found : from;
	error = is_marked ? ext2fs_find_first_zero_block_bitmap2(map, *start, end - 1, &found) :
	                    ext2fs_find_first_set_block_bitmap2(map, *start, end - 1, &found);
	*stop = error ? end : found;
	return true;
}

/* The bitmap remembers its last lookup, so only one thread at a time may even read it. */
bool fs_state_find_run(struct fs_state *state, bool is_marked, uint64_t from, uint64_t end, uint64_t *start,
                       uint64_t *stop)
{
	pthread_mutex_lock(&state->lock);
	bool is_found = find_run(state->fs->block_map, is_marked, from, end, start, stop);
	pthread_mutex_unlock(&state->lock);
	return is_found;
}
