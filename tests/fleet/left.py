# SPDX-License-Identifier: GPL-2.0-or-later
"""left.py LIST RESULTS [again]: the images that a run would still build."""
import sys

from ext2mb_fleet.results import Results
from ext2mb_fleet.tasks import list_lines, parse_lines

with Results(sys.argv[2], len(sys.argv) > 3) as results:
    print(*(task.image for task in parse_lines("build", list_lines(sys.argv[1])) if task.key not in results.done))
