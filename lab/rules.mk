# SPDX-License-Identifier: GPL-2.0-or-later
tools += e2allocsim
e2allocsim_sources := \
	lab/e2allocsim.c \
	lab/e2allocsim_compared.c \
	lab/e2allocsim_options.c
e2allocsim_libraries := $(lab_libraries)
$(filter lab/%,$(e2allocsim_sources:.c=.o)): cppflags += -I$(srcdir)
