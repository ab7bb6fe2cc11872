# SPDX-License-Identifier: Apache-2.0
"""The promises of a test program, tried in order and printed as TAP.

A promise is a function whose name is the sentence. It returns a note to print, or nothing, and raises
whatever it likes if it is broken.
"""

import signal
import sys

promises = []


def promise(function):
    """Adds the function to those that are tried."""
    promises.append(function)
    return function


def try_one(number, sentence, function):
    """True if the promise is kept."""
    try:
        note = function()
    except Exception as error:  # whatever it was: the promise is broken, the next is tried
        print(f"not ok {number} - {sentence}")
        for line in f"{type(error).__name__}: {error}".splitlines():
            print(f"# {line}")
        return False
    print(f"ok {number} - {sentence}")
    if note:
        print(f"# {note}")
    return True


def try_promises(words):
    """Tries those whose sentence contains the words. The exit status: 1 if any is broken, or none is
    chosen."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what runs ends with it
    chosen = [(f.__name__.replace("_", " "), f) for f in promises]
    chosen = [(sentence, f) for sentence, f in chosen if " ".join(words) in sentence]
    print(f"1..{len(chosen)}")
    kept = [try_one(number, *promised) for number, promised in enumerate(chosen, 1)]
    return 0 if kept and all(kept) else 1


def refuse(sentence, remedy):
    """Without what the sentence says no promise can be tried. The exit status."""
    print(f"1..1\nnot ok 1 - {sentence}\n# {remedy}")
    return 1
