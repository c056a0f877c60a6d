# SPDX-License-Identifier: GPL-2.0-or-later
"""A process of sh(1) that outlives this one: what tools still run is ended then, and the private folder removed.

However this process ends, SIGKILL and a lack of memory among its ways, the pipe to sh(1) ends with it. What was started in the very
moment of its end may not be known there yet: it comes to its own end.
"""
import os
import signal
import subprocess
import tempfile
import threading

# A line is the number of a tool's process with +, or with - before it is reaped, for no other process can have the number
# then; or the folder.
SCRIPT = """
live=' ' folder=
while read -r line; do
	case $line in
	+*) live="$live${line#+} " ;;
	-*) live="${live%% ${line#-} *} ${live#* "${line#-}" }" ;;
	/*) folder=$line ;;
	esac
done
for process in $live; do kill -s KILL -- "-$process"; done
[ -z "$folder" ] || rm -rf -- "$folder"
"""


class Guard:
    """Of the tools that run, any number at a time; each is the first process of a group. The caller calls end()."""

    def __init__(self, parent: str | None = None) -> None:
        """parent: where the folder is made; None: in TMPDIR."""
        self.parent, self.own_folder = parent, ""
        self.live: set[int] = set()
        self.last_signal: signal.Signals | None = None
        self.lock = threading.Lock()
        self.process = subprocess.Popen(
            ["sh", "-c", SCRIPT], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
            start_new_session=True,
        )  # fmt: skip

    def tell(self, line: str) -> None:
        try:
            os.write(self.process.stdin.fileno() if self.process.stdin else -1, line.encode())
        except BrokenPipeError:
            pass  # somebody has ended it: tools are still ended by us

    @property
    def folder(self) -> str:
        """Of this user alone (0700), for images that nobody keeps, and for Ray. Made when somebody asks."""
        with self.lock:
            if not self.own_folder:
                self.own_folder = os.path.realpath(tempfile.mkdtemp(prefix="e2fleet-", dir=self.parent))
                self.tell(f"{self.own_folder}\n")
        return self.own_folder

    def add(self, process: int) -> None:
        self.tell(f"+{process}\n")
        with self.lock:
            self.live.add(process)
            if self.last_signal:
                os.killpg(process, self.last_signal)

    def remove(self, process: int) -> None:
        self.tell(f"-{process}\n")
        with self.lock:
            self.live.discard(process)

    def signal_all(self, number: signal.Signals) -> None:
        """What is added later gets it, too."""
        with self.lock:
            self.last_signal = number
            for process in self.live:
                os.killpg(process, number)

    def end(self) -> None:
        """Removes the folder, if there is one."""
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()
