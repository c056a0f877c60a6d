# SPDX-License-Identifier: GPL-2.0-or-later
"""nodes.py ADDRESS_FILE LOST_FILE: a Ray cluster of three nodes, until standard input ends.

The last node is killed, without any notice, when LOST_FILE exists.
"""
import os
import sys
import threading
import time

from ray.cluster_utils import Cluster

NODE = {"num_cpus": 2, "object_store_memory": 100 << 20, "include_dashboard": False}


def main() -> None:
    address_file, lost_file = sys.argv[1:]
    cluster = Cluster(initialize_head=True, head_node_args=NODE)
    cluster.add_node(**NODE)
    last = cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    with open(address_file + ".new", "w", encoding="utf-8") as file:
        print(cluster.address, file=file)
    os.rename(address_file + ".new", address_file)

    def lose() -> None:
        while not os.path.exists(lost_file):
            time.sleep(0.05)
        cluster.remove_node(last, allow_graceful=False)

    threading.Thread(target=lose, daemon=True).start()
    sys.stdin.read()
    cluster.shutdown()


main()
