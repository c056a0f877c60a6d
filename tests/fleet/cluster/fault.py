# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of a task that ends with an exception in our own code; and what others print goes to standard error."""
import os

from ext2mb_fleet.cluster import LOCAL, open_cluster
from ext2mb_fleet.task import Limits, Result, Settings, Task

# Copied first: open_cluster() has the other one.
own_output = os.dup(1)
wrong = Task("score", "0", "image", (), "", (1,), "", "", Limits())  # type: ignore[arg-type]


def report(results: list[Result]) -> bool:
    for result in results:
        os.write(own_output, result.line.partition(b'"error":')[2].partition(b',"seconds"')[0] + b"\n")
    return True


with open_cluster(LOCAL, Settings("/"), 0, 0) as cluster:
    cluster.run(iter([wrong]), 1, report)
    os.write(1, b"standard output\n")
