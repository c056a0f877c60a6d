# SPDX-License-Identifier: GPL-2.0-or-later
"""The tasks on Ray. Workers stay and get tasks by the batch; results come back as lines."""
import logging
import math
import os
import re
import signal
import socket
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import ray
import ray.exceptions
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import ext2mb_fleet
from ext2mb_fleet.guard import Guard
from ext2mb_fleet.local import scratch_bytes
from ext2mb_fleet.seen import Seen
from ext2mb_fleet.task import CannotRun, Limits, Result, Settings, Task
from ext2mb_fleet.worker import STATUS_NOT_RUN, Outcome, Worker, make_result

# A batch takes about so long: enough to make Ray's own work for it small, and little to do again if its node is lost.
BATCH_SECONDS = 1.0
MOST_IN_BATCH = 200
BATCHES_PER_SLOT = 2
# How long nothing may be heard before the cluster's size is looked at again.
SECONDS_BETWEEN_LOOKS = 5.0
SECONDS_BETWEEN_REPORTS = 1.0
SECONDS_TO_ANSWER = 10.0

# What Ray puts around the worker's name.
TERMINAL_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")

# The address of a cluster that is started on this machine, and ends with the run.
LOCAL = "local"
# Of that one; only results pass through it.
OBJECT_STORE_BYTES = 1 << 28


class Tasks:
    """Tasks that have the same limits follow each other in batches."""

    def __init__(self, tasks: Iterator[Task]) -> None:
        self.tasks = tasks
        self.next = next(tasks, None)

    def take(self, most: int) -> list[Task]:
        batch: list[Task] = []
        while self.next and len(batch) < most and (not batch or self.next.limits == batch[0].limits):
            batch.append(self.next)
            self.next = next(self.tasks, None)
        return batch


class Batch(NamedTuple):
    """After one of several tasks was lost, each is tried by itself; after one of a single task, that is tried again."""

    tasks: list[Task]
    times_lost: int = 0  # of a single task


def run_batch(tasks: list[Task], settings: Settings) -> list[Result]:
    """On a node: the results of as many tasks as fit into the time, at least one; or up to the first failure."""
    started = time.monotonic()
    results = []
    with Worker(settings, is_shared=True) as worker, ThreadPoolExecutor(1, initializer=worker.confine_thread) as thread:
        for task in tasks:
            results.append(thread.submit(worker.run, task).result())
            is_over = settings.stops_at_failure and results[-1].status
            if is_over or time.monotonic() - started > 2 * BATCH_SECONDS:
                break
    return results


Done = list[tuple[Task, Seen]]


def look_at_batch(done: Done, settings: Settings) -> list[tuple[str, str]]:
    with Worker(settings, is_shared=True) as worker, ThreadPoolExecutor(1, initializer=worker.confine_thread) as thread:
        reasons = ((task.key, thread.submit(worker.find_change, task, seen).result()) for task, seen in done)
        return [(key, reason) for key, reason in reasons if reason]


def batches_by_host(done: Iterable[tuple[Task, Seen]]) -> Iterator[tuple[str, Done]]:
    batches: defaultdict[str, Done] = defaultdict(list)
    for task, seen in done:
        batches[seen.host].append((task, seen))
        if len(batches[seen.host]) == MOST_IN_BATCH:
            yield seen.host, batches.pop(seen.host)
    yield from batches.items()


