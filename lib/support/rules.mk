# SPDX-License-Identifier: LGPL-2.1-or-later
support_sources := \
	lib/support/arena.c \
	lib/support/crc32c.c \
	lib/support/flush.c \
	lib/support/histogram.c \
	lib/support/interrupt.c \
	lib/support/json.c \
	lib/support/json_document.c \
	lib/support/loop_device.c \
	lib/support/pool.c \
	lib/support/problem.c \
	lib/support/program.c \
	lib/support/progress.c \
	lib/support/text_line.c \
	lib/support/units.c \
	lib/support/utf8.c \
	lib/support/vector.c \
	lib/support/warnings.c \
	lib/support/whole_io.c
