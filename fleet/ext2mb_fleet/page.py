# SPDX-License-Identifier: GPL-2.0-or-later
"""Results as one page that needs nothing else: a verdict, worst images, distributions, failures by cause.

Standard library only.
"""
import heapq
import json
import pkgutil
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from html import escape
from typing import Any, NamedTuple

from ext2mb_fleet.results import BadResults
from ext2mb_fleet.values import size_text

MOST_WORST, MOST_CAUSES = 25, 100
# What differs from image to image in messages about one cause: paths and numbers.
PATH = re.compile(r"/[^ :]+|[^ :]*\.[^ :]+")
NUMBER = re.compile(r"\b[0-9]+\b")
Rows = list[tuple[Any, ...]]


class Line(NamedTuple):
    """What the page needs of a result."""

    kind: str
    status: int
    host: str
    seconds: float
    name: str
    error: str | None
    log: str | None
    verdict: str | None
    score: float | None
    worst_file: str | None
    extents: int | None
    size: int | None


def at(found: Any, *path: str | int) -> Any:
    """None: it has no such member."""
    for part in path:
        try:
            found = found[part]
        except (KeyError, IndexError, TypeError):
            return None
    return found


def line_of(result: dict[str, Any]) -> Line:
    report = result.get("report")
    # Reports of e2frag and of the other tools have it in different places.
    size = at(report, "image", "bytes")
    if size is None:
        blocks, block_bytes = at(report, "filesystem", "blocks"), at(report, "filesystem", "block_bytes")
        size = blocks and block_bytes and blocks * block_bytes
    return Line(
        result["kind"], result["status"], result["host"], result["seconds"],
        result.get("image") or result.get("workload", ""),
        result["error"], result.get("log"), at(report, "verdict", "words"), at(report, "verdict", "score"),
        at(report, "worst", 0, "path"), at(report, "worst", 0, "extents"), size,
    )  # fmt: skip


def read_lines(name: str) -> list[Line]:
    """The last one of each task counts. OSError, BadResults."""
    lines: dict[str, Line] = {}
    with open(name, "rb") as file:
        for number, text in enumerate(file, 1):
            if not text.endswith(b"\n"):
                break  # of a run that goes on, or was killed
            try:
                result = json.loads(text)
                lines[result["task"]] = line_of(result)
            except (ValueError, KeyError, TypeError, RecursionError):
                raise BadResults(f"{name}: line {number} is no result") from None
    if not lines:
        raise BadResults(f"{name}: has no results")
    return list(lines.values())


def is_fine(verdict: str) -> bool:
    """Nothing needs to be done."""
    return verdict.startswith("fine") or verdict == "sparse by design"


def summary(lines: list[Line]) -> Rows:
    kinds = defaultdict(list)
    for line in lines:
        kinds[line.kind].append(line)
    return [
        (kind, len(of_kind), sum(line.status != 0 for line in of_kind), len({line.host for line in of_kind}),
         round(sum(seconds), 1), round(statistics.median(seconds), 3), round(max(seconds), 3))
        for kind, of_kind in sorted(kinds.items()) for seconds in [[line.seconds for line in of_kind]]
    ]  # fmt: skip


def failures(lines: list[Line]) -> Rows:
    causes = defaultdict(list)
    for line in lines:
        if line.status:
            causes[NUMBER.sub("#", PATH.sub("…", line.error or "no message")), line.status].append(line)
    rows: Rows = [
        (cause, status, len(of_cause), min(line.name for line in of_cause), len({line.host for line in of_cause}),
         min((line.log for line in of_cause if line.log), default=None))
        for (cause, status), of_cause in causes.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-row[2], row[0]))[:MOST_CAUSES]


def worst_images(lines: list[Line]) -> Rows:
    scored = ((line.score, line) for line in lines if line.score is not None)

    def order(found: tuple[float, Line]) -> tuple[bool, float, str]:
        score, line = found
        return is_fine(line.verdict or ""), -score, line.name

    return [
        (line.name, line.verdict, round(score, 2), line.worst_file, line.extents, line.host)
        for score, line in heapq.nsmallest(MOST_WORST, scored, key=order)
    ]


def counted(values: Iterable[Any]) -> list[tuple[Any, int]]:
    return sorted(Counter(values).items())


def verdicts(lines: list[Line]) -> list[tuple[Any, int]]:
    return sorted(counted(line.verdict for line in lines if line.verdict), key=lambda found: -found[1])


