# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line. Ray and DuckDB are loaded only by what needs them."""
import argparse
import difflib
import glob
import os
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn

from ext2mb_fleet import __version__
from ext2mb_fleet.driver import make_log_folder, make_settings, run_all
from ext2mb_fleet.logs import write_log
from ext2mb_fleet.one import score_one
from ext2mb_fleet.results import BadResults
from ext2mb_fleet.task import KINDS, BadTask, CannotRun, parse_task
from ext2mb_fleet.worker import run_task

SUCCESS, FAILURE, WRONG_USAGE, STOPPED = 0, 1, 2, 3
SHELLS = ("bash", "zsh")
SUFFIXES = {"K": 10, "M": 20, "G": 30, "T": 40}


def option_names(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from option_names(command)


class Parser(argparse.ArgumentParser):
    """Wrong usage is one line, as of the other tools; it names the option that was meant."""

    def error(self, message: str) -> NoReturn:
        for word in message.partition("unrecognized arguments: ")[2].split():
            nearest = difflib.get_close_matches(word.partition("=")[0], option_names(self), 1)
            if word.startswith("--") and nearest:
                message += f"; did you mean {nearest[0]}?"
        self.exit(WRONG_USAGE, f"{self.prog}: error: {message}\n")


class Failure(Exception):
    """With the message for the user."""


def size_bytes(text: str) -> int:
    number, shift = (text[:-1], SUFFIXES[text[-1]]) if text[-1:] in SUFFIXES else (text, 0)
    if not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: must be a number with K, M, G or T after it, or nothing")
    return int(number) << shift


def whole_number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: must be a number")
    return int(text)


def seconds(text: str) -> float:
    try:
        number = float(text)
        if 0 <= number < 1e6:  # what poll(2) can wait for
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text}: must be a number of seconds, up to a million")


def split_words(text: str) -> list[str]:
    return text.split(",")


def number_range(text: str) -> range:
    first, dash, last = text.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text}: must be a number or a range like 1-10")
    return range(int(first), int(last or first) + 1)


def add_layer_cache(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--layer-cache", default="", metavar="DIR",
                        help="of each host, for the layers and archives of its builds (auto: below ~/.cache)")  # fmt: skip


def add_logs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--logs", default="", metavar="DIR",
                        help="gets a file for each task whose tool writes messages: all of them")  # fmt: skip


def add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=whole_number, default=1, metavar="N", help="of each task's tool (default: 1)")
    parser.add_argument("--timeout", type=seconds, default=3600, metavar="SECONDS",
                        help="after which a task is ended (default: 3600; 0: never)")  # fmt: skip


def add_run_options(parser: argparse.ArgumentParser, needs_results: bool = True) -> None:
    parser.add_argument("--results", required=needs_results, metavar="FILE",
                        help="gets a line for each task; what it has is done again only if it changed")  # fmt: skip
    parser.add_argument("--again", action="store_true", help="do what has failed once more")
    parser.add_argument("--address", metavar="ADDRESS", help="of a Ray cluster; without it this machine does all")
    parser.add_argument("--memory", type=size_bytes, default=0, metavar="SIZE",
                        help="what a task needs; a node runs no more than have room")  # fmt: skip
    parser.add_argument("--scratch", type=size_bytes, default=0, metavar="SIZE",
                        help='the same of Ray\'s resource "scratch", in bytes')  # fmt: skip
    parser.add_argument("--retries", type=whole_number, default=3, metavar="N",
                        help="how often a task whose node was lost is tried again (default: 3)")  # fmt: skip
    parser.add_argument("--max-failures", type=whole_number, default=0, metavar="N",
                        help="begin no task after so many have failed, and exit with 3 (default: 0, any number)")  # fmt: skip
    add_logs(parser)
    add_limits(parser)


