# SPDX-License-Identifier: GPL-2.0-or-later
"""Running a task: its tool, with a folder and limits of its own, and the line that reports it."""
import errno
import json
import math
import os
import selectors
import shutil
import signal
import socket
import stat
import subprocess
import time
from typing import Any, NamedTuple

from ext2mb_fleet.logs import Messages, last_line, log_path
from ext2mb_fleet.seen import see_inputs, see_output
from ext2mb_fleet.task import Result, Settings, Task

# Statuses that are not the tool's own are as timeout(1) has them.
STATUS_TIME_LIMIT = 124
STATUS_NOT_RUN = 125

SECONDS_UNTIL_KILL = 10
MOST_REPORT_BYTES = 1 << 26
# Where the tools are if the PATH of a login without privileges does not say so.
TOOL_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def work_folder(task: Task, settings: Settings) -> str:
    """The folder of the task, known by its key: the next attempt removes what an earlier one left.

    An image is built beside its place, so that it can be renamed into it. Elsewhere others may have the same task.
    """
    if task.kind == "build":
        return os.path.join(settings.folder, os.path.dirname(task.image), f".e2fleet-{task.key}")
    return os.path.join(settings.folder, os.environ.get("TMPDIR", "/tmp"), f".e2fleet-{os.getuid()}-{task.key}")


def make_work_folder(folder: str) -> str:
    """In the task's folder, one of this attempt.

    Another attempt may still run, of a node thought to be lost or of another run: what it makes must never get the name
    of ours. Neither folder may be someone else's.
    """
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    os.mkdir(folder, 0o700)
    own = os.path.join(folder, os.urandom(4).hex())
    os.mkdir(own, 0o700)
    return own


def remove_work_folder(own: str) -> None:
    """The task's folder with it, unless another attempt works there."""
    shutil.rmtree(own, ignore_errors=True)
    try:
        os.rmdir(os.path.dirname(own))
    except OSError:
        pass


def check_place(image: str) -> None:
    """Renaming would put the image in the place of a device, not onto it."""
    try:
        mode = os.stat(image).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "Is a directory", image)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "is not a regular file", image)


def tool_command(task: Task, settings: Settings, folder: str) -> list[str]:
    image = os.path.join(folder, "image")
    threads = f"--threads={settings.threads}"
    if task.kind == "score":
        return ["e2frag", "--json", "--progress=none", threads, *task.options, "--", task.image]
    if task.kind == "replay":
        # Threads are part of what is simulated; the options say how many.
        return ["e2allocsim", task.workload, "--json", "--progress=none", *task.options, "--", image, task.size]
    sources = [word for source in task.sources for word in ("-d", source)]
    cache = [f"--layer-cache={settings.layer_cache}"] if settings.layer_cache else []
    command = ["e2populate", "--report=json", "--progress=none", threads, *cache, *task.options, *sources, "--", image]
    return command + [task.size] if task.size else command


