#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""choices.py INSTANCE SEED IMAGES REQUESTS: which blocks the running kernel takes on images that it has aged, and which ones
debugmb's explain takes for the same requests on the same images. INSTANCE is one of tracefs. Prints what differs, and how
many requests agreed.

A request is a file of the aged image that grows by fallocate(2). It is the first one of its mount, of a copy of the image, and
the kernel has read all groups before. So neither preallocations, nor a stream goal, nor another processor has a say, and what
the kernel does follows from the image, the length and the goal. The kernel's own event tells these two, as the search has
them, and what it took: ext4_mballoc_alloc, by groups and clusters.
"""
import collections
import json
import os
import random
import re
import subprocess
import sys
import time

EVENT = re.compile(
    r"ext4_mballoc_alloc: dev \S+ inode \d+ orig \S+ goal (?P<goal>\d+/-?\d+/\d+)@\d+ result (?P<result>\d+/\d+/\d+)@\d+ "
    r"blks \d+ grps \d+ cr CR_(?P<criterion>\w+) flags (?P<flags>\S+)"
)
CRITERIA = {
    "power of two": "POWER2_ALIGNED",
    "goal length fast": "GOAL_LEN_FAST",
    "best available": "BEST_AVAIL_LEN",
    "goal length slow": "GOAL_LEN_SLOW",
    "any free": "ANY_FREE",
}
# The groups differ, or the way through them: size, bytes a block, what else mke2fs is told, mb_optimize_scan.
KINDS = [
    ("96M", 1024, "", 1),
    ("320M", 4096, "-g 4096", 1),
    ("96M", 1024, "-g 2048", 1),
    ("96M", 1024, "", 0),
    ("96M", 1024, "-g 4096 -O ^flex_bg", 1),
    ("128M", 2048, "-g 2048 -G 4", 1),
    ("320M", 1024, "-O bigalloc -C 4096", 1),
    ("320M", 4096, "-g 4096", 0),
    ("64M", 1024, "-g 1024", 1),
    ("96M", 1024, "-g 2048 -O ^has_journal", 1),
]
LENGTHS = [1, 2, 3, 4, 7, 8, 16, 17, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1000, 1024, 2000, 2048]
DIRECTORIES, ROUNDS, MOST_FILES = 12, 4, 1200
FOLDER = "kernel"  # where images are mounted
LOOP_SECONDS = 10


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def write_to(path, text):
    with open(path, "w") as file:
        file.write(str(text))


class Mount:
    """An image, mounted as its kind says."""

    def __init__(self, image, optimize_scan):
        self.image = os.path.abspath(image)
        self.options = f"loop,noinit_itable,no_prefetch_block_bitmaps,mb_optimize_scan={optimize_scan}"

    def __enter__(self):
        os.makedirs(FOLDER, exist_ok=True)
        # A loop device may still be read-only for a moment.
        while True:
            run("mount", "-o", self.options, self.image, FOLDER)
            if not os.statvfs(FOLDER).f_flag & os.ST_RDONLY:
                break
            self.__exit__()
        self.device = os.stat(FOLDER).st_dev
        self.name = os.path.basename(os.path.realpath(f"/sys/dev/block/{os.major(self.device)}:{os.minor(self.device)}"))
        return self

    def tune(self, name, value):
        write_to(f"/sys/fs/ext4/{self.name}/{name}", value)

    def read_groups(self):
        with open(f"/proc/fs/ext4/{self.name}/mb_groups") as file:
            file.read()

    def sync(self):
        run("sync", "-f", FOLDER)

    def __exit__(self, *_):
        run("umount", FOLDER)
        # The kernel lets go of it with the last copy of the mount, and another test may have one for a moment.
        end = time.monotonic() + LOOP_SECONDS
        while self.image in run("losetup", "--all") and time.monotonic() < end:
            time.sleep(0.01)


def grow(path, length):
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.posix_fallocate(descriptor, os.fstat(descriptor).st_size, length)
        return True
    except OSError:  # it is full
        return False
    finally:
        os.close(descriptor)


def age(mounted, block, draw):
    """Fills it and deletes half, again and again. Returns the files that are left."""
    files = []
    for directory in range(DIRECTORIES):
        os.mkdir(f"{FOLDER}/{directory}")
    for turn in range(ROUNDS):
        for number in range(MOST_FILES):
            status = os.statvfs(FOLDER)
            if status.f_bavail < status.f_blocks // 16:
                break
            path = f"{FOLDER}/{draw.randrange(DIRECTORIES)}/{turn}.{number}"
            files.append(path)
            if not grow(path, int(block * min(draw.lognormvariate(2.5, 1.5) + 1, status.f_blocks / 60))):
                break
        draw.shuffle(files)
        while len(files) > MOST_FILES // 10 and os.statvfs(FOLDER).f_bavail < status.f_blocks // 2:
            os.unlink(files.pop())
        # What was freed can be taken after a commit.
        mounted.sync()
    return files


def trace_growth(instance, mounted, path, length):
    """The file grows by so many bytes: what the event says of the first search; None: there was none."""
    event = f"{instance}/events/ext4/ext4_mballoc_alloc"
    write_to(f"{event}/filter", f"dev == {os.major(mounted.device) << 20 | os.minor(mounted.device)}")
    write_to(f"{instance}/trace", "")
    write_to(f"{event}/enable", 1)
    grow(path, length)
    write_to(f"{event}/enable", 0)
    with open(f"{instance}/trace") as file:
        found = (EVENT.search(line) for line in file)
        # Later ones find what the first has changed.
        return next((search for search in found if search and "HINT_DATA" in search["flags"]), None)


class Image:
    """An aged one, and its geometry."""

    def __init__(self, kind, draw):
        size, self.block_bytes, options, self.optimize_scan = kind
        self.draw = draw
        run("truncate", "-s", "0", "aged.img")
        run("truncate", "-s", size, "aged.img")
        run("mke2fs", "-q", "-F", "-t", "ext4", "-b", str(self.block_bytes), *options.split(), "aged.img")
        with Mount("aged.img", self.optimize_scan) as mounted:
            self.files = age(mounted, self.block_bytes, draw)
        run("e2fsck", "-fn", "aged.img")
        header = run("dumpe2fs", "-h", "aged.img")

        def number(name, default):
            found = re.search(rf"^{name}: +(\d+)", header, re.MULTILINE)
            return int(found[1]) if found else default

        self.first_block = number("First block", 0)
        self.blocks_per_group = number("Blocks per group", 0)
        self.cluster_blocks = number("Cluster size", self.block_bytes) // self.block_bytes

    def kernel_takes(self, instance):
        """Of a file and a length that are drawn: what the event says."""
        path = self.draw.choice(self.files)
        length = self.draw.choice(LENGTHS) * self.block_bytes * self.cluster_blocks
        # What is larger than mb_stream_req begins in the group of the stream goal, which is 0 after a mount.
        is_stream = self.draw.random() < 0.4
        run("cp", "--sparse=always", "aged.img", "run.img")
        with Mount("run.img", self.optimize_scan) as mounted:
            mounted.read_groups()
            mounted.tune("mb_max_linear_groups", 0)
            if not is_stream:
                mounted.tune("mb_stream_req", 1 << 30)
            found = trace_growth(instance, mounted, path, length)
        os.unlink("run.img")
        return found

    def we_take(self, wanted, goal_group, goal_start):
        """Clusters, a group, and a cluster of it, or -1 for any. In the words of the event."""
        start = max(goal_start, 0) * self.cluster_blocks
        goal = max(1, self.first_block + goal_group * self.blocks_per_group + start)
        script = (
            f"policy series\npolicy mb_optimize_scan={self.optimize_scan}\npolicy mb_max_linear_groups=0\n"
            f"explain {wanted * self.cluster_blocks} {goal}\n"
        )
        found = subprocess.run(["debugmb", "--json", "aged.img"], input=script, capture_output=True, text=True)
        if found.returncode:
            return "nothing", found.stderr.strip()
        said = json.loads(found.stdout)
        taken = said["taken"]
        if not taken or not said["criteria"]:
            return "nothing", ""
        start = (taken["start"] - self.first_block) % self.blocks_per_group // self.cluster_blocks
        place = f"{taken['group']}/{start}/{taken['blocks'] // self.cluster_blocks}"
        return place, CRITERIA[said["criteria"][-1]["criterion"]]


def compare(image, instance, requests, criteria):
    """How many agree. criteria counts which the kernel needed."""
    agreed = 0
    for _ in range(requests):
        while not (kernel := image.kernel_takes(instance)):
            pass
        group, start, wanted = map(int, kernel["goal"].split("/"))
        ours = image.we_take(wanted, group, start)
        criteria[kernel["criterion"]] += 1
        if ours == (kernel["result"], kernel["criterion"]):
            agreed += 1
        else:
            print(f"goal {kernel['goal']}, {kernel['flags']}: {kernel['result']} by {kernel['criterion']} in the kernel, "
                  f"{ours[0]} by {ours[1]} here")  # fmt: skip
    return agreed


def main():
    instance, seed, images, requests = sys.argv[1], *map(int, sys.argv[2:])
    criteria = collections.Counter()
    agreed = 0
    for number in range(images):
        kind = KINDS[number % len(KINDS)]
        image = Image(kind, random.Random(f"{seed} {number}"))
        here = compare(image, instance, requests, criteria)
        if here != requests:
            print(f"{here} of {requests} agree: seed {seed}, {kind}")
        agreed += here
    print(f"{images} images: {agreed} of {images * requests} requests agree")
    # What the first group has would show little.
    if len(criteria) < 3:
        print(f"only these criteria: {dict(criteria)}")


main()
