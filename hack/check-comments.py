#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds sentences in comments that are too long to be read at once.

usage: hack/check-comments.py [FOLDER]     the checkout (default: where this script is)

No sentence of a comment in a .c or .h file has more than SENTENCE words. A blank line, an item of a
list, a row of a table and a label ("Threads:") begin a paragraph of their own. A colon or a
semicolon ends no sentence. An indented line of code stands alone, and code in `back quotes` is one
word.
Prints each sentence that is longer, and fails if there is any.
"""

import re
import sys

import arguments

ROOT, _ = arguments.parse(__doc__)
SENTENCE = 30
FOLDERS = ("src", "controller", "tests")
TOKEN = re.compile(r"""/\*(?P<comment>.*?)\*/|//(?P<line>[^\n]*)|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\]|\\.)*'""",
                   re.S)
# A row of a table has a cell behind its first one, and further lines that begin with a tab.
ROW = re.compile(r"\S.*?(\t| {2,})\S")
# What else begins a paragraph: an item or a label.
BEGINS = re.compile(r"[-*|] |\d+\. |[A-Z]\w*: |" + ROW.pattern)


def comments(text):
    """(line, text) of each comment, without its stars."""
    for token in TOKEN.finditer(text):
        inside = token["comment"] if token["comment"] is not None else token["line"]
        if inside is not None:
            yield (text.count("\n", 0, token.start()) + 1,
                   re.sub(r"^[ \t]*\*(?: |(?=\t)|$)", "", inside.strip(), flags=re.M))


def paragraphs(comment):
    """(line within the comment, text) of each paragraph."""
    start, lines = 0, []
    for n, line in enumerate(comment.split("\n")):
        is_code = line.startswith("\t") and not (lines and ROW.match(lines[0]))
        if not line.strip() or is_code or BEGINS.match(line):
            yield start, "\n".join(lines)
            start, lines = n, []
        lines.append(line)
    yield start, "\n".join(lines)


def long_sentences(text):
    """(line, words, beginning) of each sentence with too many words."""
    for first, comment in comments(text):
        for line, paragraph in paragraphs(comment):
            plain = re.sub(r"`[^`]*`", "code", paragraph)
            for sentence in re.split(r"(?<=[.!?])\s+", plain):
                words = re.findall(r"[\w'’-]+", sentence)
                if len(words) > SENTENCE:
                    yield first + line, len(words), " ".join(words[:9])


def main():
    faults = []
    for top in FOLDERS:
        for path in sorted((ROOT / top).rglob("*.[ch]")):
            name = str(path.relative_to(ROOT))
            faults += [f"{name}:{line}: {count} words in one sentence: {beginning} ..."
                       for line, count, beginning in long_sentences(path.read_text())]
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
