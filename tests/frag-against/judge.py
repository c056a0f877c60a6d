#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""judge.py OLD NEW CHUNK [OFFSET [tail]]: what e2frag --against says, found naively: dumpe2fs names the free blocks, and every
other block is compared. Prints counts, and then ranges as --against-ranges writes them."""
import re
import subprocess
import sys

old, new, chunk = sys.argv[1], sys.argv[2], int(sys.argv[3])
offset = int(sys.argv[4]) if len(sys.argv) > 4 else 0
with_tail = len(sys.argv) > 5

with open(old, "rb") as file:
    older = file.read()[offset:]
with open(new, "rb") as file:
    newer = file.read()[offset:]
with open("judged.img", "wb") as file:
    file.write(newer)
text = subprocess.run(["dumpe2fs", "judged.img"], capture_output=True, check=True).stdout.decode(errors="replace")


def field(name):
    return int(re.search(rf"^{name}: *(\d+)", text, re.M)[1])


size = field("Block size")
end = field("Block count") * size
cluster = field("Cluster size") // size if "Cluster size" in text else 1
newer = newer if with_tail else newer[:end]
free = set()
for line in re.findall(r"^  Free blocks: (.*)$", text, re.M):
    for part in re.findall(r"(\d+)(?:-(\d+))?", line):
        # With bigalloc the last one stands for its cluster.
        free.update(range(int(part[0]), int(part[1] or part[0]) + cluster))
used = [block for block in range((len(newer) + size - 1) // size) if block not in free]
differing = [block for block in used if newer[block * size:block * size + size] != older[block * size:block * size + size]
             or len(older) < min(block * size + size, len(newer))]


def chunks(blocks):
    found = set()
    for block in blocks:
        found.update(range(block * size // chunk, (min(block * size + size, len(newer)) - 1) // chunk + 1))
    return found


def cut(start, length):
    return min(start + length, len(newer)) - start


counts = {
    "image_bytes": len(newer),
    "blocks": len(used),
    "differing_blocks": len(differing),
    "differing_bytes": sum(cut(block * size, size) for block in differing),
    "chunks": len(chunks(used)),
    "differing_chunks": len(chunks(differing)),
    "differing_chunk_bytes": sum(cut(number * chunk, chunk) for number in chunks(differing)),
}
for name, value in counts.items():
    print(name, value)
ranges = []
for block in differing:
    if ranges and ranges[-1][0] + ranges[-1][1] == block * size:
        ranges[-1][1] += cut(block * size, size)
    else:
        ranges.append([block * size, cut(block * size, size)])
for start, length in ranges:
    print(start, length)
