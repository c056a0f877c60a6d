# SPDX-License-Identifier: GPL-2.0-or-later
"""Where tasks come from: a LIST, a pattern of names, a grid of simulations."""
import functools
import glob
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ext2mb_fleet.seen import Seen, written_by_options
from ext2mb_fleet.task import BadTask, Limits, Task, parse_task


def list_lines(name: str) -> Iterator[str]:
    with open(name, "rb") as file:
        if not file.seekable():
            raise BadTask(f"{name}: must be a file, since it is read twice")
        for number, line in enumerate(file, 1):
            try:
                yield line.decode()
            except UnicodeDecodeError:
                raise BadTask(f"line {number}: is not UTF-8") from None


def glob_lines(pattern: str) -> Iterator[str]:
    for image in sorted(glob.iglob(pattern, recursive=True)):
        yield json.dumps({"image": image})


def score_lines(name: str) -> Iterator[str]:
    return glob_lines(name) if glob.has_magic(name) else list_lines(name)


def replay_lines(
    workloads: list[str], policies: list[str], sizes: list[str], seeds: range, options: list[str]
) -> Iterator[str]:
    for workload, policy, size, seed in itertools.product(workloads, policies, sizes, seeds):
        chosen = [f"--policy={policy}", f"--seed={seed}", *options]
        yield json.dumps({"workload": workload, "size": size, "options": chosen})


def parse_lines(kind: str, lines: Iterable[str], usual: Limits) -> Iterator[Task]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield parse_task(kind, line, usual)
            except BadTask as error:
                raise BadTask(f"line {number}: {error}") from None


class Counts(NamedTuple):
    total: int
    done: int
    failed: int  # of those done
    most: Limits  # each the greatest of all


def count_tasks(tasks: Iterable[Task], done: Mapping[str, Seen]) -> Counts:
    """Two tasks that are the same or write the same file, by whatever names: BadTask."""
    names: set[str] = set()
    folder_of = functools.lru_cache(os.path.realpath)
    total = done_count = failed_count = 0
    most = Limits(0, 0, 0)

    def place_of(path: str) -> str:
        folder, name = os.path.split(path)
        place = os.path.normpath(os.path.join(folder_of(folder), name))
        return os.path.realpath(place) if os.path.islink(place) else place

    for task in tasks:
        total += 1
        made = {task.made and place_of(task.made) or task.key: task.made or task.image or task.workload}
        made |= {place_of(path): path for path in written_by_options(task)}
        for place, path in made.items():
            if place in names:
                raise BadTask(f"{path}: there are two tasks for it")
        names.update(made)
        has = task.limits
        most = Limits(max(most.threads, has.threads), max(most.memory_bytes, has.memory_bytes), 0)
        if seen := done.get(task.key):
            done_count += 1
            failed_count += seen.is_failed
    return Counts(total, done_count, failed_count, most)
