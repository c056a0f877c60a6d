# SPDX-License-Identifier: GPL-2.0-or-later
tools := e2allocsim e2frag e2populate
tool_sources := misc/command_line.c misc/completion.c misc/option_row.c misc/tool.c
e2frag_sources := \
	misc/e2frag.c \
	misc/e2frag_options.c \
	$(tool_sources)
e2populate_sources := \
	misc/e2populate.c \
	misc/e2populate_options.c \
	misc/mke2fs_options.c \
	$(tool_sources)
e2allocsim_sources := \
	misc/e2allocsim.c \
	misc/e2allocsim_options.c \
	misc/mke2fs_options.c \
	$(tool_sources)
