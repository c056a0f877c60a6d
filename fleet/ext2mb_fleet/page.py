# SPDX-License-Identifier: GPL-2.0-or-later
"""Results as one page that needs nothing else: a verdict, worst images, distributions, failures by cause."""
import pkgutil
from html import escape
from typing import Any

import duckdb

from ext2mb_fleet.one import size_text
from ext2mb_fleet.table import open_results

# Reports of e2frag and of e2populate have what is asked for in different places; results of one run have one kind.
SCORES = "report->>'$.verdict.score'"
SIZES = """coalesce((report->>'$.image.bytes')::HUGEINT,
    (report->>'$.filesystem.blocks')::HUGEINT * (report->>'$.filesystem.block_bytes')::HUGEINT)"""

# The part of a message that names the cause, without what differs from image to image: paths and numbers.
CAUSE = r"""regexp_replace(regexp_replace(coalesce(error, 'no message'), '/[^ :]+|[^ :]*\.[^ :]+', '…', 'g'),
    '\b[0-9]+\b', '#', 'g')"""

SUMMARY = """
SELECT kind, count(*) AS tasks, count(*) FILTER (status <> 0) AS failed, count(DISTINCT host) AS hosts,
    round(sum(seconds), 1) AS "seconds, all", round(median(seconds), 3) AS "median", round(max(seconds), 3) AS slowest
FROM lines GROUP BY kind ORDER BY kind
"""
WORST = f"""
SELECT image, round(({SCORES})::DOUBLE, 2) AS score,
    report->>'$.worst[0].path' AS "worst file", (report->>'$.worst[0].extents')::HUGEINT AS extents, host
FROM lines WHERE {SCORES} IS NOT NULL ORDER BY score DESC, image LIMIT 25
"""
# For these nothing needs to be done.
GOOD_VERDICTS = "fine%", "sparse by design"
VERDICTS = """
SELECT report->>'$.verdict.words' AS verdict, count(*) AS images
FROM lines WHERE verdict IS NOT NULL GROUP BY ALL ORDER BY images DESC, verdict
"""
COUNTS = f"""
SELECT count(*) AS tasks, count(*) FILTER (status <> 0) AS failed,
    count(*) FILTER (report->>'$.verdict.words' IS NOT NULL) AS judged,
    count(*) FILTER (NOT (report->>'$.verdict.words' LIKE '{GOOD_VERDICTS[0]}'
        OR report->>'$.verdict.words' = '{GOOD_VERDICTS[1]}')) AS bad
FROM lines
"""
FAILURES = f"""
SELECT {CAUSE} AS cause, status, count(*) AS tasks, min(coalesce(image, workload)) AS "for instance",
    count(DISTINCT host) AS hosts, min(log) AS log
FROM lines WHERE status <> 0 GROUP BY ALL ORDER BY tasks DESC, cause LIMIT 100
"""
SCORE_ROWS = f"""
SELECT (floor(({SCORES})::DOUBLE / 10) * 10)::HUGEINT AS "from", count(*) AS images
FROM lines WHERE {SCORES} IS NOT NULL GROUP BY ALL ORDER BY ALL
"""
SIZE_ROWS = f"""
SELECT (2 ** floor(log2({SIZES})))::HUGEINT AS "from", count(*) AS images
FROM lines WHERE {SIZES} > 0 GROUP BY ALL ORDER BY ALL
"""


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


def listed(caption: str, relation: duckdb.DuckDBPyRelation) -> str:
    rows = relation.fetchall()
    return table(caption, relation.columns, rows, "".join(map(row, rows)))


def bars(caption: str, first: str, rows: list[tuple[str, int]]) -> str:
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
    results = open_results(name)
    scores = [(f"{first} to {first + 10}", count) for first, count in results.sql(SCORE_ROWS).fetchall()]
    sizes = [(f"from {size_text(first)}", count) for first, count in results.sql(SIZE_ROWS).fetchall()]
    (counts,) = results.sql(COUNTS).fetchall()
    parts = {
        "Tasks": listed("What was done, in seconds", results.sql(SUMMARY)),
        "Failures by cause": listed("Messages without what differs from image to image", results.sql(FAILURES)),
        "Verdicts": bars("How many images have which verdict of e2frag", "verdict", results.sql(VERDICTS).fetchall()),
        "Worst images": listed("The highest scores of e4defrag first", results.sql(WORST)),
        "Scores": bars("How many images have which score of e4defrag", "score", scores),
        "Sizes": bars("How many images have which size", "size", sizes),
    }
    body = "".join(f"<section><h2>{title}</h2>\n{part}</section>\n" for title, part in parts.items() if part)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(name)}</title>'
        f'<link rel="icon" href="data:,"><style>\n{style()}</style></head>\n<body><main id="page">\n'
        f"<header><h1>{escape(name)}</h1></header>\n{verdict(*counts)}{body}</main></body></html>\n"
    )
