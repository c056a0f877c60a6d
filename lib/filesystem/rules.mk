# SPDX-License-Identifier: LGPL-2.1-or-later
filesystem_sources := \
	lib/filesystem/fs_access.c \
	lib/filesystem/fs_errors.c \
	lib/filesystem/fs_zones.c
