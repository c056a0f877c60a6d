# SPDX-License-Identifier: GPL-2.0-or-later
# The library that ext2mb-run preloads. The allocator is inside, so that a program finds it wherever it is run.
preload_sources := \
	preload/capabilities.c \
	preload/checksums.c \
	preload/contents.c \
	preload/debugfs.c \
	preload/filesystems.c \
	preload/fuse.c \
	preload/handles.c \
	preload/inodes.c \
	preload/program.c \
	preload/steps.c
preload_objects := $(preload_sources:.c=.o)
preload_library := preload/ext2mb-run.so
$(preload_objects) preload/settings.o: cppflags += -I$(srcdir)