def scores(lines: list[Line]) -> list[tuple[Any, int]]:
    tens = counted(int(line.score // 10) * 10 for line in lines if line.score is not None)
    return [(f"{first} to {first + 10}", count) for first, count in tens]


def sizes(lines: list[Line]) -> list[tuple[Any, int]]:
    powers = counted(line.size.bit_length() - 1 for line in lines if line.size)
    return [(f"from {size_text(1 << power)}", count) for power, count in powers]


def cell(value: Any, tag: str = "td") -> str:
    """A cell; the first one of a row is its heading."""
    scope = ' scope="row"' if tag == "th" else ""
    if isinstance(value, int | float):
        return f"<{tag}{scope}>{value}</{tag}>"
    return f"<{tag}{scope} class=\"text\">{escape('' if value is None else str(value))}</{tag}>"


def row(values: tuple[Any, ...]) -> str:
    return "<tr>" + cell(values[0], "th") + "".join(map(cell, values[1:])) + "</tr>\n"


def table(caption: str, columns: list[str], rows: list[tuple[Any, ...]], body: str) -> str:
    """A table of rows, or of a body that shows them in another way; nothing if there are none."""
    if not rows:
        return ""
    numbers = [all(value is None or isinstance(value, int | float) for value in column) for column in zip(*rows)]
    numbers += [False] * (len(columns) - len(numbers))
    head = "".join(
        f'<th scope="col"{"" if number else " class=text"}>{escape(name)}</th>'
        for name, number in zip(columns, numbers)
    )
    return (
        f'<div class="scroll" tabindex="0"><table><caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>\n"
    )


def listed(caption: str, columns: str, rows: Rows) -> str:
    return table(caption, columns.split("|"), rows, "".join(map(row, rows)))


def bars(caption: str, first: str, rows: list[tuple[Any, int]]) -> str:
    most = max((count for _, count in rows), default=0)
    body = "".join(
        f'<tr>{cell(name, "th")}{cell(count)}'
        f'<td class="bars"><div class="track"><i style="width: {100 * count / most:.1f}%"></i></div></td></tr>\n'
        for name, count in rows
    )
    return table(caption, [first, "images", "of the most"], rows, body)


def style() -> str:
    """That of e2frag's page, and e2allocsim's, light and dark."""
    light, dark = ((pkgutil.get_data(__package__, name) or b"").decode() for name in ("page.css", "page_dark.css"))
    return f"{light}@media (prefers-color-scheme: dark) {{\n:root {{\n{dark}}}\n}}\ntable:has(.text) td.bars:not(.text) {{ width: 50% }}\n"


def verdict(tasks: int, failed: int, judged: int, bad: int) -> str:
    """What is to be done first, in large letters."""
    if failed:
        words, colour = f"{failed} of {tasks} tasks failed", "bad"
    elif bad:
        words, colour = f"{bad} of {judged} images are not fine", "bad"
    else:
        words, colour = "fine", "fine"
    more = f"<p>{bad} of {judged} images are not fine.</p>\n" if failed and bad else ""
    return f'<section><h2 class="verdict {colour}">Verdict: {words}</h2>\n{more}</section>\n'


def make_page(name: str) -> str:
    """OSError, BadResults."""
    lines = read_lines(name)
    judged = [is_fine(line.verdict) for line in lines if line.verdict]
    parts = {
        "Tasks": listed("What was done, in seconds", "kind|tasks|failed|hosts|seconds, all|median|slowest", summary(lines)),
        "Failures by cause": listed("Messages without what differs from image to image",
                                    "cause|status|tasks|for instance|hosts|log", failures(lines)),
        "Verdicts": bars("How many images have which verdict of e2frag", "verdict", verdicts(lines)),
        "Worst images": listed("Those that are not fine first, by their scores of e4defrag",
                               "image|verdict|score|worst file|extents|host", worst_images(lines)),
        "Scores": bars("How many images have which score of e4defrag", "score", scores(lines)),
        "Sizes": bars("How many images have which size", "size", sizes(lines)),
    }  # fmt: skip
    body = "".join(f"<section><h2>{title}</h2>\n{part}</section>\n" for title, part in parts.items() if part)
    counts = len(lines), sum(line.status != 0 for line in lines), len(judged), judged.count(False)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(name)}</title>'
        f'<link rel="icon" href="data:,"><style>\n{style()}</style></head>\n<body><main id="page">\n'
        f"<header><h1>{escape(name)}</h1></header>\n{verdict(*counts)}{body}</main></body></html>\n"
    )
