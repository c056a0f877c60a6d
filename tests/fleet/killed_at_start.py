# SPDX-License-Identifier: GPL-2.0-or-later
"""killed_at_start.py ROUNDS SEED: how many processes outlive one that is killed (SIGKILL) while it starts tools.

A round is a process with four threads. It is killed at a moment between its first tool and 15 ms later; in every other
round its children are killed 15 ms before, as Ray does.
"""
import contextlib
import os
import random
import signal
import sys
import threading
import time

from ext2mb_fleet.guard import Guard
from ext2mb_fleet.tool import Tool

ROUNDS, SEED = int(sys.argv[1]), int(sys.argv[2])
SECONDS = f"1000.{os.getpid()}"  # tells the tools of this run from others


def start_tools(ready: int) -> None:
    guard = Guard()

    def work() -> None:
        while True:
            tool = Tool(["sleep", SECONDS], "/", dict(os.environ), guard)
            os.write(ready, b".")
            tool.stop()
            tool.close()

    for _ in range(4):
        threading.Thread(target=work).start()
    signal.pause()


def command_line(name: str) -> bytes:
    with open(f"/proc/{name}/cmdline", "rb") as file:
        return file.read()


def survivors() -> list[int]:
    """Tools, and children of this process and its kind that have not become tools: only these are in its group."""
    found = []
    us = command_line("self")
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            line = command_line(name)
            is_child = line == us and int(name) != os.getpid() and os.getpgid(int(name)) == os.getpgrp()
            if is_child or line == f"sleep\0{SECONDS}\0".encode():
                found.append(int(name))
        except OSError:
            pass  # it has ended
    return found


def kill_children(process: int) -> None:
    for thread in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{thread}/children", encoding="ascii") as file:
            for child in file.read().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(child), signal.SIGKILL)


moment = random.Random(SEED)
for number in range(ROUNDS):
    reader, writer = os.pipe()
    process = os.fork()
    if not process:
        start_tools(writer)
    os.close(writer)
    os.read(reader, 1)
    time.sleep(moment.uniform(0, 0.015))
    if number % 2:
        kill_children(process)
        time.sleep(0.015)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    os.close(reader)
end = time.monotonic() + 60  # the last round's guard has to look through /proc on a busy machine
while (left := survivors()) and time.monotonic() < end:
    time.sleep(0.02)
print(f"{len(left)} left")
for process in left:
    os.kill(process, signal.SIGKILL)
