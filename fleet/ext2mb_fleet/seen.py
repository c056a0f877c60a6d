# SPDX-License-Identifier: GPL-2.0-or-later
"""What a task depends on and what it has made, as the tools tell it: a later run compares it with what was there before."""
import hashlib
import os
import stat
from collections.abc import Iterator
from typing import Any, NamedTuple

from ext2mb_fleet.task import Task


class Seen(NamedTuple):
    """What a result tells a later run."""

    is_failed: bool
    host: str
    inputs: str
    outputs: str


class Listed(NamedTuple):
    """What a task reads and makes."""

    inputs: str  # a digest; empty: nobody can say whether it is the same, as of a device
    outputs: str = ""
    paths: tuple[str, ...] = ()  # of what the line names
    is_gone: bool = False  # an output is
    others: tuple[str, ...] = ()  # folders with files of nobody; in a user namespace they are of others
    failure: str = ""  # what the tool said instead; the digest is that of these words


# e2frag and e2allocsim have no list: these options name what they read and write. The other tools' are here for
# written_by_options() alone.
READ_OPTIONS = {"score": ("compare", "history", "against"), "replay": ("profile", "sizes")}
WRITE_OPTIONS = {
    "build": ("dm-verity", "dm-verity-root-hash", "oci-config", "against-ranges"),
    "update": ("against-ranges",),
    "extract": (),
    "score": ("html", "against-ranges"),
    "replay": ("html", "layout", "report"),
}
# What comes and goes, and what only saves time.
ROLES_NOT_MADE = ("temporary", "layer-cache")
# What the host has, and no line names.
ROLES_NOT_NAMED = ("temporary", "mke2fs-config", "accounts", "time-zone")


def digest(*words: str | bytes) -> str:
    return hashlib.sha256(b"\n".join(map(os.fsencode, words))).hexdigest()[:16]


def arguments_of(options: tuple[str, ...], names: tuple[str, ...]) -> Iterator[str]:
    """Of these options, as the tools take them: NAME=ARGUMENT or two words, and NAME may be cut short."""
    for option, following in zip(options, (*options[1:], "")):
        name, has_argument, argument = option[2:].partition("=")
        if option.startswith("--") and name and any(known.startswith(name) for known in names):
            yield argument if has_argument else following


def written_by_options(task: Task) -> set[str]:
    """What a task writes besides what it makes, as its options say. Two tasks that write one file are refused by it."""
    options = tuple("" if option.split("=")[0] == "--against" else option for option in task.options)
    found = set(arguments_of(options, WRITE_OPTIONS[task.kind]))
    if task.kind == "build":
        shorts = zip(options, (*options[1:], ""))
        found |= {option[2:] or following for option, following in shorts if option.startswith("-z")}
    return {path for path in found if path not in ("", "-", "append") and not path.startswith("/dev/")}


def list_options(task: Task, folder: str, *more: str) -> Listed:
    """Of e2frag or e2allocsim. more: what else the result depends on."""
    read = [*filter(None, [task.image]), *arguments_of(task.options, READ_OPTIONS[task.kind])]
    if task.kind == "replay":  # what is no file is a name that the tool knows
        read = [path for path in read if os.path.exists(os.path.join(folder, path))]
        read += (path for path in arguments_of(task.options, ("policy",)) if "/" in path)
    paths = (*read, *arguments_of(task.options, WRITE_OPTIONS[task.kind]))
    try:
        found = [(path, os.stat(os.path.join(folder, path))) for path in read]
    except OSError as problem:
        return Listed(digest(str(problem)), paths=paths)
    if any(stat.S_ISBLK(status.st_mode) for _, status in found):
        return Listed("", paths=paths)
    # Times of modification are often set to one value, to make an image reproducible. That of the last change cannot be.
    states = (f"{path} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}" for path, status in found)
    return Listed(digest(*more, *states), paths=paths)


def path_of(found: dict[str, Any]) -> str:
    return os.fsdecode(bytes.fromhex(found["path_hex"])) if "path_hex" in found else str(found["path"])


def look_at_output(path: str) -> str:
    """Empty: it is gone. Of a folder or a device only that it is there."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_size} {status.st_mtime_ns}" if stat.S_ISREG(status.st_mode) else "there"


def listed(report: Any, folder: str, is_shared: bool, has_cache: bool) -> Listed | None:
    """Of the JSON of e2populate, e2update or e2extract. None: it has no list.

    folder: in which their paths begin; is_shared: by hosts of a cluster, which have the same sources.
    """
    try:
        inputs, outputs = report["inputs"], report["outputs"]
        made = [(path_of(one), look_at_output(os.path.join(folder, path_of(one))))
                for one in outputs if one["role"] not in ROLES_NOT_MADE]  # fmt: skip
        named = [*inputs.get("files", ()), *inputs.get("folders", ()), *outputs]
        paths = tuple(path_of(one) for one in named if one["role"] not in ROLES_NOT_NAMED)
        others = tuple(path_of(one) for one in inputs.get("folders", ()) if one.get("of_nobody"))
        whole = inputs.get("portable_digest" if is_shared else "digest")
    except (TypeError, KeyError, ValueError):
        return None
    # A cache changes the order of what is in the image (--layout=layers), wherever it lies.
    state = digest(whole, "layers" if has_cache else "") if whole else ""
    return Listed(state, digest(repr(made)), paths, not all(look for _, look in made), others)


def find_change(seen: Seen, now: Listed) -> str | None:
    """Why the task has to be done again, if it has."""
    if not seen.is_failed:
        if now.is_gone:
            return "the image is gone"
        if now.outputs != seen.outputs:
            return "the image is not the one that was made"
        if not now.inputs:
            return "nobody can say whether its source is the same"
    # What the driver reports of a lost task says nothing of the nodes' files.
    if (seen.inputs or not seen.is_failed) and now.inputs != seen.inputs:
        return "what it is made from has changed"
    return None
