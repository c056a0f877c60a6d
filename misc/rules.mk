# SPDX-License-Identifier: GPL-2.0-or-later
tools := e2allocsim e2frag e2populate
e2frag_sources := misc/e2frag.c misc/e2frag_page.c misc/e2frag_subject.c misc/standard_streams.c misc/usage.c
e2populate_sources := \
	misc/e2populate.c \
	misc/e2populate_choice.c \
	misc/e2populate_command.c \
	misc/e2populate_existing.c \
	misc/e2populate_options.c \
	misc/e2populate_report.c \
	misc/standard_streams.c \
	misc/usage.c
e2allocsim_sources := \
	misc/e2allocsim.c \
	misc/e2allocsim_all.c \
	misc/e2allocsim_help.c \
	misc/e2allocsim_options.c \
	misc/standard_streams.c \
	misc/usage.c
