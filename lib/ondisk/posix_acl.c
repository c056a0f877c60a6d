/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/posix_acl.h"

#include <endian.h>
#include <errno.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdbool.h>
#include <string.h>

#define DISK_VERSION 1
#define TAGS_REQUIRED (ACL_USER_OBJ | ACL_GROUP_OBJ | ACL_OTHER)
#define TAGS_NAMED (ACL_USER | ACL_GROUP)
#define ALL_TAGS (TAGS_REQUIRED | TAGS_NAMED | ACL_MASK)
#define ALL_PERMISSIONS 7

struct disk_header {
	uint32_t version;
};

/* Entries without an id end before the id. */
struct disk_entry {
	uint16_t tag;
	uint16_t permissions;
	uint32_t id;
};

static struct posix_acl_xattr_entry entry_at(const void *value, uint32_t offset)
{
	struct posix_acl_xattr_entry entry;

	memcpy(&entry, (const uint8_t *)value + offset, sizeof(entry));
	return (struct posix_acl_xattr_entry){
		.e_tag = le16toh(entry.e_tag),
		.e_perm = le16toh(entry.e_perm),
		.e_id = le32toh(entry.e_id),
	};
}

static uint32_t disk_entry_bytes(uint16_t tag)
{
	return tag & TAGS_NAMED ? sizeof(struct disk_entry) : offsetof(struct disk_entry, id);
}

/* Tags must ascend; only named users and groups may repeat. */
static bool tag_may_follow(uint16_t tag, uint16_t previous)
{
	bool is_one_tag = tag != 0 && (tag & (tag - 1)) == 0 && (tag & ~ALL_TAGS) == 0;

	return is_one_tag && (tag > previous || (tag == previous && (tag & TAGS_NAMED)));
}

errcode_t posix_acl_measure(const void *value, uint32_t value_bytes, uint32_t *disk_bytes)
{
	struct posix_acl_xattr_header header;
	uint16_t previous = 0;
	uint16_t seen = 0;

	if (value_bytes <= sizeof(header) || (value_bytes - sizeof(header)) % sizeof(struct posix_acl_xattr_entry))
		return EINVAL;
	memcpy(&header, value, sizeof(header));
	if (le32toh(header.a_version) != POSIX_ACL_XATTR_VERSION)
		return EINVAL;

	*disk_bytes = sizeof(struct disk_header);
	for (uint32_t offset = sizeof(header); offset < value_bytes; offset += sizeof(struct posix_acl_xattr_entry)) {
		struct posix_acl_xattr_entry entry = entry_at(value, offset);

		if (!tag_may_follow(entry.e_tag, previous) || (entry.e_perm & ~ALL_PERMISSIONS))
			return EINVAL;
		if ((entry.e_tag & TAGS_NAMED) && entry.e_id == (uint32_t)ACL_UNDEFINED_ID)
			return EINVAL;
		previous = entry.e_tag;
		seen |= entry.e_tag;
		*disk_bytes += disk_entry_bytes(entry.e_tag);
	}
	if ((seen & TAGS_REQUIRED) != TAGS_REQUIRED || ((seen & TAGS_NAMED) && !(seen & ACL_MASK)))
		return EINVAL;
	return 0;
}

void posix_acl_encode(const void *value, uint32_t value_bytes, void *disk)
{
	struct disk_header header = { htole32(DISK_VERSION) };
	uint8_t *bytes = disk;

	memcpy(bytes, &header, sizeof(header));
	bytes += sizeof(header);
	for (uint32_t offset = sizeof(struct posix_acl_xattr_header); offset < value_bytes;
	     offset += sizeof(struct posix_acl_xattr_entry)) {
		struct posix_acl_xattr_entry entry = entry_at(value, offset);
		struct disk_entry raw = {
			.tag = htole16(entry.e_tag),
			.permissions = htole16(entry.e_perm),
			.id = htole32(entry.e_id),
		};
		uint32_t entry_bytes = disk_entry_bytes(entry.e_tag);

		memcpy(bytes, &raw, entry_bytes);
		bytes += entry_bytes;
	}
}

/* Reads the entry at *offset and advances it; false: the entry is cut off. */
static bool read_entry(const uint8_t *disk, uint32_t disk_bytes, uint32_t *offset, struct posix_acl_xattr_entry *entry)
{
	struct disk_entry raw = { .id = htole32((uint32_t)ACL_UNDEFINED_ID) };
	uint32_t left = disk_bytes - *offset;

	if (left < offsetof(struct disk_entry, id))
		return false;
	memcpy(&raw, disk + *offset, offsetof(struct disk_entry, id));
	uint32_t entry_bytes = disk_entry_bytes(le16toh(raw.tag));

	if (left < entry_bytes)
		return false;
	memcpy(&raw, disk + *offset, entry_bytes);
	*offset += entry_bytes;
	/* Both are little-endian. */
	*entry = (struct posix_acl_xattr_entry){ .e_tag = raw.tag, .e_perm = raw.permissions, .e_id = raw.id };
	return true;
}

errcode_t posix_acl_decode_measure(const void *disk, uint32_t disk_bytes, uint32_t *value_bytes)
{
	struct disk_header header;
	uint32_t offset = sizeof(header);

	if (disk_bytes <= sizeof(header))
		return EINVAL;
	memcpy(&header, disk, sizeof(header));
	if (le32toh(header.version) != DISK_VERSION)
		return EINVAL;
	*value_bytes = sizeof(struct posix_acl_xattr_header);
	while (offset < disk_bytes) {
		struct posix_acl_xattr_entry entry;

		if (!read_entry(disk, disk_bytes, &offset, &entry) || !tag_may_follow(le16toh(entry.e_tag), 0))
			return EINVAL;
		*value_bytes += sizeof(entry);
	}
	return 0;
}

void posix_acl_decode(const void *disk, uint32_t disk_bytes, void *value)
{
	struct posix_acl_xattr_header header = { htole32(POSIX_ACL_XATTR_VERSION) };
	struct posix_acl_xattr_entry entry;
	uint32_t offset = sizeof(struct disk_header);
	uint8_t *bytes = value;

	memcpy(bytes, &header, sizeof(header));
	bytes += sizeof(header);
	while (offset < disk_bytes && read_entry(disk, disk_bytes, &offset, &entry)) {
		memcpy(bytes, &entry, sizeof(entry));
		bytes += sizeof(entry);
	}
}
