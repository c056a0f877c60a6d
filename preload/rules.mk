# SPDX-License-Identifier: GPL-2.0-or-later
tools += ext2mb-run
ext2mb-run_sources := \
	preload/ext2mb_run.c \
	preload/ext2mb_run_options.c \
	preload/ext2mb_run_program.c \
	preload/settings.c
ext2mb-run_libraries := ext2mb $(common_libraries)
# Where make install puts the library, seen from the tool, so that both can be moved together.
preload/ext2mb_run.o: cppflags += -DPRELOAD_FOLDER='"$(shell realpath -m --relative-to=$(sbindir) $(preload_dir))"'
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
$(preload_objects) $(ext2mb-run_sources:.c=.o): cppflags += -I$(srcdir)
