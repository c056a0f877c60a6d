# SPDX-License-Identifier: GPL-2.0-or-later
"""A process of sh(1) that outlives this one: what tools still run is ended then, and the private folder removed.

However this process ends, SIGKILL and a lack of memory among its ways, the pipe to sh(1) ends with it.
"""
import os
import signal
import subprocess
import tempfile
import threading

# Each line is the number of a tool's process with + or -, before it is reaped: no other process can have the number then.
SCRIPT = """
live=' '
while read -r line; do
	case $line in
	+*) live="$live${line#+} " ;;
	-*) live="${live%% ${line#-} *} ${live#* "${line#-}" }" ;;
	esac
done
for process in $live; do kill -s KILL -- "-$process"; done
rm -rf -- "$0"
"""


class Guard:
    """Of the tools that run, any number at a time; each is the first process of a group. The caller calls end()."""

    def __init__(self) -> None:
        # Of this user alone (0700), for what tools and Ray put into temporary files.
        self.folder = tempfile.mkdtemp(prefix="e2fleet-")
        self.live: set[int] = set()
        self.last_signal: signal.Signals | None = None
        self.lock = threading.Lock()
        self.process = subprocess.Popen(
            ["sh", "-c", SCRIPT, self.folder], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
            start_new_session=True,
        )  # fmt: skip

    def tell(self, line: str) -> None:
        try:
            os.write(self.process.stdin.fileno() if self.process.stdin else -1, line.encode())
        except BrokenPipeError:
            pass  # somebody has ended it: tools are still ended by us

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
        """Removes the folder, too."""
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()
