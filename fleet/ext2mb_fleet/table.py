# SPDX-License-Identifier: GPL-2.0-or-later
"""Results as a table: DuckDB reads the lines, and answers."""
import csv
import json
import os
import re
import sys
from typing import Any

import duckdb

# Types are said: DuckDB's guesses would make other names of those that look like a UUID or a date.
COLUMNS = {
    "task": "VARCHAR",
    "kind": "VARCHAR",
    "image": "VARCHAR",
    "workload": "VARCHAR",
    "sources": "VARCHAR[]",
    "output": "VARCHAR",
    "size": "VARCHAR",
    "options": "VARCHAR[]",
    "host": "VARCHAR",
    "status": "BIGINT",
    "error": "VARCHAR",
    "log": "VARCHAR",
    "seconds": "DOUBLE",
    "finished": "DOUBLE",
    "inputs": "VARCHAR",
    "outputs": "VARCHAR",
    "report": "JSON",
}
# A task that was done again has several lines: the last one counts.
LINES = """
CREATE VIEW lines AS
SELECT * EXCLUDE number FROM (
    SELECT *, row_number() OVER () AS number
    FROM read_ndjson({name}, columns = {columns}, maximum_object_size = 268435456, ignore_errors = {is_cut})
)
WHERE task IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY task ORDER BY number DESC) = 1
"""
# All that reports have, in JSON's own types. Numbers that are never negative are signed, too, for their differences are not.
STRUCTURE = """
SELECT replace(json_group_structure(report)::VARCHAR, '"UBIGINT"', '"HUGEINT"') FROM lines WHERE json_type(report) = 'OBJECT'
"""
RESULTS = "CREATE VIEW results AS SELECT * REPLACE ({report} AS report) FROM lines"

# How a cell begins that a spreadsheet takes for a formula.
FORMULA = tuple("=+-@\t\r")


def quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def open_results(name: str) -> duckdb.DuckDBPyConnection:
    """With the views `results`, a row a task, and `lines`, the same with reports as JSON. Errors: duckdb.Error, OSError."""
    with open(name, "rb") as file:
        if not file.read(1):
            raise duckdb.Error(f"{name}: has no results")
        # Of a run that goes on, or was killed, the last line may not be whole.
        file.seek(-1, os.SEEK_END)
        is_cut = file.read(1) != b"\n"
    connection = duckdb.connect()
    # The name of a file, not a pattern of names.
    quoted = quote(re.sub(r"[*?[]", r"[\g<0>]", name))
    connection.execute(LINES.format(name=quoted, columns=COLUMNS, is_cut=is_cut))
    ((structure,),) = connection.execute(STRUCTURE).fetchall()
    report = f"json_transform(report, {quote(structure)})" if structure else "report"
    connection.execute(RESULTS.format(report=report))
    return connection


def safe_cell(value: Any) -> Any:
    """Names of files and messages come from others: a spreadsheet shows what has an apostrophe before it as text.

    Lists and structures are JSON.
    """
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "'" + value if isinstance(value, str) and value.startswith(FORMULA) else value


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
    writer.writerow(safe_cell(column[0]) for column in connection.description)
    while rows := connection.fetchmany(1000):
        writer.writerows(map(safe_cell, row) for row in rows)
