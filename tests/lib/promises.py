# SPDX-License-Identifier: Apache-2.0
"""The promises of a test program, tried in order and printed as TAP.

A promise is a function whose name is the sentence. It returns a note to print, or nothing, and raises
whatever it likes if it is broken. It raises Skipped if this machine cannot try it. Then the program
ends with SKIP_STATUS unless another promise is broken, and ctest shows it as skipped.
"""

import signal
import sys

SKIP_STATUS = 77  # as SKIP_RETURN_CODE in tests/CMakeLists.txt

promises = []


class Skipped(Exception):
    """A promise cannot be tried here; the text says why."""


def promise(function):
    """Adds the function to those that are tried."""
    promises.append(function)
    return function


def explained_by(said):
    """Adds a function with the end of what said() returns, a log, where it fails."""
    def add(function):
        def tried():
            try:
                return function()
            except Exception as error:
                raise AssertionError(f"{error}\n{''.join(said().splitlines(True)[-20:])}") from error
        tried.__name__ = function.__name__
        return promise(tried)
    return add


def try_one(number, sentence, function):
    """What became of the promise: an exit status."""
    try:
        note = function()
    except Skipped as reason:
        print(f"ok {number} - {sentence} # SKIP {reason}")
        return SKIP_STATUS
    except Exception as error:  # whatever it was: the promise is broken, the next is tried
        print(f"not ok {number} - {sentence}")
        for line in f"{type(error).__name__}: {error}".splitlines():
            print(f"# {line}")
        return 1
    print(f"ok {number} - {sentence}")
    if note:
        print(f"# {note}")
    return 0


def try_promises(words):
    """Tries those whose sentence contains the words. The exit status: 1 if any is broken, or none is
    chosen; else SKIP_STATUS if any was skipped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what runs ends with it
    chosen = [(f.__name__.replace("_", " "), f) for f in promises]
    chosen = [(sentence, f) for sentence, f in chosen if " ".join(words) in sentence]
    print(f"1..{len(chosen)}")
    ends = {try_one(number, *promised) for number, promised in enumerate(chosen, 1)} or {1}
    return 1 if 1 in ends else max(ends)


def refuse(sentence, remedy):
    """Without what the sentence says no promise can be tried. The exit status."""
    print(f"1..1\nnot ok 1 - {sentence}\n# {remedy}")
    return 1
