# SPDX-License-Identifier: GPL-2.0-or-later
"""A run: which tasks there are, which of them are done already, and that the others are done. Ray is loaded only for these."""
import argparse
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ext2mb_fleet.access import protect
from ext2mb_fleet.logs import write_log
from ext2mb_fleet.progress import Layers, Progress
from ext2mb_fleet.results import Results
from ext2mb_fleet.seen import Seen, find_changes
from ext2mb_fleet.task import CannotRun, Result, Settings, Task
from ext2mb_fleet.tasks import count_tasks, list_lines, parse_lines, replay_lines, score_lines

if TYPE_CHECKING:
    from ext2mb_fleet.cluster import Cluster


def make_settings(
    threads: int, seconds: float, layer_cache: str = "", logs: str = "", stops_at_failure: bool = False
) -> Settings:
    """What holds for each task, taken from here and not from the node that runs it."""
    config = None
    if name := os.environ.get("MKE2FS_CONFIG"):
        try:
            with open(name, "rb") as file:
                config = file.read()
        except OSError as problem:
            # mke2fs itself would go on with other defaults.
            raise CannotRun(f"MKE2FS_CONFIG: {name}: {problem.strerror}") from None
    return Settings(threads, seconds, os.getcwd(), os.environ.get("SOURCE_DATE_EPOCH"), config, layer_cache, logs,
                    stops_at_failure)  # fmt: skip


def lines_of(arguments: argparse.Namespace) -> Callable[[], Iterator[str]]:
    """What is read several times: to be checked, to be compared with what is done, and to be done."""
    if arguments.command == "build":
        return lambda: list_lines(arguments.list)
    if arguments.command == "score":
        return lambda: score_lines(arguments.list)
    return lambda: replay_lines(
        arguments.workloads, arguments.policies, arguments.sizes, arguments.seeds, arguments.options
    )


def forget_changed(done: dict[str, Seen], changes: Iterator[tuple[str, str]]) -> None:
    """What is no longer as it was is not done; a line on standard error for each reason."""
    reasons: Counter[str] = Counter()
    # All are found before the first is forgotten.
    for key, reason in list(changes):
        del done[key]
        reasons[reason] += 1
    for reason, count in reasons.items():
        print(f"e2fleet: done again, since {reason}: {count}", file=sys.stderr)


def make_log_folder(folder: str) -> str:
    if folder:
        os.makedirs(folder, exist_ok=True)
    return folder


def run_all(arguments: argparse.Namespace) -> Progress:
    """What has become of the tasks of the list, in this run or an earlier one."""
    kind, lines = arguments.command, lines_of(arguments)
    settings = make_settings(arguments.threads, arguments.timeout, getattr(arguments, "layer_cache", ""),
                             make_log_folder(arguments.logs), arguments.max_failures > 0)  # fmt: skip
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def tasks() -> Iterator[Task]:
        return parse_lines(kind, lines())

    def connect() -> "Cluster":
        protect(arguments.address)
        from ext2mb_fleet.cluster import Needs, open_cluster

        needs = Needs(arguments.address, arguments.threads, arguments.memory, arguments.scratch, arguments.retries)
        return opened.enter_context(open_cluster(needs, settings))

    with Results(arguments.results, arguments.again) as results, ExitStack() as opened:
        if not count_tasks(tasks(), results.done).total:
            raise CannotRun("there is no task")
        cluster = connect() if arguments.address else None
        before = ((task, results.done[task.key]) for task in tasks() if task.key in results.done)
        forget_changed(results.done, cluster.find_changes(before) if cluster else find_changes(before, settings))
        counts = count_tasks(tasks(), results.done)
        progress = Progress(counts, arguments.max_failures, arguments.logs)
        layers = Layers()

        def report(ended: list[Result]) -> bool:
            if settings.logs:
                for result in ended:
                    write_log(settings.logs, result)
            results.write(b"".join(result.line for result in ended))
            progress.add(len(ended), sum(result.status != 0 for result in ended))
            if settings.layer_cache:
                layers.add(ended)
            return not progress.is_stopped

        if counts.done < counts.total:
            left = (task for task in tasks() if task.key not in results.done)
            (cluster or connect()).run(left, counts.total - counts.done, report)
        progress.end()
        if settings.layer_cache:
            layers.show()
    return progress
