# SPDX-License-Identifier: LGPL-2.1-or-later
support_sources := \
	lib/support/arena.c \
	lib/support/bits.c \
	lib/support/crc32c.c \
	lib/support/histogram.c \
	lib/support/io/file_locks.c \
	lib/support/io/same_file.c \
	lib/support/io/temporary_name.c \
	lib/support/io/unnamed_file.c \
	lib/support/io/whole_io.c \
	lib/support/problem.c \
	lib/support/text/json.c \
	lib/support/text/json_document.c \
	lib/support/text/markup.c \
	lib/support/text/text_line.c \
	lib/support/text/nearest.c \
	lib/support/text/shell_word.c \
	lib/support/text/units.c \
	lib/support/utf8.c \
	lib/support/vector.c \
	lib/support/run/child.c \
	lib/support/run/children.c \
	lib/support/run/interrupt.c \
	lib/support/run/control_group.c \
	lib/support/run/memory.c \
	lib/support/run/pool.c \
	lib/support/run/processors.c \
	lib/support/run/program.c \
	lib/support/run/progress.c \
	lib/support/run/time_left.c
