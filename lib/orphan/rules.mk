# SPDX-License-Identifier: LGPL-2.1-or-later
ext2mb_sources += \
	lib/orphan/fs_orphan.c \
	lib/orphan/fs_orphan_release.c \
	lib/orphan/orphan_file.c \
	lib/orphan/orphan_list.c \
	lib/orphan/orphan_slots.c
