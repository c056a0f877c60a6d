# SPDX-License-Identifier: GPL-2.0-or-later
"""One line on a terminal while it goes on, and one in the end."""
import json
import os
import sys
import time
from collections.abc import Iterable

from ext2mb_fleet.task import Result
from ext2mb_fleet.tasks import Counts

SECONDS_BETWEEN = 0.2


class Progress:
    def __init__(self, before: Counts, most_failures: int, logs: str) -> None:
        self.before = before
        self.most_failures = most_failures  # of this run; 0: any number
        self.logs = logs
        self.total = before.total
        self.done = before.done
        self.failed = before.failed
        self.started = time.monotonic()
        self.shown = 0.0
        self.is_terminal = sys.stderr.isatty()

    def add(self, done: int, failed: int) -> None:
        self.done += done
        self.failed += failed
        now = time.monotonic()
        if self.is_terminal and now - self.shown >= SECONDS_BETWEEN:
            self.shown = now
            self.show(now)

    @property
    def is_stopped(self) -> bool:
        """No further task shall begin."""
        return 0 < self.most_failures <= self.failed - self.before.failed

    def show(self, now: float) -> None:
        rate = (self.done - self.before.done) / max(now - self.started, 0.001)
        left = f", {(self.total - self.done) / rate:.0f} s left" if rate else ""
        sys.stderr.write(f"\r\033[K{self.done}/{self.total}, {self.failed} failed, {rate:.1f}/s{left}")
        sys.stderr.flush()

    def end(self) -> None:
        if self.is_terminal:
            self.show(time.monotonic())
            sys.stderr.write("\n")
        now = self.done - self.before.done
        again = f", {self.before.failed} of them before: --again repeats these" if self.before.failed else ""
        print(f"{self.total} tasks: {self.before.done} done before, {now} now; {self.failed} failed{again}",
              file=sys.stderr)  # fmt: skip
        if self.logs and self.failed > self.before.failed:
            print(f"messages of what failed: {os.path.join(self.logs, 'TASK.log')}, by the task of the result",
                  file=sys.stderr)  # fmt: skip
        left = self.total - self.done
        if self.is_stopped and left:
            print(f"stopped after {self.failed - self.before.failed} failures, as --max-failures={self.most_failures} "
                  f"says; {left} tasks are left: the same command goes on with them", file=sys.stderr)  # fmt: skip


class Layers:
    """How often tasks found a layer of theirs unpacked already."""

    def __init__(self) -> None:
        self.cached = self.made = self.cached_bytes = 0

    def add(self, ended: Iterable[Result]) -> None:
        for result in ended:
            for source in (json.loads(result.line).get("report") or {}).get("sources", []):
                self.made += source.get("layer_cache") == "made"
                if source.get("layer_cache") == "cached":
                    self.cached += 1
                    self.cached_bytes += source.get("layer_bytes", 0)

    def show(self) -> None:
        print(f"layers: {self.made} unpacked, {self.cached} found unpacked, which have {self.cached_bytes} bytes",
              file=sys.stderr)  # fmt: skip
