#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the documents to the code.

usage: hack/check-docs.py [FOLDER]     the checkout (default: where this script is)

- each `path/file.c: symbol` in src/README.md exists, and the symbol is in that file;
- each `file.py: a promise` and `unit/file_test.c: name` in tests/e2e/README.md is a test there;
- each path in code style in README.md, src/README.md and CONTRIBUTING.md exists;
- each option that the manifests pass is in the program's table of settings.
Prints what does not hold, and fails if anything does not.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
DOCUMENTS = ("README.md", "src/README.md", "CONTRIBUTING.md", "SECURITY.md")
TREES = ("controller", "crds", "src", "manifests", "tests", "hack")
PREFIXES = ("", "src/")
faults = []


def resolve(path):
    """A path of a document, relative to the top or to src/."""
    return next((ROOT / p / path for p in PREFIXES if (ROOT / p / path).exists()), None)


def check_symbols(name):
    text = (ROOT / name).read_text()
    for path, symbol in re.findall(r"`([\w/.-]+\.[ch]): (\w+)`", text):
        file = resolve(path)
        if not file:
            faults.append(f"{name}: there is no {path}")
        elif not re.search(rf"\b{symbol}\b", file.read_text()):
            faults.append(f"{name}: {path} has no {symbol}")


def check_tests(name):
    text = (ROOT / name).read_text()
    for path, promise in re.findall(r"`([\w-]+\.py): ([\w ]+)`", text):
        file = ROOT / "tests/e2e" / path
        if not file.exists() or f"def {promise.replace(' ', '_')}(" not in file.read_text():
            faults.append(f"{name}: {path} does not promise that {promise}")
    for path, test in re.findall(r"`(unit/\w+\.c)(?:: (\w+))?`", text):
        file = ROOT / "tests" / path
        if not file.exists() or (test and f"void {test}(" not in file.read_text()):
            faults.append(f"{name}: {path} has no test {test}")


def check_paths(name):
    text = (ROOT / name).read_text()
    for path in re.findall(r"`((?:%s)/[\w/.-]+)`" % "|".join(TREES), text):
        if not resolve(path.rstrip("/")):
            faults.append(f"{name}: there is no {path}")


def check_options():
    programs = {"gpu-attribution-controller": "controller/settings.def",
                "gpu-attribution-agent": "src/agent/agent_settings.def"}
    for manifest in sorted((ROOT / "manifests").rglob("*/*.yaml")):  # install.yaml is made of them
        text = manifest.read_text()
        for image, table in programs.items():
            if not re.search(rf"image: {image}\b", text):
                continue
            known = set(re.findall(r'SETTING\(\w+, "([\w-]+)"', (ROOT / table).read_text()))
            for option in re.findall(r"^\s*- --([\w-]+)", text, re.M):
                if option not in known:
                    faults.append(f"{manifest.relative_to(ROOT)}: {image} has no --{option}")


for document in DOCUMENTS:
    check_symbols(document)
    check_paths(document)
check_tests("tests/e2e/README.md")
check_options()
for fault in faults:
    print(fault)
sys.exit(1 if faults else 0)
