# SPDX-License-Identifier: LGPL-2.1-or-later
# libext2mb is what lies here and in lib/transaction, lib/allocator and lib/orphan: one archive.
ext2mb_sources := \
	lib/ext2fs/messages.c \
	lib/ext2fs/process_claim.c \
	lib/ext2fs/sized_struct.c
