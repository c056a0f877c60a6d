/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encrypted inodes are carried as they are. Their context, an xattr that no system call shows, tells how they are
 * encrypted. The formats are those of the kernel's fs/crypto.
 */
#include "source/image/image_scan.h"

#include <endian.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>

#include "support/crc32c.h"

#define NONCE_BYTES 16 /* each context ends with the nonce */
#define MOST_CONTEXT_BYTES 40
#define FLAGS_OFFSET 3

/*
 * Flags of policies: two bits for the padding of names, and bits that tell from what initialisation vectors are made.
 */
#define FLAG_DIRECT_KEY 0x04u      /* the nonce */
#define FLAG_INODE_AND_BLOCK 0x08u /* the inode number, and keys of the filesystem's UUID: IV_INO_LBLK_64 */
#define FLAG_INODE_OR_BLOCK 0x10u  /* the same, hashed: IV_INO_LBLK_32 */
#define FLAGS_OF_NUMBERS (FLAG_INODE_AND_BLOCK | FLAG_INODE_OR_BLOCK)
#define FLAGS_OF_PADDING 0x03u

/* The size of a context of each version, and the flags that it may have; 0 bytes: we do not know the version. */
static const struct {
	uint8_t bytes, flags;
} versions[] = {
	[1] = { 28, FLAGS_OF_PADDING | FLAG_DIRECT_KEY },
	[2] = { MOST_CONTEXT_BYTES, FLAGS_OF_PADDING | FLAG_DIRECT_KEY | FLAGS_OF_NUMBERS },
};

void image_read_policy(struct image_inode *inode, const uint8_t *context, uint32_t bytes)
{
	const uint8_t version = bytes ? context[0] : 0;

	if (version && (version >= sizeof(versions) / sizeof(*versions) ||
	                (bytes > FLAGS_OFFSET && (context[FLAGS_OFFSET] & ~versions[version].flags)))) {
		inode->refusal = IMAGE_UNKNOWN_POLICY;
		inode->policy = 1;
		return;
	}
	if (!version || bytes != versions[version].bytes)
		return;
	/* Inodes of the same policy have the same hash. A hash that is not 0 says that there is a policy. */
	inode->policy = crc32c(UINT32_MAX, context, bytes - NONCE_BYTES) | 1u << 31;
	inode->keeps_number = context[FLAGS_OFFSET] & FLAGS_OF_NUMBERS;
}

bool image_take_encryption(const struct image_scan *scan, struct image_worker *worker, struct image_inode *inode)
{
	const uint16_t type = inode->node.mode & S_IFMT;

	if (!(inode->flags & EXT4_ENCRYPT_FL))
		return true;
	if (!scan->options->takes_encrypted)
		return false;
	/* Only files of these types are ever encrypted; on others the flag means nothing. */
	inode->node.is_encrypted = type == S_IFREG || type == S_IFDIR || type == S_IFLNK;
	worker->met_encrypted = true;
	/* The kernel never stores an encrypted file's data inline. */
	if (inode->node.is_encrypted && (inode->flags & EXT4_INLINE_DATA_FL))
		damage_tell(&worker->damage, inode->ino, 0, "inline data of an encrypted file");
	return true;
}

bool image_is_encrypted_target(const char *target, size_t bytes)
{
	uint16_t length;

	/* The kernel pads a path of 4095 bytes to 4096. */
	if (bytes <= sizeof(length) || bytes > PATH_MAX + sizeof(length))
		return false;
	memcpy(&length, target, sizeof(length));
	return le16toh(length) == bytes - sizeof(length);
}

const char *image_entry_misfit(const struct image_scan *scan, uint32_t directory, const struct image_entry *entry)
{
	const struct image_inode *parent = scan->directories[directory].inode, *inode = entry->inode;
	const uint16_t type = inode->node.mode & S_IFMT;

	if (!image_is_encrypted(parent))
		return inode->node.is_encrypted && directory == ASCEND_ROOT && !strcmp(entry->name, "lost+found") ?
		               "e2fsck(8) accepts no lost+found that is encrypted: leave it out with --exclude" :
		               NULL;
	/* Files of other types are never encrypted. */
	if (type != S_IFREG && type != S_IFDIR && type != S_IFLNK)
		return NULL;
	if (!inode->node.is_encrypted)
		return "it is not encrypted, and its directory is; e2fsck(8) may mend it";
	return inode->policy == parent->policy ? NULL :
	                                         "it is encrypted in another way than its directory; e2fsck(8) may "
	                                         "mend it";
}
