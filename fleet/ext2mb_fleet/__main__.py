# SPDX-License-Identifier: GPL-2.0-or-later
"""For python3 -m ext2mb_fleet."""
from ext2mb_fleet.command import main

main()
