# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs ext2mb's tools over many images: see doc/FLEET.md."""

# configure.ac has the same: tests/house/release.
__version__ = "0.1.0"
