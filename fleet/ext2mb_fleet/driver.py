# SPDX-License-Identifier: GPL-2.0-or-later
"""A run: which tasks there are, which of them are done already, and that the others are done. Ray is loaded only for these."""
import argparse
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any

from ext2mb_fleet.access import protect
from ext2mb_fleet.local import Local, open_local
from ext2mb_fleet.logs import write_log
from ext2mb_fleet.progress import Layers, Progress
from ext2mb_fleet.results import Results
from ext2mb_fleet.seen import Seen, digest
from ext2mb_fleet.task import BadTask, CannotRun, Limits, Result, Settings, Task, parse_task
from ext2mb_fleet.tasks import count_tasks, list_lines, parse_lines, replay_lines, score_lines
from ext2mb_fleet.values import printable

if TYPE_CHECKING:
    from ext2mb_fleet.cluster import Cluster


def make_settings(**chosen: Any) -> Settings:
    """What holds for each task, taken from here and not from the node that runs it."""
    config, contents = os.environ.get("MKE2FS_CONFIG"), b""
    if config:
        try:
            with open(config, "rb") as file:
                contents = file.read()
        except OSError as problem:
            # mke2fs itself would go on with other defaults.
            raise CannotRun(f"MKE2FS_CONFIG: {config}: {problem.strerror}") from None
    return Settings(os.getcwd(), os.environ.get("SOURCE_DATE_EPOCH"), config, digest(contents), **chosen)


def settings_of(arguments: argparse.Namespace) -> Settings:
    """OSError, CannotRun."""
    if arguments.logs:
        os.makedirs(arguments.logs, exist_ok=True)
    cache = getattr(arguments, "layer_cache", "")
    root = os.path.realpath(arguments.root, strict=True) if arguments.root else ""
    return make_settings(
        layer_cache=cache, logs=arguments.logs, root=root, root_name=os.path.abspath(arguments.root),
        stale_seconds=arguments.stale_after,
    )  # fmt: skip


def limits_of(arguments: argparse.Namespace) -> Limits:
    return Limits(arguments.threads, arguments.memory, arguments.timeout)


def lines_of(arguments: argparse.Namespace) -> Callable[[], Iterator[str]]:
    """What is read several times: to be checked, to be compared with what is done, and to be done."""
    if arguments.command == "score":
        return lambda: score_lines(arguments.list)
    if arguments.command != "replay":
        return lambda: list_lines(arguments.list)
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


def open_executor(arguments: argparse.Namespace, settings: Settings) -> "AbstractContextManager[Local | Cluster]":
    """Whoever runs the tasks: this machine, or Ray, which is loaded only then."""
    if not arguments.cluster:
        return open_local(settings, scratch=arguments.scratch)
    protect(arguments.cluster)
    from ext2mb_fleet.cluster import open_cluster

    return open_cluster(arguments.cluster, settings, arguments.scratch, arguments.retries)


def run_all(arguments: argparse.Namespace) -> Progress:
    """What has become of the tasks of the list, in this run or an earlier one."""
    kind, lines, limits = arguments.command, lines_of(arguments), limits_of(arguments)
    settings = settings_of(arguments)._replace(stops_at_failure=arguments.max_failures > 0)
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def tasks() -> Iterator[Task]:
        return parse_lines(kind, lines(), limits)

    with Results(arguments.results, arguments.again) as results, ExitStack() as opened:
        counts = count_tasks(tasks(), results.done)
        if not counts.total:
            raise CannotRun("there is no task")
        executor = opened.enter_context(open_executor(arguments, settings))
        before = ((task, results.done[task.key]) for task in tasks() if task.key in results.done)
        forget_changed(results.done, executor.find_changes(before))
        counts = count_tasks(tasks(), results.done)
        progress = Progress(counts, arguments.max_failures, arguments.logs, arguments.progress)
        layers = Layers()

        def report(ended: list[Result]) -> bool:
            # First: a log that cannot be written ends the run.
            results.write(b"".join(result.line for result in ended))
            if settings.logs:
                for result in ended:
                    write_log(settings.logs, result)
            progress.add(len(ended), sum(result.status != 0 for result in ended))
            if settings.layer_cache:
                layers.add(ended)
            return not progress.is_stopped

        if counts.done < counts.total:
            executor.check_room(counts.most)
            left = (task for task in tasks() if task.key not in results.done)
            executor.run(left, counts.total - counts.done, report)
        progress.end()
        if settings.layer_cache:
            layers.show()
    return progress


def run_here(arguments: argparse.Namespace) -> bool:
    """Of `e2fleet task`: the lines of the arguments, one after another; their results are printed. True: all is well."""
    settings = settings_of(arguments)
    # parallel(1) ends its jobs so; nothing half done is left then.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    is_well = True
    tasks: list[Task] = []
    for line in filter(str.strip, arguments.lines):
        try:
            tasks.append(parse_task(arguments.kind, line, limits_of(arguments)))
        except BadTask as error:
            # The others of the job go on.
            print(f"e2fleet: {printable(str(error))}", file=sys.stderr)
            is_well = False
    count_tasks(tasks, {})

    def report(ended: list[Result]) -> bool:
        nonlocal is_well
        for result in ended:
            sys.stdout.buffer.write(result.line)
            is_well = is_well and not result.status
        sys.stdout.buffer.flush()
        if settings.logs:
            for result in ended:
                write_log(settings.logs, result)
        return True

    with open_local(settings, slots=1) as local:
        local.run(iter(tasks), len(tasks), report)
    return is_well
