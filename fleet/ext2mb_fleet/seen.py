# SPDX-License-Identifier: GPL-2.0-or-later
"""What a task depends on and what it has made, as they are: a later run compares them with what an earlier one saw.

Standard library only, as the task itself. No file is read: sources may have terabytes.
"""
import functools
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ext2mb_fleet.task import Settings, Task


class Seen(NamedTuple):
    """What a result tells a later run."""

    is_failed: bool
    host: str
    inputs: str
    output: str


def describe(path: str, status: os.stat_result) -> str:
    of_file: tuple[int, ...] = (status.st_mode, status.st_uid, status.st_gid, status.st_rdev)
    # Times of modification are often set to one value, to make an image reproducible. That of the last change cannot be.
    # A device's times do not tell what is on it.
    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode):
        of_file += (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return repr((path, of_file))


def describe_tree(top: str) -> Iterator[str]:
    """A line for the file, or for each in the folder and below."""
    try:
        status = os.stat(top)
    except OSError as problem:
        yield repr((top, problem.errno))
        return
    yield describe(top, status)
    folders = [top] if stat.S_ISDIR(status.st_mode) else []
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as problem:
            yield repr((folder, problem.errno))
            continue
        for entry in entries:
            try:
                yield describe(entry.path, entry.stat(follow_symlinks=False))
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
            except OSError as problem:
                yield repr((entry.path, problem.errno))


def tree_digest(top: str) -> str:
    digest = hashlib.sha256()
    for line in describe_tree(top):
        digest.update(line.encode())
    return digest.hexdigest()


def source_paths(source: str) -> list[str]:
    """Where FILE, KIND:FILE or oci:FOLDER:REF may lie: what does not exist is noted, too."""
    paths = [source]
    if ":" in source:
        path = source.partition(":")[2]
        paths += [path, path.rpartition(":")[0] or path]
    return paths


def option_files(task: Task, folder: str) -> Iterator[str]:
    """Of --exclude-from=FILE or -l FILE, and what else is a file's name."""
    image = os.path.abspath(os.path.join(folder, task.image))
    for option in task.options:
        if option.startswith("--"):
            names = [option.partition("=")[2]]
        else:
            names = [option, option[2:]] if option.startswith("-") else [option]
        for path in (os.path.join(folder, name) for name in names):
            # --stable-from may name the image itself, and that changes with each build.
            if os.path.isfile(path) and os.path.abspath(path) != image:
                yield path


def see_inputs(task: Task, settings: Settings, look: Callable[[str], str] = tree_digest) -> str:
    """A digest of how the files look that the task is made from."""
    paths = [path for source in task.sources for path in source_paths(source)]
    if task.kind == "score":
        paths.append(task.image)
    paths += option_files(task, settings.folder)
    inputs = [look(os.path.join(settings.folder, path)) for path in paths]
    environment = () if task.kind == "score" else (settings.source_date_epoch, settings.mke2fs_config)
    return hashlib.sha256(repr((inputs, environment)).encode()).hexdigest()[:16]


def see_output(image: str) -> str:
    """The image's size and time. Both stay when it is renamed."""
    status = os.stat(image)
    return f"{status.st_size} {status.st_mtime_ns}"


def find_change(task: Task, seen: Seen, settings: Settings, look: Callable[[str], str]) -> str | None:
    """Why the task has to be done again, if it has."""
    if task.kind == "build" and not seen.is_failed:
        try:
            output = see_output(os.path.join(settings.folder, task.image))
        except OSError:
            return "the image is gone"
        if output != seen.output:
            return "the image is not the one that was made"
    # What the driver reports of a lost task says nothing of the nodes' files.
    if (seen.inputs or not seen.is_failed) and see_inputs(task, settings, look) != seen.inputs:
        return "what it is made from has changed"
    return None


def find_changes(done: Iterable[tuple[Task, Seen]], settings: Settings) -> Iterator[tuple[str, str]]:
    """The keys of the tasks that have to be done again, each with the reason."""
    # Tasks often share a source.
    look = functools.cache(tree_digest)
    for task, seen in done:
        if reason := find_change(task, seen, settings, look):
            yield task.key, reason
