# SPDX-License-Identifier: Apache-2.0
"""What is passed to a check: the folder of the checkout, and options that the check names.

--help prints the check's docstring. Anything that is neither a folder nor one of its options ends it
with its usage and exit status 2.
"""

import pathlib
import sys

USAGE = 2


def parse(doc, *options):
    """The checkout (default: where the checks are), and which of the options were passed."""
    passed = sys.argv[1:]
    if "--help" in passed or "-h" in passed:
        print(doc.strip())
        sys.exit(0)
    folders = [pathlib.Path(argument) for argument in passed if argument not in options]
    if len(folders) > 1 or not all(folder.is_dir() for folder in folders):
        usage = next(line for line in doc.splitlines() if line.startswith("usage: "))
        print(usage, file=sys.stderr)
        sys.exit(USAGE)
    return folders[0] if folders else pathlib.Path(__file__).parent.parent, set(passed) & set(options)
