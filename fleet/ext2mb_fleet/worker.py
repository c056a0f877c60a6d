# SPDX-License-Identifier: GPL-2.0-or-later
"""Running tasks: each is its tool, with limits of its own, and the line that reports it. The tool makes the image."""
import errno
import json
import os
import signal
import socket
import subprocess
import time
from types import TracebackType
from typing import Any, NamedTuple, Self

from ext2mb_fleet.confine import confine, find_outside, prepare
from ext2mb_fleet.guard import Guard
from ext2mb_fleet.logs import last_line, log_path
from ext2mb_fleet.remains import remove_remains
from ext2mb_fleet.seen import Listed, Seen, digest, find_change, list_options, listed
from ext2mb_fleet.task import CannotRun, Result, Settings, Task
from ext2mb_fleet.tool import MOST_REPORT_BYTES, STATUS_TIME_LIMIT, Ended, run_tool

# Statuses that are not the tool's own are as timeout(1) and the shell have them.
STATUS_NOT_RUN = 125
STATUS_NOT_INSTALLED = 127
# Where the tools are if the PATH of a login without privileges does not say so.
TOOL_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def tool_command(task: Task, settings: Settings, scratch: str) -> list[str]:
    """scratch: the image of a simulation, which nobody keeps."""
    common = ["--progress=none", f"--threads={task.limits.threads}"]
    if task.kind == "replay":
        # Threads are part of what is simulated; the options say how many.
        return ["e2allocsim", task.workload, "--json", "--progress=none", *task.options, "--", scratch, task.size]
    if task.kind == "score":
        return ["e2frag", "--json", *common, *task.options, "--", task.image]
    if task.kind == "extract":
        return ["e2extract", "--report=json", *common, f"--output={task.output}", *task.options, "--", task.image]
    sources = [word for source in task.sources for word in ("-d", source)]
    cache = [f"--layer-cache={settings.layer_cache}"] if settings.layer_cache else []
    tool = "e2populate" if task.kind == "build" else "e2update"
    command = [tool, "--report=json", *common, *cache, *task.options, *sources, "--", task.image]
    return command + [task.size] if task.size else command


def tool_environment(settings: Settings) -> dict[str, str]:
    environment = dict(os.environ, LC_ALL="C")
    environment["PATH"] = os.pathsep.join((os.environ.get("PATH", ""), *TOOL_FOLDERS))
    # A node's own would make an image of which nobody can say why it differs.
    for name, value in (("SOURCE_DATE_EPOCH", settings.source_date_epoch), ("MKE2FS_CONFIG", settings.mke2fs_config)):
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    return environment


def check_configuration(settings: Settings) -> None:
    """mke2fs goes on without the file that MKE2FS_CONFIG names, with other defaults. CannotRun: it is another one here."""
    if settings.mke2fs_config is None:
        return
    try:
        with open(settings.mke2fs_config, "rb") as file:
            if digest(file.read()) == settings.mke2fs_config_digest:
                return
        message = f"is another file on {socket.gethostname()}"
    except OSError as problem:
        message = str(problem.strerror)
    raise CannotRun(f"MKE2FS_CONFIG: {settings.mke2fs_config}: {message}")


