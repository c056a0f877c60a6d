# SPDX-License-Identifier: GPL-2.0-or-later
"""A process of sh(1) that outlives this one: what tools still run is ended then, and the private folder removed.

However this process ends, SIGKILL and a lack of memory among its ways, its end of the pipe to sh(1) is closed. Each
tool has a descriptor that nothing else has, from fork() on, and closes its copy of the pipe before it calls execve().
So when sh(1) sees the end of the pipe, it finds each tool by this descriptor, also one that was just being started.
It is no child of this process: Ray ends a worker's children before the worker, which may then start one more tool.
"""
import os
import signal
import subprocess
import tempfile
import threading

# After vfork() all children of one process have its memory, and in glibc 2.41 each takes a lock there (sigaction() of
# SIGABRT). One that is killed with the lock leaves the others waiting for it, without end and with all signals blocked,
# and with the other end of a guard's pipe.
subprocess._USE_VFORK = False  # type: ignore[attr-defined]

# $1: the number of the descriptor, which is our standard output. A line is the folder, or says that no tool is left.
# A tool that has been found may have been starting a program: they are looked for until none is new.
SCRIPT = """
exec 3<&0
{
folder= is_new=yes
read -r own rest </proc/self/stat
killed=" $own "
while read -r line; do
	case $line in
	/*) folder=$line ;;
	*) is_new= ;;
	esac
done
while [ "$is_new" ]; do
	is_new=
	for descriptor in /proc/[0-9]*/fd/"$1"; do
		[ "$descriptor" -ef /proc/self/fd/1 ] || continue
		process=${descriptor#/proc/} process=${process%%/*}
		case $killed in *" $process "*) continue ;; esac
		kill -s KILL -- "-$process" 2>/dev/null
		kill -s KILL "$process" 2>/dev/null
		killed="$killed$process " is_new=yes
	done
done
[ -z "$folder" ] || rm -rf -- "$folder"
} <&3 3<&- &
"""


class Guard:
    """Of the tools that run, any number at a time. Each has the mark, and leads a group. The caller calls end()."""

    def __init__(self, parent: str | None = None) -> None:
        """parent: where the folder is made; None: in TMPDIR."""
        self.parent, self.own_folder = parent, ""
        self.live: set[int] = set()
        self.last_signal: signal.Signals | None = None
        self.lock = threading.Lock()
        reader, self.mark = os.pipe()  # tools inherit the mark; nobody writes
        os.close(reader)
        self.has_ended, end = os.pipe()
        self.process = subprocess.Popen(
            ["sh", "-c", SCRIPT, "sh", str(self.mark)], stdin=subprocess.PIPE, stdout=self.mark,
            stderr=end, bufsize=0, start_new_session=True,
        )  # fmt: skip
        os.close(end)
        self.process.wait()

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
        with self.lock:
            self.live.add(process)
            if self.last_signal:
                os.killpg(process, self.last_signal)

    def remove(self, process: int) -> None:
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
        if not self.live:
            self.tell("no tool\n")
        if self.process.stdin:
            self.process.stdin.close()
        while os.read(self.has_ended, 1 << 10):
            pass
        os.close(self.has_ended)
        os.close(self.mark)
