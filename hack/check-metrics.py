#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds whoever asks for a metric to what the controller publishes.

usage: hack/check-metrics.py [FOLDER]     the checkout (default: where this script is)

Rules, dashboard, samples, documents, and what the tests of the rules take for the controller's, may
name a gpuattribution_* metric only if a table of the controller has it. A label that they match it by,
or that a test gives it, must be one of its own. Series that rules record have a colon in their name and
are not looked at. Prints what does not hold, and fails if anything does not.
"""

import re
import sys

import arguments

ROOT, _ = arguments.parse(__doc__)
READERS = ("README.md", "*/README.md", "manifests/monitoring/*", "manifests/samples/**/*", "tests/monitoring/**/*")
HISTOGRAM = ("_bucket", "_count", "_sum")
# What a scrape adds, and the controller does not say.
ADDED = {"instance", "job", "le", "namespace", "pod", "container"}


def of_tables():
    """The names as they are shown, each with its labels, or None where a table does not have them."""
    found = {}
    for table in sorted((ROOT / "controller").glob("*.def")):
        for kind, name, labels in re.findall(
                r'METRIC\(\w+, (\w+), "(\w+)", "\w*",\s*(?:"(?:[^"\\]|\\.)*"\s*)+,\s*'
                r'(NULL|METRIC_LABELS\([^)]*\)|\w+)(?:,\s*\w+)?\)', table.read_text()):
            known = None if re.fullmatch(r"\w+_LABELS", labels) else set(re.findall(r'(\w+)=\\"', labels))
            endings = (HISTOGRAM if kind == "HISTOGRAM" else ("_info",) if kind == "INFO" else
                       ("_total",) if kind.startswith("COUNTER") else ("",))
            found.update({name + ending: known for ending in endings})
    return found


def of_agents():
    text = (ROOT / "controller/agent_series.c").read_text()
    names = [name + ("_total" if kind == "COUNTER" else "")
             for name, kind in re.findall(r'\{"(gpuattribution_\w+)",\s+"[^"]+",\s+(COUNTER|GAUGE),', text)]
    return dict.fromkeys(names + re.findall(r"# TYPE (gpuattribution_\w+) gauge", text))


def asked(text):
    """(name, labels that go with it). What describes a metric, and the tables that check-docs.py writes,
    have the names of families."""
    text = re.sub(r"^(?:# (?:TYPE|HELP|UNIT) |\| `gpuattribution_).*", "", text, flags=re.M)
    text = text.replace('\\"', '"')
    for name, selector in re.findall(r"\b(gpuattribution_\w+)\b(?:\{([^}]*)\})?", text):
        yield name, set(re.findall(r'(\w+)\s*(?:=~|!=|!~|=)\s*"', selector))


published = {**of_tables(), **of_agents()}
faults, n = [], 0
for pattern in READERS:
    for path in sorted(p for p in ROOT.glob(pattern) if p.is_file()):
        for name, labels in asked(path.read_text()):
            n += 1
            if name not in published:
                faults.append(f"{path.relative_to(ROOT)}: the controller publishes no {name}")
            elif published[name] is not None and not labels <= published[name] | ADDED:
                unknown = ", ".join(sorted(labels - published[name] - ADDED))
                faults.append(f"{path.relative_to(ROOT)}: {name} has no label {unknown}")
if not published or not n:
    faults.append("no metric, or nobody who asks for one, was found")
for fault in sorted(set(faults)):
    print(fault)
sys.exit(1 if faults else 0)
