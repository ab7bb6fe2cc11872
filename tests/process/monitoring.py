#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""manifests/monitoring by the real Prometheus, promtool and Alertmanager.

usage: monitoring.py CONTROLLER [WORDS]

CONTROLLER is the program, which is started once and reaches no API server. Prints TAP and fails if any
promise is broken; with words it tries only those whose sentence contains them. hack/debs has fetched the programs. Prometheus scrapes what tests/monitoring/exposition
has: the controller, dcgm-exporter and kube-state-metrics, as they are. How long an alert waits and
looks back is promtool's part; here nothing is waited for.
"""

import ast
import atexit
import contextlib
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from ports import free_port
from prometheus import FOLDER, PROGRAMS, SOURCES, TOP, Folder, Stack, groups, is_there, read, run
from promises import promise, refuse, try_promises

TESTS = os.path.join(TOP, "tests", "monitoring")
RUNBOOKS = os.path.join(FOLDER, "README.md")
ALERT_TESTS = ("alerts_test.yaml", "days_test.yaml")
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else None
# They look back.
NOT_LIVE = {"GPUHeldIdle", "GPUHeldIdleForADay", "GPUPartitionHeldIdle", "GPUPartitionHeldIdleForADay",
            "GPUAttributionDevicesLeftOut", "GPUAttributionWritesRefused"}


def alerts():
    return [rule for group in groups() for rule in group["rules"] if "alert" in rule]


def panels():
    return json.loads(read(FOLDER, "dashboard.json"))["panels"]


def queries():
    """(whose, query) of the dashboard's panels, with its variables filled in."""
    for panel in panels():
        for target in panel.get("targets", []):
            text = target["expr"].replace("$__range", "1h").replace('=~"$node"', '=~".*"')
            text = text.replace('=~"$namespace"', '=~".*"').replace('="$namespace"', '="ml"')
            assert "$" not in text, f"{panel['title']}: {text}"
            yield f"{panel['title']}, {target['refId']}", text


def examples():
    return re.findall(r"^```promql\n(.*?)^```$", read(RUNBOOKS), re.M | re.S)


def test_rules(name):
    with Folder() as folder:
        shutil.copy(os.path.join(TESTS, name), folder)
        run("promtool", "test", "rules", name, cwd=folder)


# The rules, by promtool

@promise
def the_rules_check_out():
    with Folder() as name:
        run("promtool", "check", "rules", "--lint=all", "--lint-fatal", os.path.join(name, "rules.yml"))


@promise
def each_alert_fires_with_its_words_and_clears():
    for name in ALERT_TESTS:
        test_rules(name)


@promise
def the_joined_series_have_every_pod_of_a_shared_device():
    test_rules("joins_test.yaml")


@promise
def gpu_hours_of_a_month_are_those_that_were_held():
    test_rules("hours_test.yaml")
    blocks = [block for text in (read(RUNBOOKS), read(TOP, "controller", "README.md"))
              for block in text.split("```")[1::2] if not block.startswith("python")]
    documents = [" ".join(block.removeprefix("promql").split()) for block in blocks if "[30d]" in block]
    tested = [case["expr"] for test in yaml.safe_load(read(TESTS, "hours_test.yaml"))["tests"]
              for case in test["promql_expr_test"]]
    assert sorted(documents) == sorted(tested), (documents, tested)


@promise
def each_alert_has_a_test_in_which_it_fires_and_is_silent_after_it():
    tests = [test for name in ALERT_TESTS for test in yaml.safe_load(read(TESTS, name))["tests"]]
    for alert in alerts():
        seen = [case for test in tests if test["name"] == alert["alert"]
                for case in test["alert_rule_test"] if case["alertname"] == alert["alert"]]
        fired = ["exp_alerts" in case for case in seen]
        assert fired and not fired[0] and any(fired) and not fired[-1], (alert["alert"], fired)


@promise
def each_alert_is_caused_on_the_local_cluster_or_left_to_promtool_by_name():
    sets = re.findall(r"^(IN_TROUBLE|IN_SILENCE|BY_PROMTOOL) = (\{.*?\})$",
                      read(TOP, "tests", "e2e", "monitoring.py"), re.M | re.S)
    assert len(sets) == 3, sets
    named = [name for _, text in sets for name in ast.literal_eval(text)]
    assert sorted(named) == sorted(a["alert"] for a in alerts()), sorted(named)


@promise
def each_alert_has_a_runbook_and_each_runbook_an_alert():
    sections = dict(re.findall(r"^### (\w+)\n\n(.*?)(?=^#|\Z)", read(RUNBOOKS), re.M | re.S))
    assert sorted(sections) == sorted(a["alert"] for a in alerts()), sorted(sections)
    for alert in alerts():
        name, text = alert["alert"], sections[alert["alert"]]
        assert alert["annotations"]["runbook_url"] == (
            f"manifests/monitoring/README.md#{name.lower()}"), alert
        for word in ("Means:", "Look:", "Do:"):
            assert f"**{word}**" in text, f"{name} does not say: {word}"