def parse_report(output: bytes | None) -> Any:
    """What the tool has printed, if it is whole."""
    try:
        # JSON has no NaN, and what reads the results refuses it.
        return json.loads(output or b"", parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None


class Outcome(NamedTuple):
    """How a task has ended. What a driver reports of a lost one has seen nothing."""

    status: int
    error: str | None
    report: Any = None
    listed: Listed = Listed("")
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
    line["inputs"] = outcome.listed.inputs or None
    if task.made:
        line["outputs"] = outcome.listed.outputs or None
    line["report"] = outcome.report
    # What is no Unicode becomes "?": no reader of JSON takes half a pair of surrogates.
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    log = outcome.log if settings.logs else b""
    return Result(text.encode(errors="replace") + b"\n", outcome.status, seconds, task.key, log)


def error_of(ended: Ended, seconds: float) -> str | None:
    """One line: how it has ended, if not by itself, and what it said last."""
    words = []
    if ended.status == STATUS_TIME_LIMIT:
        words.append(f"ended after {seconds:g} s")
    elif ended.status == -signal.SIGKILL:
        words.append("killed by signal 9: out of memory, perhaps")
    elif ended.status < 0:
        words.append(f"killed by signal {-ended.status}")
    if ended.report is None:
        words.append(f"the report is longer than {MOST_REPORT_BYTES >> 20} MiB")
    if said := last_line(ended.log):
        words.append(said)
    return ": ".join(words) or None


class Worker:
    """Runs tasks, one at a time in each thread. To be left by `with`."""

    def __init__(self, settings: Settings, is_shared: bool = False) -> None:
        """is_shared: it is one of a cluster, whose hosts have the same files. CannotRun."""
        check_configuration(settings)
        self.settings, self.is_shared = settings, is_shared
        self.environment = tool_environment(settings)
        self.guard = Guard()
        self.searched: set[str] = set()  # folders without remains
        self.renamed: set[str] = set()  # folders with new names, which are not yet on the disk
        self.versions: dict[str, str] = {}
        self.knows_owners = True
        self.first_processes: list[subprocess.Popen[bytes]] = []
        if settings.root:
            self.environment["TMPDIR"] = self.guard.folder  # the tools can make files in no other
            try:
                self.knows_owners = prepare(self.confine_thread)
            except CannotRun:
                self.end()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.sync()
        self.end()

    def end(self) -> None:
        for process in self.first_processes:
            process.communicate()
        self.guard.end()

    def confine_thread(self) -> None:
        """What the thread runs from now on stays below --root."""
        if self.settings.root:
            config = filter(None, [self.settings.mke2fs_config and self.path(self.settings.mke2fs_config)])
            roots = [self.settings.root, self.guard.folder]
            ways = (self.settings.folder, self.settings.root_name)
            first = confine(roots, self.environment["PATH"], config, ways)
            self.first_processes += [first] if first else []

    def sync(self) -> None:
        """The names of finished images are on the disk then."""
        while self.renamed:
            try:
                descriptor = os.open(self.renamed.pop(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                os.fsync(descriptor)
                os.close(descriptor)
            except OSError:
                pass  # somebody has removed it; or its filesystem cannot, and no later one can either

    def path(self, name: str) -> str:
        return os.path.join(self.settings.folder, name)

    def start(self, command: list[str], seconds: float) -> Ended:
        return run_tool(command, self.settings.folder, self.environment, seconds, self.guard)

    def version(self, tool: str) -> str:
        if tool not in self.versions:
            self.versions[tool] = (self.start([tool, "--version"], 60).report or b"").decode(errors="replace")
        return self.versions[tool]

    def list(self, task: Task) -> Listed:
        """What it would read and make now. Errors: OSError."""
        if task.kind == "score":
            return list_options(task, self.settings.folder, self.version("e2frag"))
        if task.kind == "replay":
            settings = self.settings
            environment = (str(settings.source_date_epoch), settings.mke2fs_config_digest)
            return list_options(task, settings.folder, self.version("e2allocsim"), *environment)
        command = tool_command(task, self.settings, "")
        ended = self.start([command[0], "--list-inputs=json", *command[1:]], task.limits.seconds)
        if not ended.status and (found := self.listed_in(parse_report(ended.report))):
            return found
        # What it says instead changes when the source is there.
        failure = error_of(ended, task.limits.seconds) or f"{command[0]} is another version, and lists no inputs"
        return Listed(digest(failure), failure=failure)

    def listed_in(self, report: Any) -> Listed | None:
        return listed(report, self.settings.folder, self.is_shared, bool(self.settings.layer_cache))

    def find_change(self, task: Task, seen: Seen) -> str | None:
        """Why the task has to be done again, if it has."""
        try:
            return find_change(seen, self.list(task))
        except OSError as problem:
            return f"{problem.filename}: {problem.strerror}"

    def check_place(self, task: Task) -> None:
        """CannotRun: a file or folder lies outside of --root, or nobody can say where it lies."""
        if not (root := self.settings.root):
            return
        found = self.list(task)
        if found.failure:
            raise CannotRun(found.failure)
        if found.others and not self.knows_owners:
            raise CannotRun(f"{found.others[0]}: has files of others, and without Landlock only root sees whose they are")
        if reason := find_outside(root, self.settings.folder, found.paths):
            raise CannotRun(reason)

    def prepare_folder(self, folder: str) -> None:
        if folder in self.searched:
            return
        try:
            os.makedirs(folder, exist_ok=True)
            remove_remains(folder, self.settings.stale_seconds)
            self.searched.add(folder)
        except OSError:
            pass  # the tool says what is the matter

    def find_missing(self, task: Task, report: Any) -> str | None:
        """Why a status of 0 is not success, if it is not: options like --help and -n are for something else."""
        if not isinstance(report, dict):
            return "its status is 0, but there is no report: an option asks for something else"
        if not task.made:
            return None
        is_made = {"image", "outputs"} <= report.keys() and not report.get("size_only") and not report.get("dry_run")
        if is_made and os.path.exists(self.path(task.made)):
            return None
        return f"its status is 0, but it has not made {task.made}: an option asks for something else"

    def attempt(self, task: Task) -> Outcome:
        """CannotRun, OSError."""
        settings, limits = self.settings, task.limits
        # Before it begins: what changes under its hands makes the next run do it again. Other tools do so themselves.
        before = self.list(task) if task.kind in ("score", "replay") else None
        self.check_place(task)
        scratch = ""
        if task.kind == "replay":
            scratch = os.path.join(self.guard.folder, task.key)
        elif task.made:
            self.prepare_folder(os.path.dirname(self.path(task.made)))
        ended = self.start(tool_command(task, settings, scratch), limits.seconds)
        if scratch and os.path.exists(scratch):
            os.unlink(scratch)
        report = parse_report(ended.report)
        if task.made and not ended.status:
            self.renamed.add(os.path.dirname(self.path(task.made)))
        found = before or self.listed_in(report) or self.list(task)
        if not ended.status and ended.report is not None and (reason := self.find_missing(task, report)):
            return Outcome(STATUS_NOT_RUN, reason, None, found._replace(outputs=""), ended.log)
        if ended.status:
            found = found._replace(outputs="")
        return Outcome(ended.status, error_of(ended, limits.seconds), report, found, ended.log)

    def run(self, task: Task) -> Result:
        """Whatever happens to the task is in its result."""
        started = time.monotonic()
        try:
            outcome = self.attempt(task)
        except CannotRun as problem:
            outcome = Outcome(STATUS_NOT_RUN, str(problem))
        except OSError as problem:
            is_tool = problem.errno == errno.ENOENT and "/" not in str(problem.filename)
            status = STATUS_NOT_INSTALLED if is_tool else STATUS_NOT_RUN
            outcome = Outcome(status, f"{problem.filename}: {problem.strerror}")
        return make_result(task, self.settings, outcome, time.monotonic() - started)
