# SPDX-License-Identifier: GPL-2.0-or-later
"""--root: what a list names lies below one folder, and what runs can open nothing else, whatever becomes of its links.

The kernel's Landlock holds for the thread that asks for it, and for all that this thread starts; where it is missing,
mounts of its own do. On a host with neither, no task is run: the tools open what they read and make by names, and a
link could be changed after we have looked at it.
"""
import os
import socket
import stat
import struct
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from ext2mb_fleet.libc import call
from ext2mb_fleet.mounts import confine_to_mounts, enter_user_namespace, find_in_loop_device
from ext2mb_fleet.task import CannotRun

# linux/landlock.h; the numbers of its system calls are those of every architecture.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
CREATE_RULESET_VERSION, RULE_PATH_BENEATH = 1, 1
PR_SET_NO_NEW_PRIVS = 38
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL_DEV = 1, 2, 4, 8, 1 << 14, 1 << 15
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
# How many rights each version knows; later ones: 16.
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}

# What programs are made of, beside the folders of PATH: no folder of it can be read as a source.
PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
CONFIGURATION = ("mke2fs.conf", "e2fsck.conf", "ld.so.cache", "ld.so.preload", "localtime", "passwd", "group",
                 "nsswitch.conf", "selinux")  # fmt: skip
DEVICES = ("null", "random", "urandom", "zero")
READ = ("/proc", "/sys", *(f"/dev/{name}" for name in DEVICES), *(f"/etc/{name}" for name in CONFIGURATION))


def landlock_call(number: int, *arguments: int | bytes | None) -> int:
    return call("Landlock", "syscall", number, *arguments)


def landlock_version() -> int:
    """0: the kernel has none."""
    try:
        return landlock_call(CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)
    except OSError:
        return 0


def allowed_rights(roots: Iterable[str], path: str, files: Iterable[str]) -> Iterable[tuple[str, int]]:
    yield from ((root, -1) for root in roots)
    yield from ((folder, EXECUTE | READ_FILE) for folder in (*PROGRAMS, *path.split(os.pathsep)))
    yield from ((name, READ_FILE | READ_DIR) for name in (*READ, *files))
    yield "/dev/null", WRITE_FILE


def confine_by_landlock(roots: Iterable[str], path: str, files: Iterable[str]) -> None:
    handled = (1 << RIGHTS.get(landlock_version(), 16)) - 1
    rules = landlock_call(CREATE_RULESET, struct.pack("Q", handled), 8, 0)
    for name, rights in allowed_rights(roots, path, files):
        try:
            descriptor = os.open(name, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # what is not there is not opened either
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= OF_FILES
        landlock_call(ADD_RULE, rules, RULE_PATH_BENEATH, struct.pack("=Qi", rights & handled, descriptor), 0)
        os.close(descriptor)
    call("Landlock", "prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    landlock_call(RESTRICT_SELF, rules, 0)
    os.close(rules)


def confine(roots: list[str], path: str, files: Iterable[str], ways: Iterable[str]) -> subprocess.Popen[bytes] | None:
    """This thread and what it starts, from now on, to these roots, programs (PATH), and files to read. Errors: OSError.

    The last root is a folder that nobody else uses; ways: names that shall lead where they do now, though nothing can
    be opened there. Returns what ends with its input.
    """
    if not landlock_version():
        return confine_to_mounts(roots, (*PROGRAMS, *path.split(os.pathsep), *READ, *files), ways)
    confine_by_landlock(roots, path, files)
    return None


def prepare(confine_thread: Callable[[], None]) -> bool:
    """To be called before there are threads that call confine(). CannotRun: it would fail.

    False: owners of files are seen only as far as they are this user.
    """
    if landlock_version():
        return True
    is_root = os.geteuid() == 0
    try:
        if not is_root:
            enter_user_namespace()
        with ThreadPoolExecutor(1) as thread:
            thread.submit(confine_thread).result()
    except OSError as problem:
        raise CannotRun(
            f"--root: {socket.gethostname()} has neither Landlock (Linux 5.13 and later, where it is enabled) "
            f"nor mounts for this user alone: {problem.filename}: {problem.strerror}"
        ) from None
    return is_root


def find_outside(root: str, folder: str, paths: Iterable[str]) -> str | None:
    """Why a path is not allowed, as links lead now."""
    places = {path: os.path.realpath(os.path.join(folder, path)) for path in paths}
    for path, place in places.items():
        if os.path.commonpath((root, place)) != root:
            return f"{path}: lies outside of {root}"
    # The tools see no mounts but their own then.
    if not landlock_version() and (used := find_in_loop_device(places)):
        return f"{used}: a loop device has it open, and without Landlock nobody sees whether it is mounted"
    return None
