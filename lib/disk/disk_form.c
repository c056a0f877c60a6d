/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "disk/disk_form.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#define SUPERBLOCK_AT 1024u

static const struct {
	const char *magic, *name;
} forms[] = {
	[DISK_FILESYSTEM] = { "", "an image of ext2, ext3 or ext4" },
	[DISK_QCOW2] = { "QFI\xfb", "a qcow2 image" },
	[DISK_ANDROID_SPARSE] = { "\x3a\xff\x26\xed", "an Android sparse image" },
};

static uint64_t count_blocks(const struct ext2_super_block *super)
{
	bool has_more = le32toh(super->s_feature_incompat) & EXT4_FEATURE_INCOMPAT_64BIT;

	return le32toh(super->s_blocks_count) | (has_more ? (uint64_t)le32toh(super->s_blocks_count_hi) << 32 : 0);
}

uint64_t disk_form_filesystem_bytes(const struct ext2_super_block *super)
{
	uint32_t log_block = le32toh(super->s_log_block_size);
	uint64_t blocks = count_blocks(super);

	if (le16toh(super->s_magic) != EXT2_SUPER_MAGIC ||
	    log_block > EXT2_MAX_BLOCK_LOG_SIZE - EXT2_MIN_BLOCK_LOG_SIZE ||
	    blocks > UINT64_MAX >> (EXT2_MIN_BLOCK_LOG_SIZE + log_block) || le32toh(super->s_first_data_block) > 1 ||
	    !le32toh(super->s_blocks_per_group) || !le32toh(super->s_inodes_per_group) ||
	    le32toh(super->s_inodes_count) < le32toh(super->s_inodes_per_group))
		return 0;
	return blocks << (EXT2_MIN_BLOCK_LOG_SIZE + log_block);
}

enum disk_form disk_form_of(const uint8_t *bytes, size_t count)
{
	struct ext2_super_block super;

	if (count >= SUPERBLOCK_AT + sizeof(super)) {
		memcpy(&super, bytes + SUPERBLOCK_AT, sizeof(super));
		if (disk_form_filesystem_bytes(&super))
			return DISK_FILESYSTEM;
	}
	for (enum disk_form form = DISK_QCOW2; form <= DISK_ANDROID_SPARSE; form++)
		if (count >= strlen(forms[form].magic) && !memcmp(bytes, forms[form].magic, strlen(forms[form].magic)))
			return form;
	return DISK_NONE;
}

const char *disk_form_name(enum disk_form form)
{
	return forms[form].name;
}
