#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the figures of doc/HOW-IT-WORKS.md into the folder that is given: doc/figures/figures.py doc/figures

A figure is 720 wide, so that its smallest letters can be read where a page gives it 640 pixels. Buddies and summaries
are computed from the bitmaps that are drawn. tests/house/figures draws them again and compares.
"""
import sys
from html import escape

WIDTH = 720
STYLE = """
.ground { fill: #ffffff; stroke: #dde1e7; }
text { font: 15px system-ui, "DejaVu Sans", sans-serif; fill: #1c2430; }
.title { font-size: 18px; font-weight: 600; }
.small { font-size: 13.5px; fill: #4a5563; }
.strong { font-weight: 600; }
.cell { font-size: 13.5px; font-weight: 600; }
.on { fill: #ffffff; font-weight: 600; }
.frame { fill: none; stroke: #8d97a6; stroke-width: 1.5; }
.card { fill: #f1f3f6; stroke: #c6ccd5; }
.free { fill: #ffffff; stroke: #8d97a6; }
.used { fill: #a3abb7; stroke: #727c8b; }
.metadata { fill: #7a62ab; stroke: #57428a; }
.taken { fill: #0072b2; stroke: #00507d; }
.reserved { fill: #f3c567; stroke: #a87900; }
.waiting { fill: #f4d3cf; stroke: #c4352b; stroke-width: 1.5; stroke-dasharray: 4 3; }
.line { fill: none; stroke: #4a5563; stroke-width: 1.5; }
.head { fill: #4a5563; }
@media (prefers-color-scheme: dark) {
	.ground { fill: #1c222b; stroke: #323b48; }
	text { fill: #e3e8ef; }
	.small { fill: #aab5c3; }
	.on { fill: #ffffff; }
	.frame { stroke: #8d97a6; }
	.card { fill: #262e39; stroke: #465162; }
	.free { fill: #1c222b; stroke: #8d97a6; }
	.used { fill: #566171; stroke: #8d97a6; }
	.metadata { fill: #8069b5; stroke: #b3a1dc; }
	.taken { fill: #1f7fc4; stroke: #7cc0f2; }
	.reserved { fill: #8a6a1c; stroke: #e6b94f; }
	.waiting { fill: #4d2a29; stroke: #f2766b; }
	.line { stroke: #aab5c3; }
	.head { fill: #aab5c3; }
}
"""


class Figure:
    def __init__(self, name, title, height):
        self.name, self.title, self.height = name, title, height
        self.parts = []
        self.text(20, 32, title, "title")

    def add(self, part):
        self.parts.append(part)

    def text(self, x, y, words, style="", anchor=""):
        # What would reach over the border in a font as wide as DejaVu Sans is an error.
        size = 18 if style == "title" else 13.5 if "small" in style else 15
        width = len(words) * size * (0.64 if "title" in style or "strong" in style else 0.58)
        start = x - (width if anchor == "end" else width / 2 if anchor else 0)
        if start < 4 or start + width > WIDTH - 4:
            sys.exit(f"{self.name}: too long: {words}")
        style = f' class="{style}"' if style else ""
        anchor = f' text-anchor="{anchor}"' if anchor else ""
        self.add(f'<text x="{x:g}" y="{y:g}"{style}{anchor}>{escape(words)}</text>')

    def lines(self, x, y, lines, style="", anchor="", step=20):
        for number, words in enumerate(lines):
            self.text(x, y + number * step, words, style, anchor)

    def box(self, x, y, width, height, style, words="", text_style="", radius=3):
        self.add(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" class="{style}"/>')
        if words:
            self.text(
                x + width / 2,
                y + height / 2 + 5,
                words,
                text_style or ("on" if style in ("taken", "metadata") else ""),
                "middle",
            )

    def arrow(self, *points):
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.add(f'<polyline points="{path}" class="line" marker-end="url(#head)"/>')

    def line(self, *points):
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.add(f'<polyline points="{path}" class="line"/>')

    def cells(self, x, y, kinds, size=20, height=20, words=None):
        for number, kind in enumerate(kinds):
            self.box(
                x + number * size,
                y,
                size - 2,
                height,
                kind,
                words[number] if words else "",
                "cell" if words and kind not in ("taken", "metadata") else "",
            )

    def legend(self, y, *entries):
        x = 20
        for kind, words in entries:
            self.box(x, y, 16, 14, kind)
            self.text(x + 24, y + 12, words, "small")
            x += 24 + len(words) * 8.1 + 18

    def write(self, folder):
        with open(f"{folder}/{self.name}.svg", "w", encoding="utf-8") as stream:
            stream.write(
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" width="{WIDTH}" '
                f'height="{self.height}" role="img">\n<title>{escape(self.title)}</title>\n'
                f"<!-- SPDX-License-Identifier: GPL-2.0-or-later; drawn by figures.py -->\n<style>{STYLE}</style>\n"
                '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
                'orient="auto-start-reverse"><path d="M0,0L10,5L0,10z" class="head"/></marker></defs>\n'
                f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{self.height - 1}" rx="10" class="ground"/>\n'
                + "\n".join(self.parts)
                + "\n</svg>\n"
            )


def free_runs(bitmap):
    start = None
    for number, mark in enumerate(bitmap + "#"):
        if mark == "." and start is None:
            start = number
        elif mark != "." and start is not None:
            yield start, number - start
            start = None


def buddies(bitmap):
    """Each free run, cut into the largest chunks that are a power of two long and begin at a multiple of that."""
    for start, count in free_runs(bitmap):
        while count:
            order = min(count.bit_length() - 1, (start & -start).bit_length() - 1 if start else 99)
            yield start, order
            start += 1 << order
            count -= 1 << order


def groups():
    figure = Figure("groups", "A group knows its free space in three ways", 330)
    figure.box(20, 52, 680, 34, "frame")
    for number in range(8):
        figure.box(20 + number * 85, 52, 85, 34, "card" if number == 3 else "frame", f"group {number}")
    figure.text(20, 108, "The disk, cut into block groups. One of them, with 32 of its 32 768 blocks:", "small")
    bitmap = "######...#..####........##......"
    figure.text(20, 140, "its bitmap")
    figure.cells(56, 150, ["free" if mark == "." else "used" for mark in bitmap])
    figure.text(20, 200, "its buddies: free runs in chunks of 1, 2, 4, 8 ... that begin at multiples of it")
    for start, order in buddies(bitmap):
        figure.box(56 + start * 20, 210, (20 << order) - 2, 26, "reserved", str(1 << order))
    runs = list(free_runs(bitmap))
    largest = max(order for _, order in buddies(bitmap))
    figure.text(20, 264, "its summary, one word that any thread can read without the group's lock:")
    figure.box(
        56,
        274,
        600,
        28,
        "card",
        f"{sum(count for _, count in runs)} free, in {len(runs)} free extents; the largest buddy has order "
        f"{largest} ({1 << largest} blocks)",
    )
    figure.legend(309, ("used", "in use"), ("free", "free"), ("reserved", "a buddy, with its length"))
    return figure


def order_sets():
    figure = Figure("order-sets", "Order sets: which groups have a buddy that is long enough?", 352)
    rows = [(3, "8 blocks", {6, 10, 1}), (4, "16 blocks", {8, 3}), (5, "32 blocks", {11, 0})]
    figure.text(20, 62, "A set for each order has the groups whose largest buddy is of that order.")
    figure.text(20, 84, "Asked for: 8 blocks, near group 5.")
    for number in range(12):
        figure.text(200 + number * 42, 114, str(number), "small strong" if number == 5 else "small", "middle")
    figure.text(20, 114, "group", "small")
    at = {}
    for row, (order, words, members) in enumerate(rows):
        y = 124 + row * 42
        figure.text(20, y + 21, f"order {order}: {words}", "small")
        for number in range(12):
            figure.box(182 + number * 42, y, 36, 32, "reserved" if number in members else "free")
            at[order, number] = (200 + number * 42, y + 21)
    # As scan_sweep() goes: the goal's group, then each order from there to the end, then each order before it.
    steps = [
        (order, number)
        for half in (range(5, 12), range(5))
        for order, _, members in rows
        for number in half
        if number in members
    ]
    for step, place in enumerate(steps):
        figure.text(*at[place], str(step + 2), "strong", "middle")
    figure.line((182 + 5 * 42 - 4, 100), (182 + 5 * 42 - 4, 250))
    figure.text(20, 276, "1: group 5 itself. Its summary says that it has no such buddy.")
    figure.text(
        20, 298, f"2 to 5: on to the last group, order by order. 6 to {len(steps) + 1}: the same from group 0."
    )
    figure.text(20, 320, "Who goes in one direction follows other threads, and does not meet them.", "small")
    figure.legend(330, ("reserved", "in this set, with the turn that it has"), ("free", "not in it"))
    return figure


def criteria():
    figure = Figure("criteria", "Criteria: ask for less only when there is no more", 376)
    rows = [
        (
            "power of two",
            "only lengths of 2, 4, 8 ...: a buddy of",
            "the very length; nothing is measured",
            "order sets",
        ),
        (
            "goal length, fast",
            "groups whose free extents are long",
            "enough on average; the best is taken",
            "order sets",
        ),
        ("best available", "the same for less than the goal, but", "not less than was asked for", "order sets"),
        ("goal length, slow", "each group that has so many free blocks,", "however they lie", "all groups"),
        ("any free", "whatever is free, if it is shorter, too", "", "all groups"),
    ]
    for number, (name, first, second, where) in enumerate(rows):
        y = 54 + number * 58
        figure.box(20 + number * 12, y, 190, 42, "taken" if number < 3 else "reserved", name)
        figure.lines(284, y + (17 if second else 26), [first, second] if second else [first], "small", step=18)
        figure.box(590, y + 6, 110, 30, "card", where, "small")
        if number < 4:
            figure.arrow((120 + number * 12, y + 42), (120 + number * 12, y + 57))
    figure.text(
        20, 352, "Down the arrow: nothing was found, and no group was passed over only because another", "small"
    )
    figure.text(
        20, 369, "thread holds it. The blue steps look at few groups; the others may look at all of them.", "small"
    )
    return figure


def stream_goals():
    figure = Figure("stream-goals", "Stream goals: files that grow side by side keep apart", 368)
    figure.text(20, 62, "Four files (A, B, C, D) grow by a block in turn. Where do their blocks go?")
    figure.text(20, 96, "One goal for all (Linux until 6.16): each block is an extent", "strong")
    figure.cells(
        20,
        106,
        ["taken" if letter in "AC" else "used" for letter in "ABCD" * 6] + ["free"] * 9,
        20,
        26,
        list("ABCD" * 6) + [""] * 9,
    )
    figure.text(20, 166, "A goal for each stream (Linux 6.17): each goes on where it was", "strong")
    for number, letter in enumerate("ABCD"):
        figure.cells(
            20 + number * 168,
            176,
            ["taken" if letter in "AC" else "used"] * 6 + ["free"] * 2,
            20,
            26,
            [letter] * 6 + [""] * 2,
        )
        figure.text(20 + number * 168, 220, f"the group of {letter}", "small")
    figure.text(20, 252, "Ours: goals lie 8 groups apart, and files reserve what comes next", "strong")
    for number, letter in enumerate("ABCD"):
        kind = "taken" if letter in "AC" else "used"
        figure.cells(20 + number * 168, 262, [kind] * 4 + ["reserved"] * 4, 20, 26, [letter] * 4 + [""] * 4)
        figure.text(20 + number * 168, 306, f"group {number * 8 + (number % 2 == 0)}", "small")
    figure.text(20, 332, "Groups 0 and 16 are kept for directories. Two files may share a goal.", "small")
    figure.legend(
        345,
        ("taken", "blocks of A and C"),
        ("used", "of B and D"),
        ("reserved", "reserved for the file"),
        ("free", "free"),
    )
    return figure


def preallocation():
    figure = Figure("preallocation", "Preallocation: a little more than was asked for", 410)
    figure.text(20, 62, "A file that grows", "strong")
    rows = [
        ("asks for 4 blocks: gets 4, and 12 stay reserved", ["taken"] * 4 + ["reserved"] * 12 + ["free"] * 8),
        (
            "asks for 4 more: they are there, nobody searches",
            ["used"] * 4 + ["taken"] * 4 + ["reserved"] * 8 + ["free"] * 8,
        ),
        ("is closed: what is left is free again", ["used"] * 8 + ["free"] * 16),
    ]
    for number, (words, kinds) in enumerate(rows):
        y = 74 + number * 34
        figure.cells(20, y, kinds, 12, 24)
        figure.text(320, y + 17, words, "small")
    figure.text(20, 204, "Small files share", "strong")
    figure.text(
        20, 226, "Files of up to 16 blocks take the next blocks of a run that is reserved for all of them.", "small"
    )
    figure.text(20, 254, "by processor (Linux): 1 and 2 are files of two directories")
    figure.cells(
        20,
        264,
        ["taken" if letter == "1" else "used" for letter in "121121221"] + ["reserved"] * 7,
        24,
        26,
        list("121121221") + [""] * 7,
    )
    figure.text(20, 318, "by directory (ours)")
    figure.cells(20, 328, ["taken"] * 5 + ["reserved"] * 3, 24, 26, ["1"] * 5 + [""] * 3)
    figure.cells(252, 328, ["used"] * 4 + ["reserved"] * 4, 24, 26, ["2"] * 4 + [""] * 4)
    figure.text(460, 346, "deleting 1 writes fewer bitmaps", "small")
    figure.legend(
        380,
        ("taken", "given now, or of directory 1"),
        ("used", "in use, or of directory 2"),
        ("reserved", "reserved"),
        ("free", "free"),
    )
    return figure


def pending_frees():
    figure = Figure("pending-frees", "Pending frees: what was freed waits for the commit", 330)
    rows = [
        ("before", "....####........####....", "nothing waits"),
        ("ext2mb_free(): blocks 4 to 7", "....wwww........####....", "4 to 7 wait, transaction 9"),
        ("ext2mb_free(): blocks 16 to 19", "....wwww........wwww....", "two runs wait"),
        ("ext2mb_commit()", "........................", "both are free, at once"),
    ]
    kinds = {"#": "used", ".": "free", "w": "waiting"}
    for number, (words, marks, says) in enumerate(rows):
        y = 52 + number * 56
        figure.text(20, y + 14, words)
        figure.cells(20, y + 22, [kinds[mark] for mark in marks], 18, 22)
        figure.text(470, y + 38, says, "small")
    figure.text(
        20, 288, "If a crash undoes the deletion, the file is whole: nobody else wrote to its blocks.", "small"
    )
    figure.legend(304, ("used", "in use"), ("waiting", "freed, not to be given out yet"), ("free", "free"))
    return figure


def orphan_file():
    figure = Figure("orphan-file", "The orphan file: a list without a queue at its head", 384)
    figure.text(
        20, 62, "A file that is deleted while it is open, or is being truncated, is an orphan: after a", "small"
    )
    figure.text(
        20, 80, "crash somebody has to finish that. The orphan file has a slot for each one's number.", "small"
    )
    blocks = [
        ("block 0", ["12", "", "31", "47", "", "", "", ""], None),
        ("block 1", ["", "88", "", "", "", "", "", ""], 0),
        ("block 2", ["", "", "", "", "", "", "", ""], 1),
    ]
    for number, (name, slots, new) in enumerate(blocks):
        y = 104 + number * 56
        count = sum(not slot for slot in slots) - (new is not None)
        kinds = ["used" if slot else "free" for slot in slots]
        if new is not None:
            kinds[new], slots[new] = "taken", "90" if number == 1 else "91"
        figure.text(20, y + 22, name)
        figure.box(96, y, 118, 34, "card", f"{count} free slots", "small")
        figure.cells(230, y, kinds, 42, 34, slots)
        if new is not None:
            figure.text(590, y + 22, f"thread {number}", "small strong")
            figure.arrow((588, y + 17), (570, y + 17))
    figure.text(20, 288, "1  reserve: lower the block's count, if it is not 0. Now a slot is certain.")
    figure.text(20, 310, "2  find it: swap a slot's 0 for the inode's number. If another thread was")
    figure.text(38, 330, "faster, try the next slot. There is no lock.")
    figure.text(20, 354, "To delete: the slot becomes 0 first, and the count rises after that.", "small")
    figure.text(20, 373, "Threads begin in different blocks, so they seldom want the same slot.", "small")
    return figure


def transactions():
    figure = Figure("transactions", "Transactions: all of an update, or none of it", 400)
    figure.box(20, 54, 150, 60, "card", "", radius=8)
    figure.lines(95, 80, ["program,", "libext2fs"], "", "middle")
    figure.box(250, 54, 190, 60, "reserved", "", radius=8)
    figure.lines(345, 80, ["blocks held", "in memory"], "", "middle")
    figure.box(520, 54, 180, 60, "free", "", radius=8)
    figure.lines(610, 80, ["new contents,", "free blocks"], "", "middle")
    figure.arrow((170, 76), (248, 76))
    figure.text(209, 68, "writes", "small", "middle")
    figure.line((209, 76), (209, 128), (480, 128), (480, 84))
    figure.arrow((480, 84), (518, 84))
    figure.text(345, 146, "what nothing refers to yet goes to its place at once", "small", "middle")
    figure.text(20, 184, "On the disk, when the program commits", "strong")
    figure.box(20, 198, 420, 44, "frame")
    for x, width, kind, words in (
        (24, 96, "metadata", "descriptor"),
        (124, 66, "reserved", "block"),
        (194, 66, "reserved", "block"),
        (264, 66, "reserved", "block"),
        (334, 102, "taken", "commit"),
    ):
        figure.box(x, 203, width, 34, kind, words, "cell" if kind == "reserved" else "")
    figure.text(450, 225, "the journal", "small")
    figure.box(20, 276, 420, 44, "frame")
    for x in (60, 190, 330):
        figure.box(x, 281, 66, 34, "reserved", "block", "cell")
    figure.text(450, 303, "their own places", "small")
    for start, end in ((157, 93), (227, 223), (297, 363)):
        figure.arrow((start, 238), (end, 279))
    figure.text(
        20, 344, "1 the journal \u00b7 2 the commit block \u00b7 3 their places \u00b7 4 the journal is empty"
    )
    figure.text(
        20, 366, "A flush between any two. A crash before 2 leaves the old state: the journal is ignored.", "small"
    )
    figure.text(
        20, 384, "A crash after it leaves the new one: the next mount or e2fsck does step 3.", "small"
    )
    return figure


def image():
    figure = Figure("image", "How an image is planned and sealed", 436)
    stages = ["scan", "size", "format", "plan", "copy", "seal", "rename"]
    for number, name in enumerate(stages):
        figure.box(20 + number * 99, 54, 84, 36, "taken" if name in ("plan", "seal") else "card", name, radius=8)
        if number < 6:
            figure.arrow((104 + number * 99, 72), (118 + number * 99, 72))
    figure.text(20, 116, "plan: where blocks will be is decided before any contents move", "strong")
    figure.text(20, 142, "the tree, in the order of names, cut into districts", "small")
    counts = [3, 6, 4, 5]
    x, places = 20, []
    for number, count in enumerate(counts):
        figure.cells(x, 152, ["used" if number % 2 else "taken"] * count, 22, 26, [str(number + 1)] * count)
        places.append((x, count))
        x += count * 22 + 20
    x = 20
    figure.cells(x, 216, ["metadata"] * 2, 22, 26)
    x += 44
    for number, (start, count) in enumerate(places):
        if number == 2:
            figure.cells(x, 216, ["metadata"] * 2, 22, 26)
            x += 44
        figure.cells(x, 216, ["used" if number % 2 else "taken"] * count, 22, 26, [str(number + 1)] * count)
        figure.arrow((start + count * 11, 181), (x + count * 11, 213))
        x += count * 22
    figure.cells(x, 216, ["free"] * ((698 - x) // 22), 22, 26)
    figure.text(
        20, 264, "the free space: each district gets as much of it as it needs, and a thread fills it. The", "small"
    )
    figure.text(20, 283, "ranges depend on the tree alone, not on which thread is faster: the same bytes.", "small")
    figure.text(20, 316, "seal: the metadata is written last, and of it the superblock", "strong")
    parts = [("xattrs, directories", 182), ("inode tables", 126), ("bitmaps, descriptors", 192), ("superblock", 112)]
    x = 20
    for number, (words, width) in enumerate(parts):
        figure.box(x, 330, width, 36, "metadata", words)
        if number < 3:
            figure.arrow((x + width, 348), (x + width + 18, 348))
        x += width + 20
    figure.text(20, 392, "Then the file gets its name. Until then an older image of that name is whole.", "small")
    figure.legend(
        408, ("metadata", "metadata"), ("taken", "a district's blocks"), ("used", "the next one's"), ("free", "free")
    )
    return figure


if __name__ == "__main__":
    for draw in (
        groups,
        order_sets,
        criteria,
        stream_goals,
        preallocation,
        pending_frees,
        orphan_file,
        transactions,
        image,
    ):
        draw().write(sys.argv[1])
