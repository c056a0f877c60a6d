#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Judges what fs-verity has of files in images, by fsverity(1) and debugfs(8).
#
#	judge.py bytes IMAGE SOURCE PATH[,PATH...] [OPTION...]
#		the hashes and the descriptor of files, block by block; the options are those of `fsverity digest`
#	judge.py damage SEED COUNT E2POPULATE IMAGE PATH...
#		images with damaged descriptors of these files
#	judge.py trees SEED COUNT E2POPULATE MAKE_TREE
#		random trees with a third of their files protected, from directories, archives and images
import collections
import json
import os
import random
import re
import struct
import subprocess
import sys


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options).stdout


def extents_of(image, path):
    """Its extents, as (logical, physical, blocks, unwritten)."""
    extents = []
    for line in run("debugfs", "-R", f"ex {path}", image).decode(errors="replace").splitlines():
        # Level, entry, logical and physical blocks, their number, flags; entries of the tree's inner levels have no end.
        found = re.match(r"\s*(\d+)/\s*(\d+)\s+\d+/\s*\d+\s+(\d+) -\s+(\d+)\s+(\d+)(?: -\s+(\d+))?\s+(\d+)(.*)", line)
        if found and found[1] == found[2]:
            extents.append((int(found[3]), int(found[5]), int(found[7]), "Uninit" in found[8]))
    return extents


def block_bytes_of(image):
    return int(re.search(rb"Block size: *(\d+)", run("dumpe2fs", "-h", image))[1])


def judge_bytes(image, source, paths, *options):
    block_bytes = block_bytes_of(image)
    for path in paths.split(","):
        judge_file(image, block_bytes, source, path, options)


def judge_file(image, block_bytes, source, path, options):
    signature = next((option.partition("=")[2] for option in options if option.startswith("--signature=")), None)
    hashing = [option for option in options if not option.startswith("--signature=")]
    run("fsverity", "digest", *hashing, "--out-merkle-tree=judged.tree", "--out-descriptor=judged.descriptor",
        os.path.join(source, path))
    with open("judged.tree", "rb") as file:
        tree = file.read()
    with open("judged.descriptor", "rb") as file:
        descriptor = file.read()
    size = os.path.getsize(os.path.join(source, path))
    start = (size + 65535) // 65536 * 65536
    wanted = tree + bytes(-len(tree) % block_bytes)
    if signature:
        with open(signature, "rb") as file:
            descriptor += file.read()
    wanted += descriptor
    wanted += bytes(-(len(wanted) + 4) % block_bytes) + struct.pack("<I", len(descriptor))
    found = b""
    with open(image, "rb") as file:
        for logical, physical, blocks, unwritten in extents_of(image, "/" + path):
            end = (logical + blocks) * block_bytes
            if end <= start:
                continue
            skipped = max(0, start - logical * block_bytes)
            assert not unwritten
            assert start + len(found) == logical * block_bytes + skipped
            file.seek(physical * block_bytes + skipped)
            found += file.read(blocks * block_bytes - skipped)
    # A signature is not in what fsverity(1) hashes, but its size is in the descriptor on disk.
    if signature:
        at = len(tree) + -len(tree) % block_bytes + 4
        wanted = wanted[:at] + struct.pack("<I", len(descriptor) - 256) + wanted[at + 4:]
    if found != wanted:
        print(f"{path}: {len(found)} bytes beyond its end, not {len(wanted)}, or others")
        return
    print(f"{path}: {len(tree)} bytes of hashes, {len(descriptor)} of the descriptor")


def escaped(path):
    """The pattern that matches this path alone."""
    return b"/" + re.sub(rb"([^A-Za-z0-9/_.\x80-\xff-])", rb"\\\1", path)


def regular_files(source):
    for folder, _, names in os.walk(os.fsencode(source)):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path) and os.path.isfile(path):
                yield os.path.relpath(path, os.fsencode(source))


