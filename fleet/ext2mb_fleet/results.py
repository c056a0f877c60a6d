# SPDX-License-Identifier: GPL-2.0-or-later
"""The result file: a line for each task that has ended, whole or not there."""
import fcntl
import json
import os
import stat
import sys
import time
from types import TracebackType
from typing import Self

from ext2mb_fleet.seen import Seen

# Every result does.
BEGIN = b'{"task":"'
SECONDS_BETWEEN_SYNCS = 1.0


class BadResults(Exception):
    pass


def read_result(line: bytes) -> tuple[str, Seen]:
    """The task's key, and what a later run wants to know of it. No result: ValueError, KeyError, TypeError."""
    result = json.loads(line)
    key, status = result["task"], result["status"]
    host, inputs, outputs = (result.get(name) or "" for name in ("host", "inputs", "outputs"))
    if not all(isinstance(word, str) for word in (key, host, inputs, outputs)) or not isinstance(status, int):
        raise TypeError
    return key, Seen(status != 0, sys.intern(host), inputs, outputs)


class Results:
    """Open for one run at a time. What earlier runs have done is in `done`, by the tasks' keys."""

    def __init__(self, name: str, again: bool) -> None:
        self.name = name
        self.is_synced, self.synced = True, time.monotonic()
        self.done: dict[str, Seen] = {}
        self.descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadResults(f"{name}: another run writes to it") from None
        self.read(again)

    def read(self, again: bool) -> None:
        """Takes note of what is done (again: unless it failed), and cuts a line that was not written to its end.

        A task may have several lines, for it was done again: the last one counts.
        """
        whole_bytes = 0
        if not stat.S_ISREG(os.fstat(self.descriptor).st_mode):
            raise BadResults(f"{self.name}: is not a regular file")
        with open(self.name, "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    # Only what we have begun may be cut off.
                    if line[: len(BEGIN)] != BEGIN[: len(line)]:
                        raise BadResults(f"{self.name}: line {number} is no result")
                    os.truncate(self.descriptor, whole_bytes)
                    break
                whole_bytes += len(line)
                try:
                    key, seen = read_result(line)
                except (ValueError, KeyError, TypeError, RecursionError):
                    raise BadResults(f"{self.name}: line {number} is no result") from None
                if again and seen.is_failed:
                    self.done.pop(key, None)
                else:
                    self.done[key] = seen

    def write(self, lines: bytes) -> None:
        """They are on the disk after a second, at the latest when write() is called again then."""
        try:
            self.is_synced = self.is_synced and not lines
            while lines:
                lines = lines[os.write(self.descriptor, lines) :]
            if not self.is_synced and time.monotonic() - self.synced > SECONDS_BETWEEN_SYNCS:
                os.fsync(self.descriptor)
                self.is_synced, self.synced = True, time.monotonic()
        except OSError as error:
            raise BadResults(f"{self.name}: {error.strerror}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.fsync(self.descriptor)
        os.close(self.descriptor)
