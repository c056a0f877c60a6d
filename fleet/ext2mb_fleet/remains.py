# SPDX-License-Identifier: GPL-2.0-or-later
"""What tools have left that were ended while they made an image, by a node that is lost, for instance.

A tool holds a lock on its file, and the next one removes what nobody holds, where the locks of all are seen. Hosts that
share a filesystem may not see each other's: there the name says who makes the file, .NAME.e2new-HOST-BOOT-NUMBER
("What a killed run leaves" in e2populate(8)).
"""
import fcntl
import os
import re
import socket
import time

NAME = re.compile(r"\..*\.e2new-(?P<host>.+)-(?P<boot>[^-]+)-\d+")
BOOT_ID = "/proc/sys/kernel/random/boot_id"


def read_boot() -> tuple[str, float]:
    """Which start of this host it is, and when that was. OSError."""
    with open(BOOT_ID, encoding="ascii") as file:
        identity = file.read().replace("-", "").strip()
    return identity, time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


def is_left(name: str, status: os.stat_result, stale_seconds: float) -> bool:
    """Nobody makes the file of this name any more, whether its lock is seen or not."""
    found = NAME.fullmatch(name)
    if not found:
        return False
    identity, started = read_boot()
    if identity.startswith(found["boot"]):
        return False  # the tools themselves see whether it is locked
    if found["host"] == re.sub(r"[^A-Za-z0-9.-]", "_", socket.gethostname()[:48]) and status.st_mtime < started:
        return True
    return 0 < stale_seconds < time.time() - status.st_mtime


def remove_remains(folder: str, stale_seconds: float) -> None:
    with os.scandir(folder) as entries:
        found = [entry for entry in entries if ".e2new-" in entry.name and entry.is_file(follow_symlinks=False)]
    for entry in found:
        try:
            if not is_left(entry.name, entry.stat(follow_symlinks=False), stale_seconds):
                continue
            descriptor = os.open(entry.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(entry.path)
            finally:
                os.close(descriptor)
        except OSError:
            pass  # somebody holds it, or has removed it, or may
