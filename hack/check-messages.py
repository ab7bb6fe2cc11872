#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the log messages to one form, so that a message found in a log leads to one line of code.

usage: hack/check-messages.py [FOLDER]     the checkout (default: where this script is)

Each LOG_DEBUG, LOG_INFO, LOG_WARN and LOG_ERROR of src/ and controller/ has a message that
- is a literal of at least two words and begins with a capital letter;
- has no format directive, no "=" and no full stop at its end: values are fields;
- is not contained in the message of another call.
Prints what does not hold, and fails if anything does not.
"""

import re
import sys

import arguments

ROOT, _ = arguments.parse(__doc__)
CALL = re.compile(r'\bLOG_(?:DEBUG|INFO|WARN|ERROR)\(\s*((?:"(?:[^"\\]|\\.)*"\s*)*)')
NO_CODE = re.compile(r"/\*.*?\*/|^\s*#.*?(?<!\\)$", re.S | re.M)


def without_comments(text):
    """The same text with blanks for comments and macros, so that line numbers stay."""
    return NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def calls():
    """(place, message) of each call; the message is None if it is not a literal."""
    for top in ("src", "controller"):
        for path in sorted((ROOT / top).rglob("*.[ch]")):
            text = without_comments(path.read_text())
            for call in CALL.finditer(text):
                line = text.count("\n", 0, call.start()) + 1
                literals = re.findall(r'"((?:[^"\\]|\\.)*)"', call[1])
                yield (f"{path.relative_to(ROOT)}:{line}",
                       "".join(literals) if literals else None)


def form_faults(message):
    if message is None:
        return ["the message is not a literal"]
    rules = (
        (re.search(r"%[^ ]", message), "a format directive: pass the value as a field"),
        ("=" in message, 'a "=": pass the value as a field'),
        (message.endswith("."), "a full stop at the end"),
        (not re.match(r"[A-Z]", message), "no capital letter at the start"),
        (len(message.split()) < 2, "fewer than two words"),
    )
    return [f'"{message}" has {what}' for broken, what in rules if broken]


def main():
    found = list(calls())
    faults = [f"{place}: {fault}" for place, message in found for fault in form_faults(message)]
    for place, message in found:
        faults += [f'{place}: "{message}" is part of the message in {other}'
                   for other, longer in found
                   if other != place and message and longer and message in longer]
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
