# SPDX-License-Identifier: GPL-2.0-or-later
"""One line on a terminal while it goes on, and one in the end."""
import sys
import time

from ext2mb_fleet.tasks import Counts

SECONDS_BETWEEN = 0.2


class Progress:
    def __init__(self, before: Counts) -> None:
        self.before = before
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
