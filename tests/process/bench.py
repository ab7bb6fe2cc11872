#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hack/bench as a program: in a tiny world, and what it makes of samples.

usage: bench.py CONTROLLER [WORDS]

Prints TAP and fails if any promise is broken; with words it tries only those whose sentence contains
them. With BENCH_MEASURES in the environment it also measures, in a tiny world, which takes a minute and
needs the peer (`hack/test long`).
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("lib", "bench")]
import figures
from control_plane import TOP
from promises import promise, try_promises

CONTROLLER = os.path.realpath(sys.argv[1])
BENCH = os.path.join(TOP, "hack", "bench")
MEASURES = "BENCH_MEASURES" in os.environ
NOTHING = {row.key: 0.0 for row in figures.ROWS}


def bench(*options):
    return subprocess.run([BENCH, *options], capture_output=True, text=True, timeout=1200)


def samples(**changed):
    """Two turns of each, in which both are alike, less our changes."""
    alike = {row.key: 8.0 for row in figures.ROWS}
    return {"ours": [{**alike, **changed}] * 2, "peer": [alike] * 2}


def row_of(key, size="10k", **changed):
    return next(row for row in figures.judge(samples(**changed), size) if row["key"] == key)


def promise_measured(function):
    return promise(function) if MEASURES else function


def children_in(folder):
    """The processes whose environment names the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"TMPDIR={folder}".encode() in file.read().split(b"\0"):
                    found.append(int(pid))
    return found


@promise
def without_a_peer_it_says_so_and_measures_nothing():
    with tempfile.TemporaryDirectory() as folder:
        done = bench("--peer", folder, "--controller", CONTROLLER, "--out", os.path.join(folder, "out"))
        assert done.returncode == 2 and f"the peer is not in {folder}" in done.stderr, done
        assert os.listdir(folder) == []


@promise
def wrong_usage_is_refused_and_help_says_what_is_right():
    for options, word in ((["--size", "1k"], "1k"), (["--runs", "0"], "--runs"), (["--gte"], "--gte"),
                          (["--gate", "--size", "tiny"], "no bars")):
        done = bench(*options)
        assert done.returncode == 2 and word in done.stderr, done
    done = bench("--help")
    assert done.returncode == 0 and "--gate" in done.stdout and not done.stderr, done


@promise
def the_gate_names_each_row_beyond_its_bar_and_no_other():
    for row in figures.ROWS:
        bar = 1e6 if not row.bar else row.bar.most or 8.0 * row.bar.times
        for ours, beyond in ((0.99 * bar, 0), (1.01 * bar, 1 if row.bar else 0)):
            named = figures.beyond(figures.judge({
                "ours": [{**NOTHING, row.key: ours}], "peer": samples()["peer"]}, "10k"))
            assert [said.startswith(f"{row.title}: ") for said in named] == [True] * beyond, (row, named)


@promise
def a_goal_is_a_share_of_the_peers_median_or_an_amount():
    for key, size, value, met in (
            ("sync_cpu_s", "10k", 1.0, True), ("sync_cpu_s", "10k", 1.01, False),
            ("sync_peak_mib", "10k", 40.0, True), ("sync_peak_mib", "10k", 40.1, False),
            ("event_p50_times", "10k", 1.2, False), ("event_p50_times", "100k", 8.0, True),
            ("event_p50_times", "100k", 8.1, False)):
        assert row_of(key, size, **{key: value})["goal_met"] is met, (key, size, value)
    assert row_of("bare_p50_ms")["goal_met"] is None


@promise_measured
def a_tiny_world_gives_each_figure_of_both_a_table_and_plots():
    with tempfile.TemporaryDirectory() as folder:
        done = bench("--size", "tiny", "--runs", "1", "--controller", CONTROLLER, "--out", folder)
        assert done.returncode == 0, done.stderr
        with open(os.path.join(folder, "bench.json"), encoding="utf-8") as file:
            measured = json.load(file)
        for who in ("ours", "peer"):
            sample, = measured["samples"][who]
            assert all(isinstance(sample[row.key], float | int) for row in figures.ROWS), sample
            assert sample["sync_cpu_s"] > 0 and sample["sync_peak_mib"] > 1, sample
        with open(os.path.join(folder, "table.md"), encoding="utf-8") as file:
            text = file.read()
        assert done.stdout == text and all(f"| {row.title} |" in text for row in figures.ROWS), done.stdout
        plots = [name for name in os.listdir(folder) if name.endswith(".svg")]
        assert len(plots) == len(figures.ROWS) + 1 or "no plots" in done.stderr, done.stderr


@promise_measured
def a_controller_that_ends_is_told_of_with_its_log():
    with tempfile.TemporaryDirectory() as folder:
        done = bench("--size", "tiny", "--controller", "/bin/false", "--out", folder)
        assert done.returncode == 1, done
        assert done.stderr.endswith(f"hack/bench: the controller has ended: see {folder}/ours.log\n"), done


@promise_measured
def what_it_started_ends_with_it_when_it_is_interrupted_or_killed():
    for number, status in ((signal.SIGINT, 128 + signal.SIGINT), (signal.SIGKILL, -signal.SIGKILL)):
        with tempfile.TemporaryDirectory() as folder:
            with subprocess.Popen([BENCH, "--size", "tiny", "--controller", CONTROLLER, "--out", folder],
                                  stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "TMPDIR": folder}) as process:
                for line in process.stderr:
                    if "first reports" in line:  # a controller runs, and loads
                        break
                assert len(children_in(folder)) >= 4, children_in(folder)
                process.send_signal(number)
                process.stderr.read()
            assert process.returncode == status, process.returncode
            end = time.monotonic() + 20
            while children_in(folder) and time.monotonic() < end:
                time.sleep(0.05)
            assert not children_in(folder), children_in(folder)
            assert number == signal.SIGKILL or not [n for n in os.listdir(folder) if n.startswith("bench-")]


if __name__ == "__main__":
    sys.exit(try_promises(sys.argv[2:]))
