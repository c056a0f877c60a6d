# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of the kernel that Python 3.11 does not have."""
import os


def call(title: str, name: str, *arguments: int | str | bytes | None) -> int:
    """What the C library's function returns. OSError, with the title as its file's name."""
    import ctypes  # only with --root: it takes a while

    words = (
        ctypes.c_long(word) if isinstance(word, int) else os.fsencode(word) if word is not None else None
        for word in arguments
    )
    answer: int = getattr(ctypes.CDLL(None, use_errno=True), name)(*words)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), title)
    return answer