@promise
def a_critical_drift_has_a_critical_alert():
    types = re.findall(r'DRIFT\(\w+, "(\w+)", CRITICAL,', read(TOP, "src/assess/drift.def"))
    critical = [a["expr"] for a in alerts() if a["labels"]["severity"] == "critical"]
    assert len(types) > 1
    for name in types:
        assert any(f'type="{name}"' in expression or (
            'severity="Critical"' in expression and name not in expression) for expression in critical), name


@promise
def the_errors_that_need_action_are_those_of_the_catalogue():
    catalogue = re.findall(r"\{(\d+), XID_NEEDS_(?:RESET|REBOOT),", read(TOP, "src/assess/xid.c"))
    expression = next(a["expr"] for a in alerts() if a["alert"] == "GPUErrorNeedsAction")
    told = re.findall(r'xid=~"([\d|]+)"', expression)
    assert told == ["|".join(catalogue)] * 2, (told, catalogue)


@promise
def each_name_is_one_that_is_exposed_or_recorded():
    exposed = set(re.findall(r"^(\w+)[{ ]", "".join(
        read(TESTS, "exposition", f"{source}.txt") for source in SOURCES), re.M))
    recorded = {rule["record"] for group in groups() for rule in group["rules"] if "record" in rule}
    texts = [rule["expr"] for group in groups() for rule in group["rules"]]
    texts += [query for _, query in queries()] + examples()
    used = set(re.findall(r"\b(?:gpuattribution[:\w]+|DCGM_\w+|kube_\w+)", " ".join(texts)))
    assert used <= exposed | recorded, used - exposed - recorded


# The dashboard

@promise
def the_dashboards_panels_have_numbers_and_places_of_their_own():
    taken = {}
    numbers = [panel["id"] for panel in panels()]
    assert len(set(numbers)) == len(numbers), numbers
    for panel in panels():
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, (panel["title"], taken[x, y])
                taken[x, y] = panel["title"]
        for target in panel.get("targets", []):
            assert target["datasource"]["uid"] == "${datasource}", panel["title"]
    assert [p["repeat"] for p in panels() if "repeat" in p] == ["namespace"]


# A Prometheus and an Alertmanager

class Recorded:
    """What the sources were found to expose, the controller's edited."""

    def __init__(self):
        self.edit = lambda text: text

    def __call__(self, source):
        text = read(TESTS, "exposition", f"{source}.txt")
        return self.edit(text) if source == "controller" else text


@functools.cache
def stack():
    """One for all that ask, when all is scraped and recorded twice: then rates are there."""
    started = Stack(Recorded())
    atexit.register(started.end)
    started.wait("series by rate", lambda: len(started.ask("gpuattribution:namespace_slots:rate5m")) >= 5)
    started.wait("joined series", lambda: started.ask("gpuattribution:tenant_owner:info"))
    started.wait("figures of dcgm-exporter, joined",
                 lambda: started.ask("gpuattribution:tenant_device_active:ratio"))
    return started


def series(whose, query):
    """What the query gives. On a busy machine a scrape may take longer than the interval of 1 s: then
    Prometheus has no series until the next one."""
    return stack().wait(f"{whose}: {query}", lambda: stack().ask(query), limit_s=60)


@promise
def each_query_of_the_dashboard_and_the_readme_gives_a_series():
    asked = [*queries(), *(("README.md", text) for text in examples())]
    assert len(asked) > 30 and len(examples()) >= 5, len(asked)
    for whose, query in asked:
        series(whose, query)
    return f"{len(asked)} queries"


@promise
def four_pods_that_share_a_device_are_all_joined_with_its_one_figure():
    alone = series("dcgm-exporter", 'DCGM_FI_PROF_GR_ENGINE_ACTIVE{UUID=~"GPU-11ba.*"}')
    assert [row["metric"]["pod"] for row in alone] == ["train-2"], alone
    joined = series("rules", 'gpuattribution:tenant_device_active:ratio{uuid=~"GPU-11ba.*"}')
    seen = sorted((row["metric"]["namespace"], row["metric"]["pod"], row["value"][1]) for row in joined)
    assert seen == [("ml", "train-0", "0.91"), ("ml", "train-1", "0.91"), ("ml", "train-2", "0.91"),
                    ("web", "infer-0", "0.91")], seen
    return f"dcgm-exporter: 1 pod; joined: {len(seen)} pods"


def without_trouble(text):
    """The same devices, all of them well and as they were meant."""
    text = re.sub(r"^(\w+_(?:drift|xid_errors_total)\{.*\n)", "", text, flags=re.M)
    text = re.sub(r'(kind="SlotHeldTwice"\}) 1', r"\1 0", text)
    text = re.sub(r'(_health_state\{.*state="Healthy"\}) \d', r"\1 1", text)
    return re.sub(r'(_health_state\{.*state="(?:Degraded|Unhealthy|Unknown)"\}) \d', r"\1 0", text)


