# SPDX-License-Identifier: GPL-2.0-or-later
command_sources := \
	lib/command/command_line.c \
	lib/command/completion.c \
	lib/command/help.c \
	lib/command/help_topic.c \
	lib/command/mke2fs_options.c \
	lib/command/option_row.c \
	lib/command/tool.c
