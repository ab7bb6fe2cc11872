#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy with the checks of .clang-tidy over source files. A file that is as it was when nothing
was found in it, with all that it includes, is not checked again.

usage: tidy.py BUILD-FOLDER FILE...

The build folder is one that cmake has configured. What is known lies in ~/.cache/gpu-attribution/tidy,
one empty file for each preprocessed text, and is forgotten when it was of no use for 30 days. Exits
with 1 when something is found.

The analyzer explores at most TIDY_NODES (75000) states of a function. Its own limit, 225000, takes
three times as long and is that of `hack/test long`.
"""

import concurrent.futures
import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-14"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gpu-attribution" / "tidy"
KEPT_S = 30 * 86400
JOBS = 2
ANALYZER = [f"--extra-arg={word}" for word in (
    "-Xclang", "-analyzer-config", "-Xclang", f"max-nodes={os.environ.get('TIDY_NODES', 75000)}")]


def commands(build):
    """How each file is compiled, by its path: arguments and folder."""
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    return {os.path.realpath(entry["file"]): (shlex.split(entry["command"]), entry["directory"])
            for entry in entries}


def preprocessed(command, folder):
    """The text that the compiler sees, with comments, for some of them speak to clang-tidy. None where
    it cannot be had: then clang-tidy says why."""
    at = command.index("-o")
    words = command[1:at] + [word for word in command[at + 2:] if word != "-c"]
    if not words[0].startswith("-"):
        words = words[1:]  # the compiler, started by ccache
    done = subprocess.run(["clang-14", "-E", "-C", "-w", *words], cwd=folder, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.replace(str(ROOT).encode(), b"") if done.returncode == 0 else None


def marker(rules, command, folder):
    text = preprocessed(command, folder)
    flags = shlex.join(command).replace(str(ROOT), "").encode()
    return text and CACHE / hashlib.sha256(rules + flags + text).hexdigest()


def check(build, rules, file, how):
    """What is found in the file; "" for nothing."""
    known = marker(rules, *how) if how else None
    if known and known.exists():
        known.touch()
        return ""
    # One file at a time: with several, version 14 carries the state of va_lists from one to the next.
    done = subprocess.run([TIDY, "-p", build, "--quiet", "--extra-arg=-Wno-unknown-warning-option", *ANALYZER, file],
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = "".join(line for line in done.stdout.splitlines(keepends=True)
                    if "warnings generated" not in line)
    if done.returncode != 0 or found.strip():
        return found.strip() or f"{file}: {TIDY} ended with status {done.returncode}"
    if known:
        known.touch()
    return ""


def forget_old():
    for known in CACHE.iterdir():
        if time.time() - known.stat().st_mtime > KEPT_S:
            known.unlink(missing_ok=True)


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    build, files = Path(sys.argv[1]), sys.argv[2:]
    CACHE.mkdir(parents=True, exist_ok=True)
    forget_old()
    how = commands(build)
    version = subprocess.run([TIDY, "--version"], check=True, stdout=subprocess.PIPE).stdout
    rules = version + (ROOT / ".clang-tidy").read_bytes() + shlex.join(ANALYZER).encode()
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        found = list(pool.map(
            lambda file: check(build, rules, file, how.get(os.path.realpath(file))), files))
    print("\n".join(text for text in found if text), end="")
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
