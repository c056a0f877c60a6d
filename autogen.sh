#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes ./configure. Needs autoconf only: configure.ac uses no macro of automake, libtool or pkg-config.
set -eu
cd "$(dirname "$0")"
command -v autoconf >/dev/null || {
	echo "autogen.sh: autoconf: not found: install the package autoconf" >&2
	exit 1
}
# Renamed when whole, so that a make which looks at configure never sees half of one.
autoconf --warnings=all --output="configure.new.$$"
chmod 755 "configure.new.$$"
mv "configure.new.$$" configure
rm -rf autom4te.cache
