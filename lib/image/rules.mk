# SPDX-License-Identifier: GPL-2.0-or-later
image_sources := \
	lib/image/block_bitmaps.c \
	lib/image/contents.c \
	lib/image/delta.c \
	lib/image/directory_walk.c \
	lib/image/inode.c \
	lib/image/inode_table.c \
	lib/image/inode_window.c \
	lib/image/lookup.c \
	lib/image/map_walk.c \
	lib/image/mounts.c \
	lib/image/orphans.c \
	lib/image/replayed.c \
	lib/image/run_writer.c \
	lib/image/target.c \
	lib/image/transaction_sink.c \
	lib/image/volume.c \
	lib/image/volume_channel.c \
	lib/image/volume_open.c \
	lib/image/xattrs.c
