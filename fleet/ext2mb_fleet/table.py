# SPDX-License-Identifier: GPL-2.0-or-later
"""Results as a table: DuckDB reads the lines, and answers."""
import csv
import sys

import duckdb

# A task that was tried again has several lines: the last one counts. What no line of this file has is NULL.
VIEW = """
CREATE VIEW results AS
SELECT * FROM read_ndjson_auto({name}, sample_size = -1, maximum_object_size = 268435456)
QUALIFY row_number() OVER (PARTITION BY task ORDER BY finished DESC) = 1
UNION ALL BY NAME SELECT NULL::VARCHAR AS image, NULL::VARCHAR AS workload, NULL::VARCHAR AS size WHERE false
"""


def open_results(name: str) -> duckdb.DuckDBPyConnection:
    """With the view `results`, a row a task. Errors: duckdb.Error, OSError."""
    with open(name, "rb") as file:
        if not file.read(1):
            raise duckdb.Error(f"{name}: has no results")
    connection = duckdb.connect()
    quoted = "'" + name.replace("'", "''") + "'"
    connection.execute(VIEW.format(name=quoted))
    return connection


def print_table(name: str, query: str) -> None:
    """For people on a terminal, as CSV elsewhere."""
    connection = open_results(name)
    if sys.stdout.isatty():
        connection.sql(query).show(max_width=0, max_rows=1000)
        return
    connection.execute(query)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(column[0] for column in connection.description or [])
    while rows := connection.fetchmany(1000):
        writer.writerows(rows)
