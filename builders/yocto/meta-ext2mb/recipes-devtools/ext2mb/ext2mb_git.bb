# SPDX-License-Identifier: GPL-2.0-or-later
SUMMARY = "ext4 images made with all processors"
DESCRIPTION = "e2populate makes ext4 images from directories, archives and OCI images; e2frag shows how fragmented a filesystem is."
SECTION = "base"
LICENSE = "GPL-2.0-or-later AND LGPL-2.1-or-later"
LIC_FILES_CHKSUM = "file://COPYING;md5=b234ee4d69f5fce4486a80fdaf4a4263 \
                    file://COPYING.LIB;md5=4fbd65380cdd255951079008b364516c"

# local.conf names the repository, for instance "git:///srv/git/ext2mb;protocol=file;branch=main", and the commit.
EXT2MB_GIT ?= ""
SRC_URI = "${EXT2MB_GIT}"
SRCREV ?= "${AUTOREV}"
PV = "0.1.0+git"

python () {
    if not d.getVar('EXT2MB_GIT'):
        raise bb.parse.SkipRecipe('EXT2MB_GIT does not say where the repository of ext2mb is')
}

# compile_et, mk_cmds and prove are programs of the build host; check is a library of unit tests that configure asks for.
DEPENDS = "e2fsprogs e2fsprogs-native util-linux libarchive json-c nettle zlib libcheck perl-native"

inherit pkgconfig autotools-brokensep

PACKAGECONFIG ??= "zstd"
PACKAGECONFIG[zstd] = "--with-zstd,--without-zstd,zstd"
PACKAGECONFIG[deflate] = "--with-deflate,--without-deflate,libdeflate"
PACKAGECONFIG[isal] = "--with-isal,--without-isal,isa-l"
PACKAGECONFIG[selinux] = "--with-selinux,--without-selinux,libselinux"
EXTRA_OECONF = "--without-fuse3"

BBCLASSEXTEND = "native"
