# SPDX-License-Identifier: GPL-2.0-or-later
"""The result file: a line for each task that has ended, whole or not there."""
import fcntl
import json
import os
from types import TracebackType
from typing import Self


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
        with open(self.name, "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                whole_bytes += len(line)
                try:
                    result = json.loads(line)
                    key, status = result["task"], result["status"]
                except (ValueError, KeyError, TypeError):
                    raise BadResults(f"{self.name}: line {number} is no result") from None
                if again and status != 0:
                    self.done.discard(key)
                else:
                    self.done.add(key)
        os.truncate(self.descriptor, whole_bytes)

    def write(self, lines: bytes) -> None:
        while lines:
            lines = lines[os.write(self.descriptor, lines) :]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.fsync(self.descriptor)
        os.close(self.descriptor)
