# SPDX-License-Identifier: GPL-2.0-or-later
"""`e2fleet score IMAGE` shows of one image what the fleet's page shows of each. Standard library only."""
import json
import sys
from typing import Any

from ext2mb_fleet.task import CannotRun, Limits, Settings, parse_task
from ext2mb_fleet.values import printable, size_text
from ext2mb_fleet.worker import Worker


def check_image(name: str) -> None:
    """OSError; CannotRun: it is a LIST, whose results have no place."""
    with open(name, "rb") as file:
        if file.read(512).lstrip()[:1] == b"{":
            raise CannotRun(f"{name}: is a LIST: its results need --results FILE")


def summary(report: dict[str, Any], image: str, host: str) -> dict[str, Any]:
    worst = (report.get("worst") or [None])[0]
    filesystem, verdict = report["filesystem"], report["verdict"]
    return {
        "image": image,
        "verdict": verdict["words"],
        "score": verdict["score"],
        "score_words": verdict["score_words"],
        "bytes": filesystem["blocks"] * filesystem["block_bytes"],
        "worst_file": worst and worst["path"],
        "extents": worst and worst["extents"],
        "host": host,
    }


def show(found: dict[str, Any]) -> None:
    print(f"{printable(found['image'])}: {size_text(found['bytes'])}, {found['verdict']}")
    print(f"score of e4defrag: {found['score']:.2f} of 100, {found['score_words']}")
    if found["worst_file"]:
        print(f"worst file: {printable(found['worst_file'])}, {found['extents']} extents")


def score_one(image: str, settings: Settings, limits: Limits, is_json: bool) -> None:
    """Looks at it here and now. CannotRun, OSError."""
    check_image(image)
    with Worker(settings) as worker:
        result = json.loads(worker.run(parse_task("score", json.dumps({"image": image}), limits)).line)
    if result["status"]:
        raise CannotRun(result["error"] or f"{image}: e2frag has ended with {result['status']}")
    try:
        found = summary(result["report"], image, result["host"])
    except (KeyError, TypeError):
        raise CannotRun(f"{image}: e2frag is another version, and its report has no verdict") from None
    if is_json:
        # What is no Unicode becomes "?", as in results.
        sys.stdout.buffer.write(json.dumps(found, ensure_ascii=False, indent=2).encode(errors="replace") + b"\n")
    else:
        show(found)
    sys.stdout.flush()
