# SPDX-License-Identifier: GPL-2.0-or-later
"""One line on a terminal while it goes on, and one in the end."""
import json
import os
import sys
import time
from collections.abc import Iterable

from ext2mb_fleet.task import Result
from ext2mb_fleet.tasks import Counts

STYLES = ("auto", "json", "none")
SECONDS_ON_TERMINAL = 0.2
# Without a terminal: a line for a log.
SECONDS_IN_LOG = 10.0
SECONDS_AS_JSON = 1.0


class Progress:
    def __init__(self, before: Counts, most_failures: int, logs: str, style: str) -> None:
        self.before = before
        self.most_failures = most_failures  # of this run; 0: any number
        self.logs = logs
        self.style = "terminal" if style == "auto" and sys.stderr.isatty() else style
        self.total = before.total
        self.done = before.done
        self.failed = before.failed
        self.started = time.monotonic()
        self.between = {"terminal": SECONDS_ON_TERMINAL, "auto": SECONDS_IN_LOG, "json": SECONDS_AS_JSON}.get(self.style, 0)
        self.shown = self.started

    def add(self, done: int, failed: int) -> None:
        self.done += done
        self.failed += failed
        now = time.monotonic()
        if self.between and now - self.shown >= self.between:
            self.shown = now
            self.show(now)

    @property
    def is_stopped(self) -> bool:
        """No further task shall begin."""
        return 0 < self.most_failures <= self.failed - self.before.failed

    def show(self, now: float) -> None:
        seconds = now - self.started
        rate = (self.done - self.before.done) / max(seconds, 0.001)
        left = (self.total - self.done) / rate if rate else None
        if self.style == "json":
            found = {"tasks": self.total, "done": self.done, "failed": self.failed, "seconds": round(seconds, 3),
                     "seconds_left": None if left is None else round(left, 3)}  # fmt: skip
            sys.stderr.write(json.dumps(found) + "\n")
        else:
            words = "" if left is None else f", {left:.0f} s left"
            begin, end = ("\r\033[K", "") if self.style == "terminal" else ("", "\n")
            sys.stderr.write(f"{begin}{self.done}/{self.total}, {self.failed} failed, {rate:.1f}/s{words}{end}")
        sys.stderr.flush()

    def end(self) -> None:
        if self.style in ("terminal", "json"):
            self.show(time.monotonic())
        if self.style == "terminal":
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
