# SPDX-License-Identifier: GPL-2.0-or-later
"""left.py KIND LIST RESULTS [again]: the images that a run would still work on, and why if it was done before."""
import sys

from ext2mb_fleet.driver import forget_changed, make_settings
from ext2mb_fleet.local import open_local
from ext2mb_fleet.results import Results
from ext2mb_fleet.task import Limits
from ext2mb_fleet.tasks import list_lines, parse_lines

kind, name = sys.argv[1:3]
tasks = list(parse_lines(kind, list_lines(name), Limits()))
with Results(sys.argv[3], len(sys.argv) > 4) as results, open_local(make_settings()) as local:
    before = ((task, results.done[task.key]) for task in tasks if task.key in results.done)
    forget_changed(results.done, local.find_changes(before))
    print(*(task.image for task in tasks if task.key not in results.done))
