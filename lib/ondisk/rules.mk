# SPDX-License-Identifier: LGPL-2.1-or-later
ondisk_sources := \
	lib/ondisk/directory.c \
	lib/ondisk/directory_block.c \
	lib/ondisk/directory_index.c \
	lib/ondisk/directory_order.c \
	lib/ondisk/entry_block.c \
	lib/ondisk/dm_verity.c \
	lib/ondisk/file_map.c \
	lib/ondisk/format.c \
	lib/ondisk/inline_data.c \
	lib/ondisk/hash_tree.c \
	lib/ondisk/index_block.c \
	lib/ondisk/inode.c \
	lib/ondisk/inode_change.c \
	lib/ondisk/inode_decode.c \
	lib/ondisk/inode_release.c \
	lib/ondisk/inode_store.c \
	lib/ondisk/journal_block.c \
	lib/ondisk/journal_view.c \
	lib/ondisk/map_cut.c \
	lib/ondisk/map_scan.c \
	lib/ondisk/orphan_block.c \
	lib/ondisk/owned_inode.c \
	lib/ondisk/posix_acl.c \
	lib/ondisk/quota_change.c \
	lib/ondisk/quota_file.c \
	lib/ondisk/quota_tree.c \
	lib/ondisk/usage_by_id.c \
	lib/ondisk/verity.c \
	lib/ondisk/views.c \
	lib/ondisk/xattr.c \
	lib/ondisk/xattr_read.c \
	lib/ondisk/xattr_share.c
