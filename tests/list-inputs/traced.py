#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""traced.py COMBINATIONS TOOLS [EACH]: for each line of a table, and only each EACH-th of them,

* --list-inputs=json makes and changes nothing, and names what the run's report names;
* under strace the run opens no file for reading that is not named, and writes none that is not;
* once it is done, the list has the same digest, and its outputs are those of the report."""

import json
import os
import re
import subprocess
import sys

table, tools = sys.argv[1:3]
each = int(sys.argv[3]) if len(sys.argv) > 3 else 1

# Every program of this system opens these: its libraries, locales, random numbers, what the kernel says of itself. Lists of
# devices that libblkid and mke2fs look at do not change what they make of a file.
ALWAYS = ("/usr/lib/", "/lib/", "/lib64/", "/usr/share/", "/proc/", "/sys/", "/dev/", "/etc/ld.so.", "/etc/blkid.conf",
          "/run/blkid/", "/run/udev/", "/etc/mtab", "/etc/locale.alias")
CALL = re.compile(r"^\d+ +(\w+)\((.*)\) = (?:(\d+)<([^>]*)>|(-?\d+)).*$")
TEXT = re.compile(r'(?:(AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')


def unescape(text):
    return text.encode().decode("unicode_escape")


def state(top="."):
    """All files with what an untouched one keeps."""
    found = {}
    for folder, folders, names in os.walk(top):
        for name in folders + names:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            found[path] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return found


def opened(log):
    """(path, is it written) of each call that opened, made or named a file."""
    for line in open(log, errors="replace"):
        match = CALL.match(line)
        if not match or match[5] not in (None, "0"):
            continue
        name, arguments = match[1], match[2]
        if name in ("open", "openat", "openat2", "creat") and match[4]:
            if "O_PATH" not in arguments and "O_DIRECTORY" not in arguments or "O_TMPFILE" in arguments:
                yield match[4], name == "creat" or bool(re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC)", arguments))
        elif name in ("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat",
                      "mkdir", "mkdirat", "truncate", "mknod", "mknodat"):
            for place, folder, path in TEXT.findall(arguments):
                yield os.path.join(folder or os.getcwd(), unescape(path)), True
        elif name == "execve":
            yield os.path.realpath(unescape(TEXT.search(arguments)[3])), False


def below(path, folders):
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def judge(line, report, log):
    inputs, outputs = report["inputs"], report["outputs"]
    resolve = os.path.realpath
    folders = [resolve(one["path"]) for one in inputs["folders"]]
    open_folders = [resolve(one["path"]) for one in outputs if one["kind"] == "folder"]
    named = {resolve(one["path"]) for one in inputs["files"] + [two for two in inputs["programs"] if "path" in two]}
    written = {resolve(one["path"]) for one in outputs if one["kind"] != "folder"}
    wrong = set()
    for path, is_written in opened(log):
        path = path.removesuffix(" (deleted)")
        if not path.startswith("/") or path.startswith(ALWAYS) or path.startswith("/memfd:"):
            continue
        path = resolve(path)
        if path in written or below(path, open_folders):
            continue
        # While it is made, an output has a name beside it.
        if any(os.path.dirname(path) == os.path.dirname(one) and os.path.basename(path).startswith("#") or
               f".{os.path.basename(one)}.e2new-" in path for one in written):
            continue
        if not is_written and (path in named or below(path, folders)):
            continue
        wrong.add(("written: " if is_written else "read: ") + path.replace(os.getcwd() + "/", ""))
    for path in sorted(wrong):
        print(f"{line}: not named, but {path}")


def run(command, **more):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **more)
    if done.returncode:
        print(f"{' '.join(command)}: {done.returncode}: {done.stderr.strip()}")
        return None
    return json.loads(done.stdout)


def compare(line, what, one, other):
    for key in one["inputs"]:
        if one["inputs"][key] != other["inputs"][key]:
            print(f"{line}: {key} {what}: {one['inputs'][key]} and {other['inputs'][key]}")


def try_line(line):
    words = line.split()
    environment = dict(os.environ)
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    tool, words = os.path.join(tools, words[0]), words[1:]
    before = state()
    listed = run([tool, "--list-inputs=json", *words], env=environment)
    if state() != before:
        print(f"{line}: --list-inputs=json has changed something")
    trace = ["strace", "-f", "-y", "-q", "-e", "trace=%file", "-o", "../trace.log"]
    report = run([*trace, tool, "--report=json", *words], env=environment)
    again = run([tool, "--list-inputs=json", *words], env=environment)
    if not listed or not report or not again:
        return
    compare(line, "of list and report", listed, report)
    # A file that is written, too, is another one now.
    written = [one["path"] for one in report["outputs"]]
    for document in report, again:
        document["inputs"]["files"] = [one for one in document["inputs"]["files"] if one["path"] not in written]
    compare(line, "before and after", report, again)
    if report["outputs"] != again["outputs"]:
        print(f"{line}: outputs are others later: {report['outputs']} {again['outputs']}")
    judge(line, report, "../trace.log")


count = 0
for number, line in enumerate(open(table)):
    if number % each or not line.strip() or line.startswith("#"):
        continue
    try_line(line.strip())
    count += 1
print("combinations:", count if each == 1 else "some")
