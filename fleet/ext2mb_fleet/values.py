# SPDX-License-Identifier: GPL-2.0-or-later
"""Words of the command line, and of a line of LIST, that are numbers; and names for a terminal."""
import argparse
import os
import re

SUFFIXES = {"K": 10, "M": 20, "G": 30, "T": 40}


# What a terminal obeys, and bytes that are no UTF-8.
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def printable(text: str) -> str:
    """As e2frag writes names that come from an image, which may be anybody's: \\033 for an escape."""
    return UNPRINTABLE.sub(lambda found: "".join(f"\\{byte:03o}" for byte in os.fsencode(found[0])), text)


def size_text(size: int) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} PiB"


def whole_number(text: str) -> int:
    """argparse.ArgumentTypeError: it is not a number."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: must be a number")
    return int(text)


def size_bytes(text: str) -> int:
    number, shift = (text[:-1], SUFFIXES[text[-1]]) if text[-1:] in SUFFIXES else (text, 0)
    if not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: must be a number with K, M, G or T after it, or nothing")
    return int(number) << shift


def seconds(text: str) -> float:
    try:
        number = float(text)
        if 0 <= number < 1e6:  # what poll(2) can wait for
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text}: must be a number of seconds, up to a million")


def number_range(text: str) -> range:
    first, dash, last = text.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text}: must be a number or a range like 1-10")
    return range(int(first), int(last or first) + 1)


def split_words(text: str) -> list[str]:
    return text.split(",")
