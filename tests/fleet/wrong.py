# SPDX-License-Identifier: GPL-2.0-or-later
"""wrong.py LIST: what is said of each of its lines."""
import sys

from ext2mb_fleet.task import BadTask, parse_task

for line in open(sys.argv[1], encoding="utf-8"):
    try:
        print(parse_task("build", line))
    except BadTask as error:
        print(str(error).partition(": Expecting")[0])
