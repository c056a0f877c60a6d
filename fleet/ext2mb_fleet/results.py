# SPDX-License-Identifier: GPL-2.0-or-later
"""The result file: a line for each task that has ended, whole or not there."""
import fcntl
import json
import os
import stat
from types import TracebackType
from typing import Self


# Every result does.
BEGIN = b'{"task":"'


class BadResults(Exception):
    pass


class Results:
    """Open for one run at a time. What an earlier run has reported is in `done`."""

    def __init__(self, name: str, again: bool) -> None:
        self.name = name
        self.done: set[str] = set()
        self.descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadResults(f"{name}: another run writes to it") from None
        self.read(again)

    def read(self, again: bool) -> None:
        """Takes note of what is done (again: unless it failed), and cuts a line that was not written to its end."""
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
                    result = json.loads(line)
                    key, status = result["task"], result["status"]
                    if not isinstance(key, str) or not isinstance(status, int):
                        raise TypeError
                except (ValueError, KeyError, TypeError, RecursionError):
                    raise BadResults(f"{self.name}: line {number} is no result") from None
                if again and status != 0:
                    self.done.discard(key)
                else:
                    self.done.add(key)

    def write(self, lines: bytes) -> None:
        try:
            while lines:
                lines = lines[os.write(self.descriptor, lines) :]
        except OSError as error:
            raise BadResults(f"{self.name}: {error.strerror}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.fsync(self.descriptor)
        os.close(self.descriptor)
