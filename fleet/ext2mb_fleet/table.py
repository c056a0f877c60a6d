# SPDX-License-Identifier: GPL-2.0-or-later
"""Results as a table: DuckDB reads the lines, and answers."""
import csv
import os
import re
import sys

import duckdb

# A task that was tried again has several lines: the last one counts. What no line of this file has is NULL.
VIEW = """
CREATE VIEW results AS
SELECT * FROM read_ndjson_auto({name}, sample_size = -1, maximum_object_size = 268435456, ignore_errors = {is_cut})
WHERE task IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY task ORDER BY finished DESC) = 1
UNION ALL BY NAME SELECT NULL::VARCHAR AS image, NULL::VARCHAR AS workload, NULL::VARCHAR AS size WHERE false
"""


def open_results(name: str) -> duckdb.DuckDBPyConnection:
    """With the view `results`, a row a task. Errors: duckdb.Error, OSError."""
    with open(name, "rb") as file:
        if not file.read(1):
            raise duckdb.Error(f"{name}: has no results")
        # Of a run that goes on, or was killed, the last line may not be whole.
        file.seek(-1, os.SEEK_END)
        is_cut = file.read(1) != b"\n"
    connection = duckdb.connect()
    # The name of a file, not a pattern of names.
    quoted = "'" + re.sub(r"[*?[]", r"[\g<0>]", name).replace("'", "''") + "'"
    connection.execute(VIEW.format(name=quoted, is_cut=is_cut))
    return connection


def print_table(name: str, query: str) -> None:
    """For people on a terminal, as CSV elsewhere."""
    connection = open_results(name)
    if sys.stdout.isatty():
        answer = connection.sql(query)
        if answer is not None:
            answer.show(max_width=0, max_rows=1000)
        return
    connection.execute(query)
    if not connection.description:
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(column[0] for column in connection.description)
    while rows := connection.fetchmany(1000):
        writer.writerows(rows)
