// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/mtree/mtree_entry.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct tree_node mtree_plain_node(uint32_t type, int64_t mtime_seconds, uint32_t mtime_nanoseconds)
{
	uint32_t permissions = type == S_IFDIR ? 0755 : type == S_IFLNK ? 0777 : 0644;

	return (struct tree_node){
		.mode = (uint16_t)(type | permissions),
		.mtime_seconds = mtime_seconds,
		.mtime_nanoseconds = mtime_nanoseconds,
	};
}

static bool is_device(uint32_t mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

errcode_t mtree_entry_apply(const struct mtree_entry *entry, struct arena *memory, struct tree_node *node)
{
	if (entry->given & MTREE_MODE)
		node->mode = (uint16_t)((node->mode & S_IFMT) | entry->permissions);
	if (entry->given & MTREE_UID)
		node->uid = entry->uid;
	if (entry->given & MTREE_GID)
		node->gid = entry->gid;
	if (entry->given & MTREE_FLAGS) {
		node->flags = entry->flags;
		node->has_flags = true;
	}
	if (entry->given & MTREE_TIME) {
		node->mtime_seconds = entry->mtime_seconds;
		node->mtime_nanoseconds = entry->mtime_nanoseconds;
	}
	if ((entry->given & MTREE_DEVICE) && is_device(node->mode)) {
		node->device.major = entry->major;
		node->device.minor = entry->minor;
	}
	if ((entry->given & MTREE_LINK) && S_ISLNK(node->mode)) {
		node->size_bytes = strlen(entry->target);
		node->target = arena_copy_string(memory, entry->target, node->size_bytes);
		if (!node->target)
			return ENOMEM;
	}
	return 0;
}

const char *mtree_entry_lacks(const struct mtree_entry *entry, uint32_t type)
{
	if (type == S_IFLNK && !(entry->given & MTREE_LINK))
		return "has no link=";
	return is_device(type) && !(entry->given & MTREE_DEVICE) ? "has no device=" : NULL;
}
