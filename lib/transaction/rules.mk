# SPDX-License-Identifier: LGPL-2.1-or-later
ext2mb_sources += \
	lib/transaction/access.c \
	lib/transaction/block_ranges.c \
	lib/transaction/block_writer.c \
	lib/transaction/channel.c \
	lib/transaction/commit.c \
	lib/transaction/committed_bitmap.c \
	lib/transaction/data_claims.c \
	lib/transaction/data_writes.c \
	lib/transaction/freed.c \
	lib/transaction/held_blocks.c \
	lib/transaction/journal.c \
	lib/transaction/layout.c \
	lib/transaction/preview.c \
	lib/transaction/rehearsal.c \
	lib/transaction/replay.c \
	lib/transaction/start.c \
	lib/transaction/superblock.c \
	lib/transaction/transaction.c \
	lib/transaction/undo.c