def digests_of(source, paths, block_bytes, options):
    """How often each digest should be there: once for a file, whatever its names."""
    inodes = {os.stat(os.path.join(os.fsencode(source), path)).st_ino: path for path in paths}
    found = collections.Counter()
    for path in inodes.values():
        text = run("fsverity", "digest", f"--block-size={block_bytes}", *options,
                   os.path.join(os.fsencode(source), path))
        found[text.split(b" ", 1)[0].decode()] += 1
    return found


def judge_tree(number, chance, e2populate, make_tree):
    source, image = "random", "random.img"
    run("rm", "-rf", source)
    run(make_tree, source, f"--seed={number}", "--files=60", "--xattr-bytes=500", "--longest-link=1000")
    # Some are 4 GiB of holes, which fsverity(1) reads one by one.
    files = sorted(path for path in regular_files(source)
                   if os.path.getsize(os.path.join(os.fsencode(source), path)) < 64 << 20)
    chosen = [path for path in files if chance.random() < 1 / 3] or files[:1]
    options = [f"--hash-alg={chance.choice(['sha256', 'sha512'])}"]
    if chance.random() < 0.5:
        options.append("--salt=" + chance.randbytes(chance.randrange(1, 33)).hex())
    given = ["--verity-" + option[2:] for option in options]
    given += [b"--verity=" + escaped(path) for path in chosen]
    run("tar", "-cSf", "random.tar", "--numeric-owner", "--xattrs", "--sort=name", "-C", source, ".")
    for block_bytes in 1024, 4096:
        wanted = digests_of(source, chosen, block_bytes, options)
        base = [e2populate, "-q", "--report=json", "--verify", "-b", str(block_bytes)]
        for what, arguments in (("directory", ["-d", source] + given), ("archive", ["-d", "random.tar"] + given),
                                ("image", ["-d", "again.img"])):
            try:
                out = subprocess.run(base + arguments + [image], check=True, stdout=subprocess.PIPE).stdout
                run("e2fsck", "-fn", image)
            except subprocess.CalledProcessError as error:
                print(f"tree {number}, {what}, {block_bytes}: {error.returncode} {error.stdout}")
                return 0
            found = collections.Counter(file["digest"] for file in json.loads(out)["verity"])
            if found != wanted:
                print(f"tree {number}, {what}, blocks of {block_bytes} bytes: {options} {found - wanted} {wanted - found}")
            os.rename(image, "again.img")
    return sum(wanted.values())


def judge_trees(seed, count, e2populate, make_tree):
    chance = random.Random(int(seed))
    files = sum(judge_tree(int(seed) + number, chance, e2populate, make_tree) for number in range(int(count)))
    # The number of trees is not the same in each run.
    print("random trees: all digests are fsverity(1)'s" if files >= int(count) else f"only {files} files")


def judge_damage(seed, count, e2populate, image, *paths):
    """Whatever is where a descriptor was, the image is read or refused, or the file is copied without."""
    chance = random.Random(int(seed))
    block_bytes = block_bytes_of(image)
    ends = [max(extents_of(image, path)) for path in paths]
    for _ in range(int(count)):
        run("cp", image, "damaged.img")
        with open("damaged.img", "r+b") as file:
            for _, physical, blocks, _ in ends:
                last = (physical + blocks) * block_bytes
                # The size, or the descriptor, which begins the last block.
                at = last - 4 if chance.random() < 0.4 else last - block_bytes + chance.randrange(300)
                file.seek(at)
                file.write(chance.choice([chance.randbytes(chance.randrange(1, 5)), b"\xff\xff\xff\xff", b"\0\x01\0\0"]))
        status = subprocess.run([e2populate, "-q", "-d", "damaged.img", "out.img"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL).returncode
        if status not in (0, 1):
            print(f"exit status {status}")
            os.rename("damaged.img", "wrong.img")
    print("damaged descriptors: no crash")


{"bytes": judge_bytes, "damage": judge_damage, "trees": judge_trees}[sys.argv[1]](*sys.argv[2:])
