# SPDX-License-Identifier: GPL-2.0-or-later
"""left.py KIND LIST RESULTS [again]: the images that a run would still work on, and why if it was done before."""
import sys

from ext2mb_fleet.driver import forget_changed, make_settings
from ext2mb_fleet.results import Results
from ext2mb_fleet.seen import find_changes
from ext2mb_fleet.tasks import list_lines, parse_lines

kind, name = sys.argv[1:3]
tasks = list(parse_lines(kind, list_lines(name)))
with Results(sys.argv[3], len(sys.argv) > 4) as results:
    before = ((task, results.done[task.key]) for task in tasks if task.key in results.done)
    forget_changed(results.done, find_changes(before, make_settings(1, 0)))
    print(*(task.image for task in tasks if task.key not in results.done))