def make_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="e2fleet", description="Runs ext2mb's tools over many images.")
    parser.add_argument("-V", "--version", action="version", version=f"e2fleet {__version__}")
    parser.add_argument("--shell-completion", choices=SHELLS, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    build = commands.add_parser("build", help="make images with e2populate")
    build.add_argument("list", metavar="LIST", help="NDJSON: source, image, size, options")
    add_layer_cache(build)
    add_run_options(build)
    score = commands.add_parser("score", help="look at images with e2frag")
    score.add_argument("list", metavar="LIST|GLOB|IMAGE",
                       help="NDJSON: image, options; a pattern of names; or, without --results, one image")  # fmt: skip
    score.add_argument("--json", action="store_true", help="without --results: print the image's score as JSON")
    add_run_options(score, needs_results=False)
    replay = commands.add_parser("replay", help="run e2allocsim over policies, sizes and seeds")
    replay.add_argument("workloads", type=split_words, metavar="WORKLOAD[,WORKLOAD]...")
    replay.add_argument("--policies", type=split_words, default=["ext2mb"], metavar="POLICY[,POLICY]...")
    replay.add_argument("--sizes", type=split_words, required=True, metavar="SIZE[,SIZE]...", help="of the filesystem")
    replay.add_argument("--seeds", type=number_range, default=range(1, 2), metavar="N[-N]")
    replay.add_argument("--option", action="append", default=[], dest="options", metavar="OPTION",
                        help="of e2allocsim, as --option=--streams=8; may be given several times")  # fmt: skip
    add_run_options(replay)
    task = commands.add_parser("task", help="run tasks here and print their results: for parallel(1)")
    task.add_argument("kind", choices=KINDS)
    task.add_argument("lines", nargs="+", metavar="LINE", help="of a LIST")
    add_layer_cache(task)
    add_logs(task)
    add_limits(task)
    table = commands.add_parser("table", help="ask results with SQL: the table is called results")
    table.add_argument("results", metavar="RESULTS")
    table.add_argument("query", metavar="SQL")
    page = commands.add_parser("page", help="print a page for browsers")
    page.add_argument("results", metavar="RESULTS")
    return parser


def run_here(arguments: argparse.Namespace) -> int:
    logs = make_log_folder(arguments.logs)
    settings = make_settings(arguments.threads, arguments.timeout, arguments.layer_cache, logs)
    # parallel(1) ends its jobs so; nothing half done is left then.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    status = SUCCESS
    for line in filter(str.strip, arguments.lines):
        try:
            task = parse_task(arguments.kind, line)
        except BadTask as error:
            # The others of the job go on.
            print(f"e2fleet: {error}", file=sys.stderr)
            status = FAILURE
            continue
        result = run_task(task, settings)
        if logs:
            write_log(logs, result)
        sys.stdout.buffer.write(result.line)
        sys.stdout.buffer.flush()
        status = status or (FAILURE if result.status else SUCCESS)
    return status


def run_query(arguments: argparse.Namespace) -> int:
    import duckdb

    from ext2mb_fleet.page import make_page
    from ext2mb_fleet.table import print_table

    try:
        if arguments.command == "table":
            print_table(arguments.results, arguments.query)
        else:
            sys.stdout.buffer.write(make_page(arguments.results).encode(errors="replace"))
        sys.stdout.flush()
    except duckdb.Error as error:
        raise Failure(str(error)) from None
    return SUCCESS


def run_list(arguments: argparse.Namespace) -> int:
    progress = run_all(arguments)
    if progress.is_stopped:
        return STOPPED
    return FAILURE if progress.failed else SUCCESS


def run_score(arguments: argparse.Namespace) -> int:
    if arguments.results:
        if arguments.json:
            raise Failure("--json is for one image, and not with --results")
        return run_list(arguments)
    if glob.has_magic(arguments.list) and not os.path.exists(arguments.list):
        raise Failure(f"{arguments.list}: is a pattern of names: their results need --results FILE")
    score_one(arguments.list, make_settings(arguments.threads, arguments.timeout), arguments.json)
    return SUCCESS


RUN = {"task": run_here, "score": run_score, "table": run_query, "page": run_query}


def run_command() -> int:
    parser = make_parser()
    arguments = parser.parse_args()
    if not arguments.shell_completion and not arguments.command:
        parser.error("the following arguments are required: COMMAND")
    try:
        if arguments.shell_completion:
            from ext2mb_fleet.completion import completion

            sys.stdout.write(completion(arguments.shell_completion, parser))
            return SUCCESS
        return RUN.get(arguments.command, run_list)(arguments)
    except BrokenPipeError:
        raise
    except (BadTask, BadResults, CannotRun, Failure) as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
    except KeyboardInterrupt:
        message = "interrupted: the same command goes on with what is left"
    except ImportError as error:
        message = f"{error.name} is not installed: pip install ./fleet, in the sources of ext2mb, brings it"
    print(f"e2fleet: {message}", file=sys.stderr)
    return FAILURE


def main() -> NoReturn:
    try:
        try:
            status = run_command()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # Who reads has seen enough, as head(1): we end as other programs do, and as Python itself would not.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.raise_signal(signal.SIGPIPE)
    sys.exit(status)
