# SPDX-License-Identifier: GPL-2.0-or-later
# The tools that run on any Linux of the architecture: ./configure --enable-static-tools. "Static tools" in doc/HACKING.md says why
# they are as they are. The programs lie in static/ of the build folder.
static_tools := e2extract e2frag e2populate e2update
# These are compiled for them anew; the other objects are those of the ordinary tools.
static_variants := lib/source/archive/archive_acl lib/source/archive/archive_kind lib/source/unpack/inflate lib/support/run/program misc/tool
static_objects := $(static_variants:%=static/%.o)
static_programs := $(if $(filter yes,$(enable_static_tools)),$(static_tools:%=static/%))
static_release := ext2mb-$(version)-$(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))-static

$(static_objects): static/%.o: $(srcdir)/%.c compiler | $(generated_headers)
	@mkdir -p $(@D)
	$(call quiet,CC) $(compile) -USTATIC_TOOLS -DSTATIC_TOOLS=1 -UHAVE_ISAL -DHAVE_ISAL=$(static_ISAL) -c -o $@ $<
-include $(static_objects:.o=.d)

# The variants come before the libraries, which then need not give theirs. libarchive writes each format where it writes one, and
# some need further libraries: --gc-sections drops what nobody calls. ld's warnings say that getpwnam_r() needs the host's glibc,
# which it does not where /etc/passwd alone is asked (lib/source/archive/archive_acl.c). The map names the libraries that are in it.
static_link = $(link) -static-pie -Wl,--gc-sections -Wl,--build-id=none -Wl,--no-warnings -Wl,-Map,$@.map
$(static_tools:%=static/%): static/%: $$(filter-out misc/tool.o,$$(call tool_objects,%)) $(static_objects) $(archives)
	$(call quiet,LINK) $(static_link) -o $@ $(filter %.o,$^) $(archives) -Wl,--start-group $(static_libs) -lm -Wl,--end-group

# mke2fs makes the empty filesystem, and e2fsck replays the journal that e2update finds: hosts may have neither, or busybox's. They
# are built of the distribution's own sources, as they are. libmagic would be loaded from the host, where it has another libc.
e2fsprogs_programs := $(if $(mke2fs_source),static/e2fsprogs/misc/mke2fs.static static/e2fsprogs/e2fsck/e2fsck.static)
$(e2fsprogs_programs): static/e2fsprogs/built ;
static/e2fsprogs/built: static/e2fsprogs-source
	@rm -rf $(@D) && mkdir -p $(@D)
	$(call quiet,MKE2FS) cd $(@D) && { CC='$(CC)' ac_cv_header_magic_h=no $(mke2fs_source)/configure --sysconfdir=/etc --disable-nls \
		--disable-uuidd --disable-libuuid --disable-libblkid --disable-fuse2fs --disable-debugfs --without-libarchive && $(MAKE) libs && \
		$(MAKE) -C misc mke2fs.static && $(MAKE) -C e2fsck e2fsck.static; } >log 2>&1 || { tail -n 20 log >&2; exit 1; }
	@touch $@

# As with what compiles: they are built anew where they come from another folder, and not whenever configure has run.
static/e2fsprogs-source: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(mke2fs_source)' >$@.new && if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

static-tools: $(static_tools:%=static/%) $(e2fsprogs_programs)

# The same bytes for the same commit, folders and packages. All that make install installs for these tools, with licences.
static-tarball: static-tools $(completions) $(static_tools:%=$(srcdir)/misc/%.8) $(srcdir)/misc/static/README.in
	TOP_SRCDIR=$(abs_srcdir) STRIP='$(STRIP)' TOOLS='$(static_tools)' STAND_INS='$(stand_ins)' VERSION=$(version) MKE2FS_SOURCE='$(mke2fs_source)' \
		$(srcdir)/misc/static/tarball $(static_release)

# The test of all this, in a build of its own, with e2fsprogs' sources (MKE2FS_SOURCE, or what misc/static/e2fsprogs-source fetches).
MKE2FS_SOURCE ?= $(or $(mke2fs_source),$(abs_builddir)/e2fsprogs-source)
check-static: build-static/Makefile
	$(MAKE) -C build-static check-static-here
check-static-here: all static-tarball $(addprefix tests/tools/,make_tar make_tree no_waiting.so same_bytes)
	TOP_SRCDIR=$(abs_srcdir) TOP_BUILDDIR=$(abs_builddir) $(abs_srcdir)/tests/run-test $(abs_srcdir)/tests/static-tools/script
build-static/Makefile: $(srcdir)/configure Makefile | $(MKE2FS_SOURCE)
	@mkdir -p $(@D)
	cd $(@D) && $(abs_srcdir)/configure $(configure_arguments) --enable-static-tools --with-mke2fs-source=$(MKE2FS_SOURCE)
$(abs_builddir)/e2fsprogs-source:
	$(srcdir)/misc/static/e2fsprogs-source $@

.PHONY: static-tools static-tarball check-static check-static-here
