#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds objects to their CustomResourceDefinitions, as far as an API server would.

usage: fits_definition.py DEFINITION...     the objects come from standard input, as YAML

Looked at are types, required and unknown fields, enums, patterns, and bounds. Fails if an object does
not fit, and if none of them has a definition here.
"""

import re
import sys

import yaml

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float),
         "boolean": bool}
faults = []


def check_type(value, schema):
    """By itself, or as the number or text that x-kubernetes-int-or-string allows."""
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(value, (int, str)) and not isinstance(value, bool)
    wanted = TYPES.get(schema.get("type"))
    return not wanted or (isinstance(value, wanted) and
                          (wanted is bool or not isinstance(value, bool)))


def check_object(value, schema, path):
    known, more = schema.get("properties", {}), schema.get("additionalProperties")
    for name in schema.get("required", []):
        if name not in value:
            faults.append(f"{path} lacks {name}")
    for name, item in value.items():
        if name in known:
            check(item, known[name], f"{path}.{name}")
        elif isinstance(more, dict):
            check(item, more, f"{path}.{name}")
        elif not schema.get("x-kubernetes-preserve-unknown-fields") and known:
            faults.append(f"{path}.{name} is not known")


def check(value, schema, path):
    if not check_type(value, schema):
        faults.append(f"{path} is no {schema.get('type')}: {value!r}")
        return
    if isinstance(value, dict):
        check_object(value, schema, path)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            check(item, schema.get("items", {}), f"{path}[{number}]")
        if len(value) < schema.get("minItems", 0):
            faults.append(f"{path} has too few items")
    elif isinstance(value, str):
        if not re.search(schema.get("pattern", ""), value):
            faults.append(f"{path} is not like {schema['pattern']}: {value!r}")
        if len(value) < schema.get("minLength", 0):
            faults.append(f"{path} is too short")
    if "enum" in schema and value not in schema["enum"]:
        faults.append(f"{path} is none of {schema['enum']}: {value!r}")


def main():
    schemas = {}
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            spec = yaml.safe_load(file)["spec"]
        for version in spec["versions"]:
            key = (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
            schemas[key] = version["schema"]["openAPIV3Schema"]
    checked = 0
    for thing in yaml.safe_load_all(sys.stdin):
        schema = schemas.get((thing["apiVersion"], thing["kind"]))
        if schema:
            checked += 1
            # Of metadata a definition says no more than that it is an object.
            check(thing, schema, thing["kind"])
    for fault in faults:
        print(fault)
    print(f"{checked} objects")
    return 1 if faults or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
