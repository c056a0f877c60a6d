/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The orphan file and the superblock's list on disk. fs_orphan.c, fs_access.c and fs_orphan_release.c, besides the
 * files that fs_state.h names, use libext2fs's filesystem: inodes, fs->io and, in the superblock, s_last_orphan and
 * ORPHAN_PRESENT. io_lock is held around every call of libext2fs; with an attached allocator it is fs_state.h's.
 */
#pragma once

#include <pthread.h>

#include <ext2fs/ext2fs.h>

#include "orphan/orphan_list.h"
#include "orphan/orphan_message.h"
#include "ondisk/format.h"

struct fs_orphan {
	ext2_filsys fs;
	pthread_mutex_t *io_lock;
	struct ondisk_format format;
	uint32_t blocks; /* of the orphan file; 0: there is none */
	uint32_t file_ino;
	uint32_t file_seed; /* of its blocks' checksums */
	uint64_t *physical; /* its blocks' numbers in the filesystem */
	uint8_t *buffer;    /* one block */
};

/*
 * Finds the file's blocks. EXT2MB_ET_NEEDS_RECOVERY, EXT2MB_ET_BAD_GEOMETRY, EXT2MB_ET_ORPHAN_FILE, _TOO_BIG, _HOLE,
 * ENOMEM, libext2fs's errors; why names what is wrong. On error nothing is to be closed.
 */
MUST_CHECK errcode_t fs_orphan_open(struct fs_orphan *state, ext2_filsys fs, pthread_mutex_t *io_lock,
                                    const struct orphan_message *why);
void fs_orphan_close(struct fs_orphan *state);

/* Reads one block's entries. EXT2MB_ET_ORPHAN_MAGIC, _CHECKSUM, errors in reading. */
MUST_CHECK errcode_t fs_orphan_read_block(struct fs_orphan *state, uint32_t block, uint32_t *entries,
                                          const struct orphan_message *why);
MUST_CHECK errcode_t fs_orphan_write_block(struct fs_orphan *state, uint32_t block, const uint32_t *entries);

/* Loads the superblock's list. EXT2MB_ET_ORPHAN_LIST, ENOMEM, errors in reading. */
MUST_CHECK errcode_t fs_orphan_read_list(struct fs_orphan *state, struct orphan_list *list,
                                         const struct orphan_message *why);

/* Writes the i_dtimes that have changed, then s_last_orphan. */
MUST_CHECK errcode_t fs_orphan_write_list(struct fs_orphan *state, struct orphan_list *list);

/* Sets or clears ORPHAN_PRESENT, which says whether the file has entries on disk. */
void fs_orphan_mark_present(struct fs_orphan *state, bool has_entries);

/* The present time as libext2fs has it (fs->now). */
uint32_t fs_orphan_now(ext2_filsys fs);
