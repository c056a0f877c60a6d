# SPDX-License-Identifier: GPL-2.0-or-later
# The init of microVMs (init.c), a program of its own: `make static/microvm-init`, also in a build without --enable-static-tools.
microvm_sources := init.c machine.c start.c user.c
static/microvm-init: $(microvm_sources:%=$(srcdir)/builders/microvm/%) $(srcdir)/builders/microvm/init.h compiler
	@mkdir -p $(@D)
	$(call quiet,LINK) $(CC) -std=gnu11 -D_GNU_SOURCE $(warning_flags) $(CFLAGS) -static-pie -fPIE -Wl,--build-id=none \
		-Wl,-Map,$@.map -o $@ $(filter %.c,$^) -ljson-c
