# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may send tasks to Ray. Standard library only: Ray reads its environment when it is loaded."""
import os
import secrets
import sys


def protect(address: str) -> None:
    """To be called before Ray is loaded. A cluster of this machine alone has a token of its own; of others there is a warning.

    Ray's processes listen on all interfaces, and run what they are sent. With a token they ask for it, since Ray 2.52.
    """
    if address == "local" and "RAY_AUTH_MODE" not in os.environ:
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    if os.environ.get("RAY_AUTH_MODE") != "token":
        print("e2fleet: Ray listens on all interfaces, and runs what anybody sends: see SECURITY in e2fleet(1)",
              file=sys.stderr)  # fmt: skip
