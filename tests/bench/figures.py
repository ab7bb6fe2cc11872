# SPDX-License-Identifier: Apache-2.0
"""What hack/bench makes of its samples: medians, goals, bars, a table, JSON and plots.

A goal is what is wanted, a bar what is kept today: beyond a bar the gate fails. Both are a limit to our
median.
"""

import json
import os
import statistics
import subprocess
import sys
from typing import NamedTuple, Optional

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


class Limit(NamedTuple):
    """So many times the peer's median, or so much in the row's unit."""
    times: Optional[float] = None
    most: Optional[float] = None

    def is_kept(self, ours, peer):
        return ours <= (self.times * peer if self.most is None else self.most)

    def __str__(self):
        return f"≤ {self.times:.3g} × peer" if self.most is None else f"≤ {self.most:.3g}"


class Row(NamedTuple):
    key: str
    title: str
    places: int  # behind the point
    goal: Optional[Limit] = None
    goal_100k: Optional[Limit] = None  # where it is another
    bar: Optional[Limit] = None


NOTHING = Limit(times=0.02)  # the goal is 0; this is what can be told from it
# Bars are what five turns at 10k on a quiet machine had, with room for what differs between runs: a third
# and more. What one slow request decides has none.
ROWS = (
    Row("sync_cpu_s", "sync, CPU s", 2, Limit(times=1 / 8), bar=Limit(times=0.25)),
    Row("sync_peak_mib", "peak memory of sync, MiB", 0, Limit(most=40), bar=Limit(times=0.6)),
    Row("run_peak_mib", "peak memory over the run, MiB", 0, Limit(most=40), bar=Limit(times=0.7)),
    Row("sync_api_cpu_s", "API server CPU per sync, s", 2, Limit(times=1 / 4), bar=Limit(times=0.5)),
    Row("irrelevant_us", "CPU per irrelevant pod event, µs", 0, NOTHING, bar=Limit(times=0.05)),
    Row("relevant_us", "CPU per relevant pod event, µs", 0, Limit(times=1 / 4), bar=Limit(times=0.65)),
    Row("written_us", "CPU per report that leads to a write, µs", 0, Limit(times=1 / 3),
        bar=Limit(times=0.67)),
    Row("restart_us", "CPU per report after a restart, µs", 0, Limit(times=1 / 3), bar=Limit(times=1.35)),
    Row("fill_api_cpu_s", "first fill, API server CPU s", 1, Limit(times=1), bar=Limit(times=1.6)),
    Row("deleted_worst_ms", "pod DELETE → status, worst, ms", 0, Limit(times=1)),
    Row("event_p50_ms", "event → status, p50, ms", 2, bar=Limit(times=1.3)),
    Row("event_p99_ms", "event → status, p99, ms", 2),
    Row("bare_p50_ms", "bare PATCH → watch, p50, ms", 2),
    Row("bare_p99_ms", "bare PATCH → watch, p99, ms", 2),
    Row("event_p50_times", "event → status, p50, times the bare PATCH", 2, Limit(most=1.1), Limit(times=1),
        bar=Limit(most=1.3)),
    Row("event_p99_times", "event → status, p99, times the bare PATCH", 2, Limit(most=1.5), Limit(times=1)),
)


def judge(samples, size):
    """A dict for each row, from {"ours": [sample, ...], "peer": [...]}."""
    rows = []
    for row in ROWS:
        ours, peer = (statistics.median(sample[row.key] for sample in samples[who])
                      for who in ("ours", "peer"))
        goal = row.goal_100k if size == "100k" and row.goal_100k else row.goal
        rows.append({
            "key": row.key, "title": row.title, "places": row.places, "ours": ours, "peer": peer,
            "ratio": ours / peer if peer > 0 else None,
            "goal": goal and str(goal), "goal_times": goal and goal.times, "bar": row.bar and str(row.bar),
            "goal_met": goal and goal.is_kept(ours, peer),
            "bar_kept": row.bar and row.bar.is_kept(ours, peer)})
    return rows


def beyond(rows):
    """What the gate fails for."""
    return [f"{row['title']}: {number(row, 'ours')}, peer {number(row, 'peer')}, bar {row['bar']}"
            for row in rows if row["bar_kept"] is False]


def number(row, whose):
    return f"{row[whose]:.{row['places']}f}"


def table(measured, rows):
    """Markdown."""
    world, load = measured["world"], measured["load"]
    said = {None: "", True: "yes", False: "no"}
    lines = [
        f"{world['pods']} pods, {world['gpus']} GPUs on {world['gpu_nodes']} of {world['nodes']} nodes; "
        f"medians of {measured['runs']}, in turns; {measured['cores']} cores, load average "
        f"{load[0]:.1f} at the start and {load[1]:.1f} at the end.", "",
        "| | ours | peer | ratio | goal | met | bar |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
        lines.append(f"| {row['title']} | {number(row, 'ours')} | {number(row, 'peer')} | {ratio} | "
                     f"{row['goal'] or ''} | {said[row['goal_met']]} | {row['bar'] or ''} |")
    return "\n".join(lines) + "\n"


def write(folder, measured, rows):
    with open(os.path.join(folder, "bench.json"), "w", encoding="utf-8") as file:
        json.dump({**measured, "rows": rows}, file, indent=1)
    with open(os.path.join(folder, "table.md"), "w", encoding="utf-8") as file:
        file.write(table(measured, rows))
    plot(folder, measured["samples"], rows)


def plot(folder, samples, rows):
    """The ratios, and the samples of each row over the turns."""
    where = subprocess.run([os.path.join(TOP, "hack", "debs"), "--where"], check=True, timeout=60,
                           capture_output=True, text=True).stdout.strip()
    sys.path.append(os.path.join(where, "usr/lib/python3/dist-packages"))
    try:
        import pygal
    except ImportError:
        print("no plots: hack/debs fetches what draws them", file=sys.stderr)
        return
    shown = [row for row in rows if row["ratio"] is not None]
    # js: nothing is loaded when it is looked at.
    chart = pygal.HorizontalBar(js=[], title="ours ÷ peer", x_title="1: as the peer", height=900)
    chart.x_labels = [row["title"] for row in shown]
    chart.add("median", [round(row["ratio"], 3) for row in shown])
    chart.add("goal", [row["goal_times"] for row in shown])
    chart.render_to_file(os.path.join(folder, "ratios.svg"))
    for row in rows:
        chart = pygal.Line(js=[], title=row["title"], x_title="turn", range=None, include_x_axis=True)
        chart.x_labels = [str(turn) for turn in range(1, len(samples["ours"]) + 1)]
        for who in ("ours", "peer"):
            chart.add(who, [round(sample[row["key"]], row["places"] + 1) for sample in samples[who]])
        chart.render_to_file(os.path.join(folder, f"{row['key']}.svg"))
