# SPDX-License-Identifier: GPL-2.0-or-later
"""--root where the kernel has no Landlock: a thread's own mounts, with nothing but what it may open.

Names lead to the same places as outside, or to none. Tools that root's threads start have numbers of processes of
their own, too: else one could follow /proc/PID/root of others. An ordinary user makes mounts in a user namespace,
where the kernel refuses that, and where files of others seem to be nobody's, so that the worker refuses folders with
those.
"""
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping

from ext2mb_fleet.libc import call

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 1 << 17, 1 << 28, 1 << 29
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1 << 5, 1 << 12, 1 << 14, 1 << 18
MNT_DETACH = 2
LOOP_DEVICES = "/sys/block"


def enter_user_namespace() -> None:
    """With this process, which has one thread. OSError."""
    user, group = os.geteuid(), os.getegid()
    call("user namespace", "unshare", CLONE_NEWUSER)
    for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(line)


def mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    call(target, "mount", source, target, kind, flags, None)


def is_below(place: str, folder: str) -> bool:
    return os.path.commonpath((place, folder)) == folder


def lead(stage: str, name: str) -> str:
    """Makes the folders and links below the stage by which the name leads to its place. Returns the place."""
    place = ""
    for part in filter(None, name.split("/")):
        place += f"/{part}"
        if os.path.islink(place):
            if not os.path.lexists(stage + place):
                os.symlink(os.path.realpath(place), stage + place)
            place = os.path.realpath(place)
        if os.path.isdir(place):
            os.makedirs(stage + place, exist_ok=True)
    return place


def bring(stage: str, name: str, descriptor: int) -> None:
    place = stage + lead(stage, name)
    if not os.path.lexists(place):
        with open(place, "x", encoding="ascii"):
            pass
    mount(f"/proc/self/fd/{descriptor}", place, None, MS_BIND | MS_REC)


def bring_read_only(stage: str, names: Iterable[str]) -> None:
    there: list[str] = []
    for name in names:
        try:
            descriptor = os.open(name, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # what is not there is not opened either
        place = os.path.realpath(name)
        if any(is_below(place, other) for other in there):
            lead(stage, name)
        else:
            bring(stage, name, descriptor)
            there.append(place)
        os.close(descriptor)
    for point in mounts_below(stage):
        make_read_only(point)


def mounts_below(stage: str) -> Iterator[str]:
    with open("/proc/thread-self/mountinfo", "rb") as file:
        points = [line.split()[4].decode("unicode_escape").encode("latin-1") for line in file]
    return (point for point in map(os.fsdecode, points) if point.startswith(f"{stage}/"))


def make_read_only(point: str) -> None:
    try:
        kept = os.statvfs(point).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
    except (FileNotFoundError, PermissionError):
        return  # another mount covers it, or nobody whom we start gets there
    mount(None, point, None, MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def enter(stage: str) -> None:
    """The stage becomes this thread's root folder, and the former one is gone."""
    os.chdir(stage)
    call("pivot_root(2)", "pivot_root", ".", ".")
    call("umount2(2)", "umount2", ".", MNT_DETACH)
    os.chdir("/")


def start_first_process() -> subprocess.Popen[bytes]:
    """The first one of its numbers: when it ends, with us at the latest, the kernel ends all others."""
    first = subprocess.Popen(
        ["sh", "-c", "mount -t proc -o ro proc /proc && echo && read -r _"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert first.stdout
    if not first.stdout.read(1):
        raise PermissionError(1, os.strerror(1), "/proc")
    return first


def confine_to_mounts(roots: list[str], read: Iterable[str], ways: Iterable[str]) -> subprocess.Popen[bytes] | None:
    """As confine(). OSError."""
    stage, is_root = roots[-1], os.geteuid() == 0
    call("mount namespace", "unshare", CLONE_NEWNS | (CLONE_NEWPID if is_root else 0))
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    descriptors = [os.open(root, os.O_PATH | os.O_CLOEXEC) for root in roots]
    mount("tmpfs", stage, "tmpfs", MS_NOSUID | MS_NODEV)
    os.chmod(stage, 0o755)
    os.mkdir(f"{stage}/proc")
    bring_read_only(stage, (name for name in read if name.startswith("/") and not (is_root and name == "/proc")))
    for root, descriptor in zip(roots, descriptors):
        bring(stage, root, descriptor)
        os.close(descriptor)
    for way in ways:
        lead(stage, way)
    make_read_only(stage)
    enter(stage)
    return start_first_process() if is_root else None


def find_in_loop_device(places: Mapping[str, str]) -> str | None:
    """The first whose place is the file of a loop device."""
    backing = set()
    for device in os.listdir(LOOP_DEVICES):
        try:
            with open(f"{LOOP_DEVICES}/{device}/loop/backing_file", "rb") as file:
                backing.add(os.fsdecode(file.read().removesuffix(b"\n")))
        except OSError:
            pass  # it is no loop device, or has no file
    return next((path for path, place in places.items() if place in backing), None)
