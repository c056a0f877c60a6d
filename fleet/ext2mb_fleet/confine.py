# SPDX-License-Identifier: GPL-2.0-or-later
"""--root: what a list names lies below one folder, and what runs can open nothing else, whatever becomes of its links.

The kernel's Landlock holds for the thread that asks for it, and for all that this thread starts. Without it no task is
run: the tools open what they read and make by names, and a link could be changed after we have looked at it.
"""
import os
import stat
import struct
from collections.abc import Iterable

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


def libc_call(number: int, *arguments: object) -> int:
    import ctypes  # only with --root: it takes a while

    libc = ctypes.CDLL(None, use_errno=True)
    words = (ctypes.c_long(word) if isinstance(word, int) else word for word in arguments)
    answer: int = libc.syscall(ctypes.c_long(number), *words)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "Landlock")
    return answer


def landlock_version() -> int:
    """0: the kernel has none."""
    try:
        return libc_call(CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)
    except OSError:
        return 0


def allowed_rights(roots: Iterable[str], path: str, files: Iterable[str]) -> Iterable[tuple[str, int]]:
    yield from ((root, -1) for root in roots)
    yield from ((folder, EXECUTE | READ_FILE) for folder in (*PROGRAMS, *path.split(os.pathsep)))
    yield from ((name, READ_FILE | READ_DIR) for name in (*READ, *files))
    yield "/dev/null", WRITE_FILE


def confine(roots: Iterable[str], path: str, files: Iterable[str] = ()) -> None:
    """This thread and what it starts, from now on, to these folders, programs (PATH), and files to read. Errors: OSError."""
    import ctypes

    handled = (1 << RIGHTS.get(landlock_version(), 16)) - 1
    rules = libc_call(CREATE_RULESET, struct.pack("Q", handled), 8, 0)
    for name, rights in allowed_rights(roots, path, files):
        try:
            descriptor = os.open(name, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # what is not there is not opened either
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= OF_FILES
        libc_call(ADD_RULE, rules, RULE_PATH_BENEATH, struct.pack("=Qi", rights & handled, descriptor), 0)
        os.close(descriptor)
    ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc_call(RESTRICT_SELF, rules, 0)
    os.close(rules)


def find_outside(root: str, folder: str, paths: Iterable[str]) -> str | None:
    """A path that does not lie below the root, as links lead now."""
    for path in paths:
        place = os.path.realpath(os.path.join(folder, path))
        if os.path.commonpath((root, place)) != root:
            return path
    return None
