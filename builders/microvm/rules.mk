# SPDX-License-Identifier: GPL-2.0-or-later
# The init of microVMs (init.c), a program of its own: `make static/microvm-init`, also in a build without --enable-static-tools.
# From objects in the build folder: the linker's map then names no others than those of libraries (misc/static/tarball).
microvm_objects := $(addprefix static/builders/microvm/,init.o machine.o start.o user.o)
$(microvm_objects): static/%.o: $(srcdir)/%.c $(srcdir)/builders/microvm/init.h compiler
	@mkdir -p $(@D)
	$(call quiet,CC) $(CC) -std=gnu11 -D_GNU_SOURCE $(warning_flags) $(CFLAGS) -fPIE -c -o $@ $<
static/microvm-init: $(microvm_objects)
	$(call quiet,LINK) $(CC) $(CFLAGS) -static-pie -Wl,--build-id=none -Wl,-Map,$@.map -o $@ $^ -ljson-c
