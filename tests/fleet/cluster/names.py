# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints results whose names, and a figure, look like something else."""
import json

NAMES = ["6F9619FF-8B86-D011-B42D-00C04FC964FF", "2024-1-5", "10:11", "99999999999999999999", "true", "null", "1e5", "=1+1", "-x",
         "+1", "@SUM(1)", "\t=1", "\r=1"]  # fmt: skip
for number, name in enumerate(NAMES):
    report = {"verdict": {"score": number * 10**19}, "image": {"path": name}, "extents": number}
    print(json.dumps({"task": f"{number:016}", "kind": "score", "image": name, "options": [name], "host": name, "status": 0,
                      "error": name, "seconds": 1.0, "finished": 1.0, "report": report}))  # fmt: skip
