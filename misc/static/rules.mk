# SPDX-License-Identifier: GPL-2.0-or-later
# The tools that run on any Linux of the architecture. "Static tools" in doc/HACKING.md says why they are as they are. A build that is
# configured with --enable-static-tools has them in static/; any other one makes them in build-static, which it configures so.
static_tools := e2extract e2frag e2populate e2update
# These are compiled for them anew; the other objects are those of the ordinary tools.
static_variants := lib/source/archive/archive_acl lib/source/archive/archive_kind lib/unpack/inflate lib/support/run/program lib/command/tool
static_release := ext2mb-$(version)-$(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))-static

ifeq ($(enable_static_tools),yes)
static_programs := $(static_tools:%=static/%)
static_objects := $(static_variants:%=static/%.o)
$(static_objects): static/%.o: $(srcdir)/%.c compiler | $(generated_headers)
	@mkdir -p $(@D)
	$(call quiet,CC) $(compile) -USTATIC_TOOLS -DSTATIC_TOOLS=1 -UHAVE_ISAL -DHAVE_ISAL=$(static_ISAL) -c -o $@ $<
-include $(static_objects:.o=.d)

# The variants come before the libraries, which then need not give theirs. libarchive writes each format where it writes one, and
# some need further libraries: --gc-sections drops what nobody calls. ld's warnings say that getpwnam_r() needs the host's glibc,
# which it does not where /etc/passwd alone is asked (lib/source/archive/archive_acl.c). The map names the libraries that are in it.
static_link = $(link) -static-pie -Wl,--gc-sections -Wl,--build-id=none -Wl,--no-warnings -Wl,-Map,$@.map
$(static_programs): static/%: $$(call tool_objects,%) $(static_objects) $(archives)
	$(call quiet,LINK) $(static_link) -o $@ $(filter %.o,$^) $(archives) -Wl,--start-group $(static_libs) -lm -Wl,--end-group

# mke2fs makes the empty filesystem, and e2fsck is for --verify: hosts may have neither, or busybox's. They
# are built of the distribution's own sources, as they are. libmagic would be loaded from the host, where it has another libc.
e2fsprogs_programs := $(if $(mke2fs_source),static/e2fsprogs/misc/mke2fs.static static/e2fsprogs/e2fsck/e2fsck.static)
$(e2fsprogs_programs): static/e2fsprogs/built ;
static/e2fsprogs/built: static/e2fsprogs-source
	@rm -rf $(@D) && mkdir -p $(@D)
	$(call quiet,MKE2FS) cd $(@D) && { CC='$(CC)' ac_cv_header_magic_h=no $(mke2fs_source)/configure --sysconfdir=/etc --disable-nls \
		--disable-uuidd --disable-libuuid --disable-libblkid --disable-fuse2fs --disable-debugfs --without-libarchive && $(MAKE) libs && \
		$(MAKE) -C misc mke2fs.static && $(MAKE) -C e2fsck e2fsck.static; } >log 2>&1 || { tail -n 20 log >&2; exit 1; }
	@touch $@

static-tools: $(static_programs) $(e2fsprogs_programs) static/microvm-init

# The same bytes for the same commit, folders and packages. All that make install installs for these tools, with licences.
static-tarball: static-tools $(completions) $(static_tools:%=$(srcdir)/misc/%.8) $(srcdir)/misc/static/README.in
	TOP_SRCDIR=$(abs_srcdir) STRIP='$(STRIP)' TOOLS='$(static_tools)' STAND_INS='$(stand_ins)' VERSION=$(version) MKE2FS_SOURCE='$(mke2fs_source)' \
		$(srcdir)/misc/static/tarball $(static_release)
else
static-tools: build-static/Makefile
	$(MAKE) -C build-static $@
static-tarball: build-static/Makefile
	$(MAKE) -C build-static $@
	mv build-static/$(static_release).tar.xz .
endif

# The test of all this, also in that build.
check-static: build-static/Makefile
	$(MAKE) -C build-static check-static-here
check-static-here: all static-tarball $(addprefix tests/tools/,make_tar make_tree no_waiting.so same_bytes)
	TOP_SRCDIR=$(abs_srcdir) TOP_BUILDDIR=$(abs_builddir) $(abs_srcdir)/tests/run-test $(abs_srcdir)/tests/static-tools/script

# MKE2FS_SOURCE: the sources of e2fsprogs; no: without them. By default what misc/static/e2fsprogs-source fetches.
MKE2FS_SOURCE ?= $(or $(mke2fs_source),e2fsprogs-source)
wanted_source := $(if $(filter no,$(MKE2FS_SOURCE)),no,$(abspath $(MKE2FS_SOURCE)))
build-static/Makefile: $(srcdir)/configure Makefile build-static/mke2fs-source | $(filter-out no,$(wanted_source))
	cd $(@D) && $(abs_srcdir)/configure $(configure_arguments) --enable-static-tools --with-mke2fs-source=$(wanted_source)

# As with what compiles: what depends on the folder is done anew for another one, and not whenever configure has run.
static/e2fsprogs-source: folder := $(mke2fs_source)
build-static/mke2fs-source: folder := $(wanted_source)
static/e2fsprogs-source build-static/mke2fs-source: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(folder)' >$@.new && if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
$(abspath e2fsprogs-source):
	$(srcdir)/misc/static/e2fsprogs-source $@

.PHONY: static-tools static-tarball check-static check-static-here
