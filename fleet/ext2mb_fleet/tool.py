# SPDX-License-Identifier: GPL-2.0-or-later
"""Running one tool to its end, or until its time is over: its report, and what it writes to standard error."""
import contextlib
import os
import select
import signal
import subprocess
import time
from typing import NamedTuple

from ext2mb_fleet.guard import Guard
from ext2mb_fleet.logs import Messages

# As timeout(1) has it.
STATUS_TIME_LIMIT = 124
SECONDS_UNTIL_KILL = 10
MOST_REPORT_BYTES = 1 << 26


class Ended(NamedTuple):
    status: int
    report: bytes | None  # None: longer than MOST_REPORT_BYTES
    log: bytes


class Tool:
    """A process that runs, and all that it starts, as a group. It may print for ever, and costs no more memory."""

    def __init__(self, command: list[str], folder: str, environment: dict[str, str], guard: Guard) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
            env=environment, start_new_session=True, bufsize=0, pass_fds=[guard.mark],
        )  # fmt: skip
        self.guard = guard
        guard.add(self.process.pid)
        self.report, self.messages = bytearray(), Messages()
        self.is_too_long = False
        assert self.process.stdout and self.process.stderr
        self.output, self.errors = self.process.stdout.fileno(), self.process.stderr.fileno()
        self.end = os.pidfd_open(self.process.pid)
        self.open = {self.output, self.errors, self.end}
        self.poll = select.poll()
        for descriptor in self.open:
            self.poll.register(descriptor, select.POLLIN)

    def read(self, seconds: float) -> bool:
        """Until it has ended, with all that has its output: True; False: it has not in this time; 0: without end."""
        end = time.monotonic() + seconds
        while self.open:
            left = end - time.monotonic()
            if seconds and left <= 0:
                return False
            for descriptor, _ in self.poll.poll(left * 1000 if seconds else None):
                self.take(descriptor)
        return True

    def take(self, descriptor: int) -> None:
        piece = os.read(descriptor, 1 << 16) if descriptor != self.end else b""
        if not piece:
            self.poll.unregister(descriptor)
            self.open.remove(descriptor)
        elif descriptor == self.errors:
            self.messages.add(piece)
        elif len(self.report) + len(piece) <= MOST_REPORT_BYTES:
            self.report += piece
        else:
            self.is_too_long = True

    def stop(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            # Somebody may have killed it before it had a group.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            # False after SIGKILL: it waits for a disk, or what has left its session has its output.
            if self.read(SECONDS_UNTIL_KILL):
                return

    def close(self) -> int:
        """Its status, if it has ended."""
        if self.end not in self.open:
            self.guard.remove(self.process.pid)
            self.process.wait()
        os.close(self.end)
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()
        return self.process.returncode if self.process.returncode is not None else -signal.SIGKILL


def run_tool(command: list[str], folder: str, environment: dict[str, str], seconds: float, guard: Guard) -> Ended:
    """Errors: OSError, if it cannot be started."""
    tool = Tool(command, folder, environment, guard)
    is_late = True
    try:
        is_late = not tool.read(seconds)
    finally:  # a signal may end us
        if is_late:
            tool.stop()
        status = tool.close()
    report = None if tool.is_too_long else bytes(tool.report)
    return Ended(STATUS_TIME_LIMIT if is_late else status, report, tool.messages.text())
