# SPDX-License-Identifier: GPL-2.0-or-later
tools += debugmb
debugmb_sources := \
	debugfs/debugmb.c \
	debugfs/allocate.c \
	debugfs/explain.c \
	debugfs/filesystem.c \
	debugfs/groups.c \
	debugfs/help.c \
	debugfs/listing.c \
	debugfs/map.c \
	debugfs/orphans.c \
	debugfs/policy.c \
	debugfs/requests.c \
	debugfs/shell.c \
	debugfs/statistics.c \
	debugfs/transaction.c \
	debugfs/words.c
debugmb_libraries := $(lab_libraries)
debugmb_tables := debugfs/debugmb.ct
debugmb_libs = $(ss_libs)
$(filter debugfs/%,$(debugmb_sources:.c=.o)): cppflags += -I$(srcdir)