def silent_and_full(text):
    """Well, too, but a node is silent and tenants had to be left out."""
    text = re.sub(r'(_report_age_seconds\{node="gpu-2"\}) \d+', r"\1 1200", without_trouble(text))
    return re.sub(r"(_tenants_left_out) 0", r"\1 7", text)


@promise
def every_alert_reaches_alertmanager_and_ends_there():
    silence = {"GPUReportSilent", "GPUAttributionTenantsLeftOut"}
    away = {"GPUAttributionControllerAway"}
    trouble = {alert["alert"] for alert in alerts()} - NOT_LIVE - silence - away
    stages = ((lambda text: text, trouble), (without_trouble, set()), (silent_and_full, silence),
              (lambda text: "", away), (without_trouble, set()))
    for edit, expected in stages:
        stack().site.expose.edit = edit
        stack().wait(f"firing: {sorted(expected)}", lambda e=expected: stack().firing() - NOT_LIVE == e)
        stack().wait(f"told: {sorted(expected)}", lambda e=expected: e <= stack().told("firing"))
    ended = trouble | silence | away
    stack().wait(f"ended: {sorted(ended)}", lambda: ended <= stack().told("resolved"))
    text = next(alert["annotations"]["description"] for status, name, alert in stack().site.told
                if (status, name) == ("firing", "GPUUnhealthyWithTenants"))
    assert text == "On it: ml/train-0 ml/train-1 ml/train-2 web/infer-0 ", text
    return f"{len(ended)} alerts fired and ended"


# Dashboards of others

def stock_queries():
    """(query, labels that its legend shows) of the dashboards that kubebuilder makes for any
    controller: its plugin grafana/v1-alpha."""
    where = '{job="controller", namespace="gpu-attribution"}'
    yield f"controller_runtime_active_workers{where}", ("controller", "instance")
    yield f"workqueue_depth{where}", ("instance", "pod")
    yield f"rate(workqueue_unfinished_work_seconds{where}[5m])", ("name", "instance")
    yield f'rate(process_cpu_seconds_total{where}[5m]) * 100', ("pod",)
    yield f'process_resident_memory_bytes{where}', ("pod",)
    for what in ("reconcile_total", "reconcile_errors_total"):
        yield f"sum(rate(controller_runtime_{what}{where}[5m])) by (instance, pod)", ("instance", "pod")
    for what in ("adds_total", "retries_total"):
        yield f"sum(rate(workqueue_{what}{where}[5m])) by (instance, name)", ("name", "instance")
    for what, label in (("controller_runtime_reconcile_time", "controller"),
                        ("workqueue_queue_duration", "name"), ("workqueue_work_duration", "name")):
        yield (f"histogram_quantile(0.90, sum(rate({what}_seconds_bucket{where}[5m]))"
               f" by (instance, {label}, le))", (label, "instance"))


@contextlib.contextmanager
def controller():
    """The program itself; yields the address of its /metrics."""
    address = f"127.0.0.1:{free_port()}"
    with tempfile.NamedTemporaryFile("w") as kubeconfig:
        json.dump({"current-context": "none", "contexts": [{"name": "none", "context": {"cluster": "none"}}],
                   "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:9"}}]}, kubeconfig)
        kubeconfig.flush()
        with subprocess.Popen([PROGRAM, "--kubeconfig", kubeconfig.name, "--report-address", "127.0.0.1:0",
                               "--probe-address", "127.0.0.1:0", "--metrics-address", address,
                               "--metrics-insecure"], stderr=subprocess.DEVNULL) as process:
            try:
                yield address
            finally:
                process.terminate()


@promise
def what_the_document_gives_promtool_of_a_page_is_clean():
    rewrite, = (block for block in read(TOP, "controller", "README.md").split("```")[1::2]
                if block.strip().startswith("awk"))
    promtool = os.path.join(PROGRAMS, "promtool")
    with controller() as address:
        text = ""
        while not text:  # it has not begun to listen yet
            time.sleep(0.05)
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{address}/metrics") as answer:
                text = answer.read().decode()
    assert "# TYPE gpuattribution_build info\n" in text and text.endswith("# EOF\n"), text[-200:]
    done = subprocess.run(["sh", "-c", rewrite.replace("promtool", f'"{promtool}"')], input=text, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr


@promise
def each_panel_of_kubebuilders_dashboards_has_a_series_of_the_controller():
    with controller() as address:
        scrape = {"job_name": "controller", "honor_labels": True, "static_configs": [
            {"targets": [address], "labels": {"namespace": "gpu-attribution", "pod": "controller-0"}}]}
        scraped = Stack(scrapes=[scrape])
        try:
            for query, labels in stock_queries():
                row, = scraped.wait(query, lambda q=query: scraped.ask(q))
                assert set(labels) <= set(row["metric"]), (query, row)
        finally:
            scraped.end()
    return f"{len(list(stock_queries()))} queries"


def main():
    if not is_there():
        return refuse("Prometheus is there", "run: hack/deps build")
    return try_promises(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
