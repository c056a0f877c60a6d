# SPDX-License-Identifier: GPL-2.0-or-later
"""One task, a line of LIST, and what holds for all tasks of a run.

This and what runs it (worker.py, seen.py) use the standard library only, so that it runs wherever parallel(1) has
sent it, and few modules, since it is started often.
"""
import argparse
import hashlib
import json
import os
from typing import Any, NamedTuple

from ext2mb_fleet.values import seconds, size_bytes, whole_number

KINDS = ("build", "score", "update", "extract", "replay")
KEYS = {
    "build": {"source", "image", "size", "options"},
    "score": {"image", "options"},
    "update": {"source", "image", "options"},
    "extract": {"image", "output", "options"},
    "replay": {"workload", "size", "options"},
}
REQUIRED = {
    "build": ("source", "image"),
    "score": ("image",),
    "update": ("image",),
    "extract": ("image", "output"),
    "replay": ("workload", "size"),
}


class Limits(NamedTuple):
    """What a task has, and needs of its node. A line may say other ones; they are no part of its meaning."""

    threads: int = 1
    memory_bytes: int = 0
    seconds: float = 3600  # after which it is ended; 0: never


# The keys of a line, and of the command line.
LIMITS = {"threads": ("threads", whole_number), "memory": ("memory_bytes", size_bytes), "timeout": ("seconds", seconds)}


class Task(NamedTuple):
    kind: str
    key: str  # what a task is known by in results: a digest of its line's meaning
    image: str
    sources: tuple[str, ...]
    size: str
    options: tuple[str, ...]
    workload: str
    output: str
    limits: Limits

    @property
    def made(self) -> str:
        """The file, or the folder, that it makes or changes; empty: none that stays."""
        return self.output or (self.image if self.kind in ("build", "update") else "")

    def described(self) -> dict[str, Any]:
        """Its part of the result."""
        line: dict[str, Any] = {"task": self.key, "kind": self.kind}
        if self.image:
            line["image"] = self.image
        if self.workload:
            line["workload"] = self.workload
        if self.sources:
            line["sources"] = list(self.sources)
        if self.output:
            line["output"] = self.output
        if self.size:
            line["size"] = self.size
        line["options"] = list(self.options)
        return line


class Settings(NamedTuple):
    """What holds for all tasks of a run."""

    folder: str  # the folder that relative paths begin in
    # What mke2fs finds in its environment. A node's own is not asked.
    source_date_epoch: str | None = None
    mke2fs_config: str | None = None  # the file that MKE2FS_CONFIG names
    mke2fs_config_digest: str = ""  # each host's has to have the same contents
    layer_cache: str = ""  # of each host, for all its builds; empty: none
    logs: str = ""  # a folder of the driver's host for what tools write to standard error; empty: none
    stops_at_failure: bool = False  # a batch ends with its first failure
    root: str = ""  # nothing that a task names may lie outside of it; empty: anywhere
    root_name: str = ""  # as the user calls it: links may lead there
    stale_seconds: float = 0  # what other hosts have not written to for so long is removed; 0: never


class Result(NamedTuple):
    line: bytes  # NDJSON
    status: int
    seconds: float
    key: str  # of the task
    log: bytes  # what the tool has written to standard error, if Settings.logs asks for it


class BadTask(Exception):
    pass


class CannotRun(Exception):
    """Nothing can be run; with the message for the user."""


def passable(word: str, key: str) -> str:
    """The word, if a program can be told it."""
    try:
        if b"\0" not in os.fsencode(word):
            return word
    except UnicodeEncodeError:
        pass
    raise BadTask(f"{key}: has a character that no name can have")


def words(value: object, key: str) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return tuple(passable(word, key) for word in value)
    raise BadTask(f"{key}: must be a list of strings" + (", or one" if key == "source" else ""))


def text(value: object, key: str) -> str:
    if isinstance(value, str) and value:
        return passable(value, key)
    raise BadTask(f"{key}: must be a string that is not empty")


def limits_of(found: dict[str, Any], usual: Limits) -> Limits:
    values = usual._asdict()
    for key, (name, value_of) in LIMITS.items():
        if key in found:
            try:
                values[name] = value_of(str(found[key]))
            except argparse.ArgumentTypeError as error:
                raise BadTask(f"{key}: {error}") from None
    return Limits(**values)


def parse_task(kind: str, line: str, usual: Limits = Limits()) -> Task:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise BadTask(f"is not JSON: {error}") from None
    except RecursionError:
        raise BadTask("is not JSON for a task: it is too deep") from None
    if not isinstance(found, dict):
        raise BadTask("must be a JSON object")
    for key in found:
        if key not in KEYS[kind] | LIMITS.keys():
            raise BadTask(f"{key}: unknown key; {kind} knows {', '.join(sorted(KEYS[kind] | LIMITS.keys()))}")
    for key in REQUIRED[kind]:
        if key not in found:
            raise BadTask(f"{key}: is missing")
    source = found.get("source", [])
    sources = words([source] if isinstance(source, str) else source, "source")
    if "source" in found and not all(sources or [""]):
        raise BadTask("source: names none")
    size = found.get("size", "")
    if isinstance(size, int) and not isinstance(size, bool):
        size = str(size)  # as mke2fs reads it: blocks
    meaning = (
        kind,
        text(found["image"], "image") if "image" in found else "",
        sources,
        text(size, "size") if "size" in found else "",
        words(found.get("options", []), "options"),
        text(found["workload"], "workload") if "workload" in found else "",
        text(found["output"], "output") if "output" in found else "",
    )
    key = hashlib.sha256(json.dumps(meaning).encode()).hexdigest()[:16]
    return Task(kind, key, *meaning[1:], limits_of(found, usual))