class Output:
    """What a tool prints: the report and messages. It may print for ever, and costs no more memory."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.report, self.messages = bytearray(), Messages()
        self.is_too_long = False
        self.selector = selectors.PollSelector()
        self.selector.register(process.stdout or -1, selectors.EVENT_READ, self.report)
        self.selector.register(process.stderr or -1, selectors.EVENT_READ, self.messages)

    def read(self, seconds: float) -> None:
        """Until the tool has ended. subprocess.TimeoutExpired: it has not in this time; 0: without end."""
        end = time.monotonic() + seconds if seconds else math.inf
        while self.selector.get_map():
            left = end - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(self.process.args, seconds)
            for key, _ in self.selector.select(None if left == math.inf else left):
                self.take(key)
        self.process.wait(None if end == math.inf else max(0.001, end - time.monotonic()))

    def take(self, key: selectors.SelectorKey) -> None:
        piece = os.read(key.fd, 1 << 16)
        if not piece:
            self.selector.unregister(key.fileobj)
        elif key.data is self.messages:
            self.messages.add(piece)
        elif len(self.report) + len(piece) <= MOST_REPORT_BYTES:
            self.report += piece
        else:
            self.is_too_long = True

    def end(self) -> None:
        """Ends the tool with all that it has started, if it has not ended."""
        if self.process.returncode is not None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(self.process.pid, number)
            try:
                self.read(SECONDS_UNTIL_KILL)
                return
            except subprocess.TimeoutExpired:
                # After SIGKILL: it waits for a disk, or what has left its session has its output.
                pass

    def close(self) -> None:
        self.selector.close()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


def parse_report(output: bytes | bytearray) -> Any:
    """What the tool has printed, if it is whole."""
    try:
        # JSON has no NaN, and what reads the results refuses it.
        return json.loads(output, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None


class Outcome(NamedTuple):
    """How a task has ended. What a driver reports of a lost one has seen nothing."""

    status: int
    error: str | None
    report: Any = None
    inputs: str | None = None
    output: str | None = None
    log: bytes = b""


def make_result(task: Task, settings: Settings, outcome: Outcome, seconds: float) -> Result:
    line = task.described()
    line["host"] = socket.gethostname()
    line["status"] = outcome.status
    line["error"] = outcome.error
    if settings.logs:
        line["log"] = log_path(settings.logs, task.key) if outcome.log else None
    line["seconds"] = round(seconds, 3)
    line["finished"] = round(time.time(), 3)
    line["inputs"] = outcome.inputs
    if task.kind == "build":
        line["output"] = outcome.output
    line["report"] = outcome.report
    # What is no Unicode becomes "?": no reader of JSON takes half a pair of surrogates.
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    log = outcome.log if settings.logs else b""
    return Result(text.encode(errors="replace") + b"\n", outcome.status, seconds, task.key, log)


def tool_environment(settings: Settings, folder: str) -> dict[str, str]:
    environment = dict(os.environ, TMPDIR=folder, LC_ALL="C")
    environment["PATH"] = os.pathsep.join((os.environ.get("PATH", ""), *TOOL_FOLDERS))
    # A node's own would make an image of which nobody can say why it differs.
    for name in ("SOURCE_DATE_EPOCH", "MKE2FS_CONFIG"):
        environment.pop(name, None)
    if settings.source_date_epoch is not None:
        environment["SOURCE_DATE_EPOCH"] = settings.source_date_epoch
    if settings.mke2fs_config is not None:
        environment["MKE2FS_CONFIG"] = os.path.join(folder, "mke2fs.conf")
        with open(environment["MKE2FS_CONFIG"], "wb") as file:
            file.write(settings.mke2fs_config)
    return environment


def run_tool(task: Task, settings: Settings, folder: str) -> Outcome:
    process = subprocess.Popen(
        # It cannot outlive a worker that has died.
        ["setpriv", "--pdeathsig", "KILL", *tool_command(task, settings, folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=settings.folder,
        env=tool_environment(settings, folder),
        start_new_session=True,
    )
    output = Output(process)
    try:
        output.read(settings.seconds)
        status = process.returncode
    except subprocess.TimeoutExpired:
        output.end()
        status = STATUS_TIME_LIMIT
    except BaseException:  # a signal ends us
        output.end()
        raise
    finally:
        output.close()
    image = os.path.join(folder, "image")
    log = output.messages.text(os.fsencode(image), os.fsencode(task.image))
    error = last_line(log)
    if status == STATUS_TIME_LIMIT:
        error = f"ended after {settings.seconds:g} s" + (f": {error}" if error else "")
    if output.is_too_long:
        error = f"the report is longer than {MOST_REPORT_BYTES >> 20} MiB" + (f": {error}" if error else "")
    report = None if output.is_too_long else parse_report(output.report)
    if task.kind != "build" or status != 0:
        return Outcome(status, error, report, log=log)
    made = see_output(image)
    os.replace(image, os.path.join(settings.folder, task.image))
    if isinstance(report, dict) and isinstance(report.get("image"), dict):
        report["image"]["path"] = task.image
    return Outcome(status, error, report, output=made, log=log)


def run_task(task: Task, settings: Settings) -> Result:
    """Runs it and returns its result. Whatever happens to it is in the result, and nothing of it stays but the image."""
    started = time.monotonic()
    # Before it begins: what changes under its hands makes the next run do it again.
    inputs = see_inputs(task, settings)
    try:
        if task.kind == "build":
            check_place(os.path.join(settings.folder, task.image))
        folder = make_work_folder(work_folder(task, settings))
        try:
            outcome = run_tool(task, settings, folder)
        finally:
            remove_work_folder(folder)
    except OSError as problem:
        outcome = Outcome(STATUS_NOT_RUN, f"{problem.filename2 or problem.filename}: {problem.strerror}")
    return make_result(task, settings, outcome._replace(inputs=inputs), time.monotonic() - started)
