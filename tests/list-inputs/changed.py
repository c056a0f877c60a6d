#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""changed.py TOOL OPTION...: each file that --list-inputs=json names and that lies here, each file in a folder, each variable and
mke2fs changes the digest, also if nothing but its ctime changes; back to a variable's old value, the digest is the old one."""

import json
import os
import subprocess
import sys
import time

command = [sys.argv[1], "--list-inputs=json", *sys.argv[2:]]


def look(**variables):
    environment = {**os.environ, **variables}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr}")
    return json.loads(done.stdout)


def digests(document):
    return document["inputs"]["digest"], document["inputs"]["portable_digest"]


def touch(path):
    """The ctime alone: to the mode that it has."""
    os.chmod(path, os.stat(path).st_mode & 0o7777, follow_symlinks=True)


def write(path):
    """What writing changes, but for the contents, which may have to be a document."""
    os.utime(path)


def files_below(folder):
    for top, folders, names in os.walk(folder):
        for name in folders + names:
            if not os.path.islink(os.path.join(top, name)):
                yield os.path.join(top, name)


before = look()
again = look()
if before != again:
    print("the list is another one each time")
written = {one["path"] for one in before["outputs"]}
inputs = before["inputs"]
paths = [one["path"] for one in inputs["files"] if one["kind"] == "file" and one["path"] not in written]
for folder in inputs["folders"]:
    # The files that a manifest names, and no others.
    paths += [folder["path"]] + list(files_below(folder["path"])) if folder["role"] != "manifest" else []
own = os.getcwd()
# For several hosts, their own files count by contents, and programs by versions.
hosts = {one["path"] for one in inputs["files"] if "sha256" in one} | {one["path"] for one in inputs["programs"] if "path" in one}
paths += [one["path"] for one in inputs["programs"] if one.get("path", "").startswith(own)]
count = 0
last = digests(again)
for path in paths:
    if not os.path.abspath(path).startswith(own):
        continue
    count += 1
    for change in touch, write:
        # A clock's ticks are up to 10 ms apart.
        time.sleep(0.011)
        change(path)
        now = digests(look())
        if now[0] == last[0] or (now[1] == last[1]) != (path in hosts):
            print(f"{path}: {change.__name__}: {last} {now}")
        last = now
for variable in inputs["environment"]:
    value = variable.get("value")
    if variable["name"] in ("LD_PRELOAD", "MKE2FS_CONFIG", "PSEUDO_PREFIX"):
        continue
    if digests(look(**{variable["name"]: "1" if value != "1" else "2"}))[0] == last[0]:
        print(f"{variable['name']}: the same digest")
print(os.path.basename(command[0]), "files:", count)
