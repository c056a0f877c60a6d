#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check.py SCHEMAS TOP DOCUMENTS: compares documents called SCHEMA.*.json with SCHEMA.schema.json, those called
SCHEMA.DEFINITION.*.json with that part of it, and keys of the schemas with what was printed and with the manuals."""

import json
import pathlib
import re
import sys

import jsonschema

schemas, top, documents = map(pathlib.Path, sys.argv[1:])
KEYWORDS = {"$schema", "$comment", "$defs", "$ref", "title", "type", "properties", "patternProperties", "required",
            "additionalProperties", "items", "enum", "anyOf"}
MANUALS = {"debugmb": "debugfs/debugmb.8", "e2allocsim": "lab/e2allocsim.8", "e2fleet": "fleet/e2fleet.1", "progress": "misc/e2populate.8",
           "list": "misc/e2populate.8"}


def resolve(schema, root):
    path = schema.get("$ref", "#/")
    if "$ref" not in schema:
        return schema
    for key in filter(None, path[1:].split("/")):
        root = root[key]
    return root


def own_names(schema):
    """All names of members, those of the definitions included, and all keywords."""
    if isinstance(schema, list):
        for item in schema:
            yield from own_names(item)
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if key not in KEYWORDS:
            print("a keyword that is not of our subset:", key)
        if key == "properties" or key == "$defs":
            for name, below in value.items():
                if key == "properties":
                    yield name
                yield from own_names(below)
        elif key in ("items", "additionalProperties"):
            yield from own_names(value)


def closed(schema):
    """Every object says which members it may have."""
    if isinstance(schema, dict):
        if "properties" in schema and schema.get("additionalProperties") is not False:
            print("an object that may have any member:", list(schema["properties"])[:3])
        for value in schema.values():
            closed(value)


def printed(document, schema, root, names):
    schema = resolve(schema, root)
    if isinstance(document, list):
        for item in document:
            printed(item, schema.get("items", {}), root, names)
    elif isinstance(document, dict):
        for key, value in document.items():
            names.add((id(schema.get("properties", {})), key))
            printed(value, schema.get("properties", {}).get(key, {}), root, names)


def never_printed(schema, names):
    if not isinstance(schema, dict):
        return
    for key, value in schema.get("properties", {}).items():
        if (id(schema["properties"]), key) not in names:
            print(f"never printed: {key}")
        never_printed(value, names)
    for value in schema.get("$defs", {}).values():
        never_printed(value, names)
    never_printed(schema.get("items"), names)


# What a report says of its inputs and outputs is as --list-inputs=json prints it.
for path in documents.glob("*-report.*.json"):
    value = json.loads(path.read_text())
    if "inputs" in value:
        both = {key: value[key] for key in ("inputs", "outputs")}
        (documents / f"list-inputs.{path.name}").write_text(json.dumps(both))

count = 0
for path in sorted(schemas.glob("*.schema.json")):
    name = path.name.removesuffix(".schema.json")
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    closed(schema)
    names = set()
    for document in sorted(documents.glob(f"{name}.*.json")):
        value = json.loads(document.read_text())
        count += 1
        part = document.name.split(".")[1]
        definition = schema.get("$defs", {}).get(part)
        for judge in (schema, {**schema, "$ref": f"#/$defs/{part}"} if definition else {}):
            for error in list(jsonschema.Draft202012Validator(judge).iter_errors(value))[:3]:
                print(f"{document.name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
        printed(value, definition or schema, schema, names)
    print(f"{name}:")
    never_printed(schema, names)
    tool = name.split("-")[0]
    manual = (top / MANUALS.get(tool, f"misc/{tool}.8")).read_text()
    words = set(re.findall(r"[\w^]+(?:-\w+)*", re.sub(r"\\f[A-Z]", "", manual).replace("\\-", "-")))
    missing = sorted(set(own_names(schema)) - words)
    if missing:
        print("not in the manual:", ", ".join(missing))
print("documents:", count)
