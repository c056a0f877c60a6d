/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A quota file as ext4 has it (feature quota; the format that quota tools call vfsv1): usage by id in, bytes out. Pure:
 * no I/O, no locks. Form and magic numbers are those of Documentation/filesystems/quota.rst and of quota(5)'s tools.
 *
 * The file consists of blocks of 1 KiB, whatever the filesystem's. The first is a header. The second is the root of a
 * tree of four levels, one for each byte of the id, whose blocks are 256 numbers of blocks. Below the tree are blocks
 * of 14 entries. Any entry may be in any of these: the tree leads to the block, which is searched for the id.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define QUOTA_BLOCK_BYTES 1024

/* In the superblock's order, with the kernel's numbers. */
enum quota_type {
	QUOTA_OF_USERS,
	QUOTA_OF_GROUPS,
	QUOTA_OF_PROJECTS,
	QUOTA_TYPES,
};

/* The usage of an owner. An owner that uses nothing has no entry. */
struct quota_entry {
	uint32_t id;
	uint64_t inodes;
	uint64_t space_bytes;
};

/* Returns the file's size in bytes; entries ascend by id. At least two blocks. Linear. */
uint64_t quota_file_bytes(const struct quota_entry *entries, size_t count);

/*
 * Writes the whole file, quota_file_bytes() of it. No owner has a limit, and the times of grace are a week, as
 * mke2fs(8) makes them. Blocks are numbered in the order in which ids that ascend need them, so equal usage gives equal
 * bytes.
 */
void quota_file_encode(enum quota_type type, const struct quota_entry *entries, size_t count, void *bytes);
