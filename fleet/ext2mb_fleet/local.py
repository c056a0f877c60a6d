# SPDX-License-Identifier: GPL-2.0-or-later
"""The tasks on this machine: threads that wait for the tools. Standard library only, and nothing to start."""
import os
import queue
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from ext2mb_fleet.seen import Seen
from ext2mb_fleet.task import CannotRun, Limits, Result, Settings, Task
from ext2mb_fleet.tool import SECONDS_UNTIL_KILL
from ext2mb_fleet.worker import Worker

# How often the thread that waits is told that nothing has ended, and names of images are put on the disk.
SECONDS_BETWEEN = 1.0


def memory_bytes() -> int:
    """What programs may still have."""
    with open("/proc/meminfo", encoding="ascii") as file:
        available = next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:"))
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            return min(available, int(file.read()))
    except (OSError, ValueError):
        return available


def scratch_bytes() -> int:
    folder = os.statvfs(os.environ.get("TMPDIR", "/tmp"))
    return folder.f_bavail * folder.f_frsize


class Local:
    """Has the methods of cluster.Cluster."""

    def __init__(self, worker: Worker, slots: int, scratch: int) -> None:
        """slots: how many tasks run at a time, at most; 1: whatever they need; scratch: bytes of TMPDIR that each needs."""
        self.worker, self.slots = worker, slots
        self.room = [slots, memory_bytes(), scratch_bytes()] if slots > 1 else [sys.maxsize] * 3
        self.scratch = scratch
        self.pool = ThreadPoolExecutor(slots, initializer=worker.confine_thread)
        self.ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self.running: dict[Future[Any], list[int]] = {}

    def needs(self, limits: Limits) -> list[int]:
        return [max(1, limits.threads), limits.memory_bytes, self.scratch]

    def fits(self, needs: list[int]) -> bool:
        return all(need <= room for need, room in zip(needs, self.room))

    def check_room(self, most: Limits) -> None:
        if not self.fits(self.needs(most)):
            raise CannotRun("no node has room for a task: see --threads, --memory and --scratch")

    def begin(self, needs: list[int], call: Callable[..., Any], *arguments: object) -> None:
        self.room = [room - need for room, need in zip(self.room, needs)]
        future = self.pool.submit(call, *arguments)
        self.running[future] = needs
        future.add_done_callback(self.ended.put)

    def collect(self) -> list[Any]:
        """What has ended: something, unless time passes."""
        answers = []
        try:
            future = self.ended.get(timeout=SECONDS_BETWEEN)
            while True:
                self.room = [room + need for room, need in zip(self.room, self.running.pop(future))]
                answers.append(future.result())
                future = self.ended.get_nowait()
        except queue.Empty:
            return answers

    def find_changes(self, done: Iterable[tuple[Task, Seen]]) -> Iterator[tuple[str, str]]:
        """The keys of the tasks that have to be done again, each with the reason."""

        def look(task: Task, seen: Seen) -> tuple[str, str | None]:
            return task.key, self.worker.find_change(task, seen)

        def changes(most: int) -> Iterator[tuple[str, str]]:
            while len(self.running) > most:
                yield from ((key, reason) for key, reason in self.collect() if reason)

        for task, seen in done:
            self.begin([0, 0, 0], look, task, seen)
            yield from changes(2 * self.slots)
        yield from changes(0)

    def run(self, tasks: Iterator[Task], total: int, report: Callable[[list[Result]], bool]) -> None:
        """Until all have ended; when `report` returns False, no more begin. It is called each second at least."""
        synced = time.monotonic()
        task = next(tasks, None)
        while True:
            while task and len(self.running) < self.slots and self.fits(needs := self.needs(task.limits)):
                self.begin(needs, self.worker.run, task)
                task = next(tasks, None)
            if not self.running:
                return
            results = self.collect()
            if time.monotonic() - synced > SECONDS_BETWEEN:
                self.worker.sync()
                synced = time.monotonic()
            if not report(results):
                task = None

    def stop(self) -> None:
        """Ends what runs, with all that it has started."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.worker.guard.signal_all(number)
            end = time.monotonic() + SECONDS_UNTIL_KILL
            while self.worker.guard.live and time.monotonic() < end:
                time.sleep(0.02)


@contextmanager
def open_local(settings: Settings, slots: int | None = None, scratch: int = 0) -> Iterator[Local]:
    with Worker(settings) as worker:
        local = Local(worker, slots or len(os.sched_getaffinity(0)), scratch)
        try:
            yield local
        except BaseException:  # a signal ends us
            local.stop()
            raise
        finally:
            local.pool.shutdown()
