# SPDX-License-Identifier: GPL-2.0-or-later
"""What tools write to standard error: kept while they run, and a file for each task that says something.

Standard library only, as the task itself.
"""
import os

from ext2mb_fleet.task import Result

# Of a log the first and the last half of this: what went wrong first, and what the tool said in the end.
MOST_LOG_BYTES = 1 << 18
MOST_LINE_BYTES = 1 << 16
MOST_LINE_CHARACTERS = 500


class Messages:
    """A tool may write for ever, and costs no more memory."""

    def __init__(self) -> None:
        self.first, self.last = bytearray(), bytearray()
        self.left_out = 0

    def add(self, piece: bytes) -> None:
        room = MOST_LOG_BYTES // 2 - len(self.first)
        self.first += piece[:room]
        self.last += piece[room:]
        self.left_out += max(0, len(self.last) - MOST_LOG_BYTES // 2)
        del self.last[: -MOST_LOG_BYTES // 2]

    def text(self) -> bytes:
        gap = b"\n... %d bytes are left out ...\n" % self.left_out if self.left_out else b""
        return bytes(self.first) + gap + bytes(self.last)


def last_line(text: bytes) -> str | None:
    lines = text[-MOST_LINE_BYTES:].decode(errors="replace").strip().splitlines()
    return lines[-1][:MOST_LINE_CHARACTERS] if lines else None


def log_path(folder: str, key: str) -> str:
    return os.path.join(folder, f"{key}.log")


def write_log(folder: str, result: Result) -> None:
    """A task that has said nothing has none, nor that of an earlier attempt. Errors: OSError."""
    path = log_path(folder, result.key)
    if result.log:
        try:
            with open(path, "wb") as file:
                file.write(result.log)
        except OSError as problem:
            problem.filename = path  # a full disk has none
            raise
    elif os.path.exists(path):
        os.unlink(path)