def cause(error: Exception) -> str:
    """One line, for a user who does not know Ray."""
    if isinstance(error, ray.exceptions.RayTaskError):  # a fault in the worker's own code, with its stack
        return f"{type(error.cause).__name__}: {error.cause}"
    lines = TERMINAL_ESCAPE.sub("", str(error)).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class Cluster:
    """Has the methods of local.Local."""

    def __init__(self, address: str, settings: Settings, scratch: int, retries: int) -> None:
        self.address, self.settings, self.scratch, self.retries = address, settings, scratch, retries
        self.seconds_per_task = BATCH_SECONDS
        self.running: dict[Any, Batch] = {}
        self.waiting: deque[Batch] = deque()
        # What is lost is counted here: what Ray ends for want of memory, it would begin for ever.
        self.remote = ray.remote(max_retries=0)(run_batch)
        self.look = ray.remote(max_retries=0)(look_at_batch)

    def slots(self) -> int:
        """How many tasks of one thread run at a time."""
        available: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        return max(1, int(available.get("CPU", 0)))

    def check_room(self, most: Limits) -> None:
        """A task that no node has room for would wait for ever, and that is right only where nodes may be added."""
        needed = {"CPU": most.threads, "memory": most.memory_bytes, "scratch": self.scratch}
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
        if any(all(node.get(name, 0) >= amount for name, amount in needed.items()) for node in nodes):
            return
        message = "no node has room for a task: see --threads, --memory and --scratch"
        if self.address == LOCAL:
            raise CannotRun(message)
        print(f"e2fleet: {message}; waiting for one", file=sys.stderr)

    def next_batch(self, tasks: Tasks, left: int, slots: int) -> Batch | None:
        if self.waiting:
            return self.waiting.popleft()
        most = math.ceil(left / (slots * BATCHES_PER_SLOT))
        count = max(1, min(MOST_IN_BATCH, most, int(BATCH_SECONDS / self.seconds_per_task)))
        batch = tasks.take(count)
        return Batch(batch) if batch else None

    def submit(self, batch: Batch) -> None:
        limits = batch.tasks[0].limits
        room = {
            "num_cpus": limits.threads,
            "memory": limits.memory_bytes or None,
            "resources": {"scratch": self.scratch} if self.scratch else None,
        }
        # The settings travel with each batch: an object of their own could be lost with its node.
        self.running[self.remote.options(**room).remote(batch.tasks, self.settings)] = batch

    def lose(self, batch: Batch, reason: str) -> list[Result]:
        """What of it is given up. Of several tasks, one may have ended the worker, and which is not known."""
        if len(batch.tasks) > 1:
            self.waiting.extend(Batch([task]) for task in batch.tasks)
            return []
        if batch.times_lost < self.retries:
            self.waiting.append(Batch(batch.tasks, batch.times_lost + 1))
            return []
        return [make_result(batch.tasks[0], self.settings, Outcome(STATUS_NOT_RUN, f"its worker was lost: {reason}"), 0)]

    def collect(self, reference: Any) -> list[Result]:
        batch = self.running.pop(reference)
        try:
            results: list[Result] = ray.get(reference)
        except ray.exceptions.RayError as error:
            return self.lose(batch, cause(error))
        if len(results) < len(batch.tasks):
            self.waiting.append(Batch(batch.tasks[len(results) :]))
        for result in results:
            # How many tasks make a batch follows what the last ones took.
            self.seconds_per_task += (max(result.seconds, 0.001) - self.seconds_per_task) / 16
        return results

    def find_changes(self, done: Iterable[tuple[Task, Seen]]) -> Iterator[tuple[str, str]]:
        """Each host looks at what it has done, for it may be the only one that has it; where it has gone, any other."""
        alive = (node for node in ray.nodes() if node["Alive"])  # type: ignore[no-untyped-call]
        nodes = {node["NodeManagerHostname"]: node["NodeID"] for node in alive}
        running: dict[Any, tuple[Done, int]] = {}

        def submit(batch: Done, times_lost: int, host: str) -> None:
            place = NodeAffinitySchedulingStrategy(nodes[host], soft=True) if host in nodes else "DEFAULT"
            reference = self.look.options(scheduling_strategy=place).remote(batch, self.settings)
            running[reference] = (batch, times_lost)

        def collect(most_running: int) -> Iterator[tuple[str, str]]:
            while len(running) > most_running:
                (reference,), _ = ray.wait(list(running), num_returns=1)
                batch, times_lost = running.pop(reference)
                try:
                    yield from ray.get(reference)
                except ray.exceptions.RayError:
                    if times_lost >= self.retries:
                        raise
                    submit(batch, times_lost + 1, "")

        most_running = self.slots() * BATCHES_PER_SLOT
        for host, batch in batches_by_host(done):
            submit(batch, 0, host)
            yield from collect(most_running)
        yield from collect(0)

    def run(self, tasks: Iterator[Task], total: int, report: Callable[[list[Result]], bool]) -> None:
        """Until all have ended; when `report` returns False, no more begin. It is called each second at least."""
        goes_on, ahead = True, Tasks(tasks)
        slots, looked = self.slots(), time.monotonic()
        left = total
        while True:
            # What waits at a node could not be called back.
            most_running = slots * (1 if self.settings.stops_at_failure else BATCHES_PER_SLOT)
            while goes_on and len(self.running) < most_running and (batch := self.next_batch(ahead, left, slots)):
                self.submit(batch)
            if not self.running:
                return
            ready, _ = ray.wait(list(self.running), num_returns=1, timeout=SECONDS_BETWEEN_REPORTS)
            results = [result for reference in ready for result in self.collect(reference)]
            left -= len(results)
            goes_on = report(results) and goes_on
            if time.monotonic() - looked > SECONDS_BETWEEN_LOOKS:
                slots, looked = self.slots(), time.monotonic()


def check_address(address: str) -> None:
    """Ray itself tries for minutes, and says what only its developers understand."""
    host, _, port = address.rpartition("/")[2].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), SECONDS_TO_ANSWER).close()


def connect(address: str) -> None:
    try:
        check_address(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except OSError as error:
        raise CannotRun(f"{address}: {error.strerror or error}") from None
    except (OverflowError, RuntimeError, ValueError) as error:
        raise CannotRun(f"{address}: {error}") from None


def start_here(folder: str, scratch: int) -> None:
    """A cluster of this machine alone, whose sockets and logs are in a folder that only this user can enter."""
    resources: dict[str, float] = {}
    if scratch:
        resources["scratch"] = scratch_bytes()
    try:
        ray.init(
            address="local",
            _temp_dir=folder,
            resources=resources,
            object_store_memory=OBJECT_STORE_BYTES,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except Exception as error:  # it has no other class for a machine that is too slow
        raise CannotRun(f"Ray: {cause(error)}") from None


@contextmanager
def open_cluster(address: str, settings: Settings, scratch: int, retries: int) -> Iterator[Cluster]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    # Ray, and what it starts, print where they like.
    os.dup2(2, 1)
    # Paths of sockets are short, and that of TMPDIR may not be.
    guard = Guard(os.environ.get("RAY_TMPDIR", "/tmp"))
    try:
        if address == LOCAL:
            start_here(guard.folder, scratch)
        else:
            connect(address)
        # Ray's own handler prints its stack.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        # The nodes need Ray and the tools, but not this package: its code travels with the task.
        ray.cloudpickle.register_pickle_by_value(ext2mb_fleet)  # type: ignore[no-untyped-call]
        yield Cluster(address, settings, scratch, retries)
    except ray.exceptions.RayError as error:
        raise CannotRun(f"Ray: {cause(error)}") from None
    finally:
        ray.shutdown()
        guard.end()
