#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds functions in headers that have no contract.

usage: hack/check-contracts.py [FOLDER]     the checkout (default: where this script is)

A prototype or an inline function of a header has a comment directly above it, or above the group
that it is in: prototypes in successive lines, with no blank line between them.
Prints each function without one, and fails if there is any.
"""

import re
import sys

import arguments

ROOT, _ = arguments.parse(__doc__)
NO_FUNCTION = re.compile(r"typedef\b|_?[Ss]tatic_assert\b|(struct|enum|union) \w+ \{|static const\b")


def chunks(text):
    """(kind, line, text) of what stands at file scope: blank, comment, macro or code."""
    lines = text.split("\n")
    n = 0
    while n < len(lines):
        start, line = n, lines[n].strip()
        if not line:
            kind = "blank"
        elif line.startswith("/*"):
            kind = "comment"
            while "*/" not in lines[n]:
                n += 1
        elif line.startswith("#"):
            kind = "macro"
            while lines[n].endswith("\\"):
                n += 1
        else:
            kind = "code"
            while not is_whole(lines[start:n + 1]):
                n += 1
        n += 1
        yield kind, start + 1, "\n".join(lines[start:n])


def is_whole(lines):
    """Whether the lines are a whole declaration or definition."""
    code = re.sub(r"/\*.*?\*/", "", "\n".join(lines), flags=re.S).rstrip()
    return code.count("{") == code.count("}") and code.endswith((";", "}"))


def is_function(code):
    """Whether it declares or defines a function; a parameter list follows its name."""
    head = re.sub(r"/\*.*?\*/", "", code, flags=re.S).split("{")[0]
    return bool(not NO_FUNCTION.match(code) and re.search(r"\w+\s*\(", head) and "=" not in head)


def without_contract(path):
    explained = False
    for kind, line, text in chunks(path.read_text()):
        if kind == "code" and is_function(text):
            if not explained:
                name = re.sub(r"PRINTF_LIKE\([^)]*\)", "", text)
                yield line, re.search(r"(\w+)\s*\(", name)[1]
        else:
            explained = kind == "comment"


def main():
    faults = []
    for top in ("src", "controller", "tests"):
        for path in sorted((ROOT / top).rglob("*.h")):
            name = str(path.relative_to(ROOT))
            faults += [f"{name}:{line}: {function}() has no contract"
                       for line, function in without_contract(path)]
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
