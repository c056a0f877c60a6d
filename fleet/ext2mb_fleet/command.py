# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line. DuckDB is loaded only by what needs it."""
import argparse
import difflib
import glob
import os
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn

from ext2mb_fleet import __version__
from ext2mb_fleet.driver import limits_of, make_settings, run_all, run_here
from ext2mb_fleet.one import score_one
from ext2mb_fleet.progress import STYLES
from ext2mb_fleet.results import BadResults
from ext2mb_fleet.task import KINDS, BadTask, CannotRun
from ext2mb_fleet.values import number_range, printable, seconds, size_bytes, split_words, whole_number

SUCCESS, FAILURE, WRONG_USAGE, STOPPED = 0, 1, 2, 3
SHELLS = ("bash", "zsh")


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


def add_layer_cache(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--layer-cache", default="", metavar="DIR",
                        help="of each host, for layers and archives (auto: below ~/.cache); "
                        "implies --layout=layers, another order of what is in an image")  # fmt: skip


def add_task_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=whole_number, default=1, metavar="N", help="of each task's tool (default: 1)")
    parser.add_argument("--timeout", type=seconds, default=3600, metavar="SECONDS",
                        help="after which a task is ended (default: 3600; 0: never)")  # fmt: skip
    parser.add_argument("--memory", type=size_bytes, default=0, metavar="SIZE",
                        help="what a task needs; a node runs no more than have room")  # fmt: skip
    parser.add_argument("--root", default="", metavar="DIR",
                        help="no source, option's file, cache or image may lie outside of it, "
                        "nor be reached by a link")  # fmt: skip
    parser.add_argument("--stale-after", type=seconds, default=0, metavar="SECONDS",
                        help="remove unfinished images of other hosts that were not written to for so long "
                        "(default: 0, never)")  # fmt: skip
    parser.add_argument("--logs", default="", metavar="DIR",
                        help="gets a file for each task whose tool writes messages: all of them")  # fmt: skip


def add_run_options(parser: argparse.ArgumentParser, needs_results: bool = True) -> None:
    parser.add_argument("--results", required=needs_results, metavar="FILE",
                        help="gets a line for each task; what it has is done again only if it changed")  # fmt: skip
    parser.add_argument("--again", action="store_true", help="do what has failed once more")
    parser.add_argument("--cluster", default="", metavar="ADDRESS",
                        help="of Ray (local: one that ends with the run); without it this machine does all, "
                        "without Ray")  # fmt: skip
    parser.add_argument("--scratch", type=size_bytes, default=0, metavar="SIZE",
                        help="what a task needs of TMPDIR; with --cluster of Ray's resource \"scratch\", in bytes")  # fmt: skip
    parser.add_argument("--retries", type=whole_number, default=3, metavar="N",
                        help="how often a task whose node was lost is tried again (default: 3)")  # fmt: skip
    parser.add_argument("--max-failures", type=whole_number, default=0, metavar="N",
                        help="begin no task after so many have failed, and exit with 3 (default: 0, any number)")  # fmt: skip
    parser.add_argument("--progress", choices=STYLES, default="auto",
                        help="on standard error: a line on a terminal, else one each 10 s; or JSON each second")  # fmt: skip
    add_task_options(parser)


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
    update = commands.add_parser("update", help="change images with e2update")
    update.add_argument("list", metavar="LIST", help="NDJSON: image, source, options")
    add_layer_cache(update)
    add_run_options(update)
    extract = commands.add_parser("extract", help="take the files out of images with e2extract")
    extract.add_argument("list", metavar="LIST", help="NDJSON: image, output, options")
    add_run_options(extract)
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
    add_task_options(task)
    table = commands.add_parser("table", help="ask results with SQL: the table is called results")
    table.add_argument("results", metavar="RESULTS")
    table.add_argument("query", metavar="SQL")
    page = commands.add_parser("page", help="print a page for browsers")
    page.add_argument("results", metavar="RESULTS")
    return parser


def run_tasks(arguments: argparse.Namespace) -> int:
    return SUCCESS if run_here(arguments) else FAILURE


def run_query(arguments: argparse.Namespace) -> int:
    import duckdb

    from ext2mb_fleet.table import print_table

    try:
        print_table(arguments.results, arguments.query)
        sys.stdout.flush()
    except duckdb.Error as error:
        raise Failure(str(error)) from None
    return SUCCESS


def run_page(arguments: argparse.Namespace) -> int:
    from ext2mb_fleet.page import make_page

    sys.stdout.buffer.write(make_page(arguments.results).encode(errors="replace"))
    sys.stdout.flush()
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
    score_one(arguments.list, make_settings(), limits_of(arguments), arguments.json)
    return SUCCESS


RUN = {"task": run_tasks, "score": run_score, "table": run_query, "page": run_page}


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
        part = "table" if error.name == "duckdb" else "cluster"
        message = f"{error.name} is not installed: pip install './fleet[{part}]', in the sources of ext2mb, brings it"
    shown = "\n".join(map(printable, str(message).split("\n")))
    print(f"e2fleet: {shown}", file=sys.stderr)
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
