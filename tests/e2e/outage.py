#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How soon the controller sees again after the API server was away, and what it asks and writes
meanwhile.

usage: outage.py [CLUSTER] [--runs N]

Without a cluster's name it starts one of its own with hack/up and ends it. With a name it uses that
running one, made with `hack/up --name NAME -- OPTIONS` (OPTIONS below), and leaves it. A run kills
the API server five times within a minute; the default is one run. It needs nothing of the
controller but its name and its metrics, so copied into an older checkout it measures that.

The API server's audit log says when it answered each watch, to the microsecond. A watch that was
not back before the next kill counts with the time until then, so as less than it was.
"""

import argparse
import collections
import json
import math
import os
import signal
import sys
import time
from datetime import datetime

from cluster import (AGENTS, CONTROLLER_USER, WRITES, Cluster, Direct, Failed, Tests, own_cluster, percentile,
                     run, wait_for)

OPTIONS = ("--nodes", "1", "--gpus", "2:A100")
API_SERVER = "kube-apiserver"
AGENT = "daemonset/gpu-attribution-agent"
WATCHED = ("pods", "nodes", "clusterpolicies", "gpuattributions", "resourceclaims",
           "resourceslices")
KILLS, SECONDS_BETWEEN = 5, 12
LONG_OUTAGE, QUIET = 60, 20
PATIENCE = 90  # until all watches are back
# A server that starts says when to come again, sometimes after /readyz, and that is heeded: 503 and 5 s
# for a custom resource until all paths are installed (k8s.io/apiserver, notfoundhandler), 429 and 1 s
# while the cache behind a resource is filled (its cacher: "storage is (re)initializing").
RETRY_AFTER = {503: 5, 429: 1}

tests = Tests(clean=lambda cluster: None)
options = argparse.Namespace(runs=1)

Kill = collections.namedtuple("Kill", "at ready until")  # until: the next kill, or long after


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def what_of(event):
    """The resource that an audit event is about, or the path of a request for none."""
    return event.get("objectRef", {}).get("resource") or event["requestURI"]


class Log:
    """What the API server's audit log says of the controller from now on."""

    def __init__(self, direct):
        self.path = os.path.join(direct.state, "log", "audit.log")
        self.offset = os.path.getsize(self.path)
        self.events = []

    def read(self):
        with open(self.path, encoding="utf-8") as file:
            file.seek(self.offset)
            for line in file:
                if not line.endswith("\n"):
                    break
                self.offset += len(line.encode())
                event = json.loads(line)
                if event.get("user", {}).get("username") == CONTROLLER_USER:
                    self.events.append(event)
        return self.events

    def opened(self, resource, since):
        """The first time after `since` at which a watch of the resource was answered; or None."""
        times = [moment(event["stageTimestamp"]) for event in self.events
                 if event["verb"] == "watch" and event["stage"] == "ResponseStarted"
                 and what_of(event) == resource
                 and event["responseStatus"]["code"] == 200]
        return min((at for at in times if at > since), default=None)

    def told(self, resource, since):
        """(when the API server said to come again later for the resource, with which code), after
        `since`."""
        return [(moment(event["stageTimestamp"]), event["responseStatus"]["code"])
                for event in self.events
                if event["verb"] in ("watch", "list") and event["stage"] == "ResponseComplete"
                and what_of(event) == resource and event["responseStatus"]["code"] in RETRY_AFTER
                and moment(event["stageTimestamp"]) > since]

    def requests(self, since, until):
        """How many requests by verb and resource; a watch counts when it is answered."""
        return collections.Counter(
            f"{event['verb']} {what_of(event)}" for event in self.events
            if event["stage"] == ("ResponseStarted" if event["verb"] == "watch"
                                  else "ResponseComplete")
            and since < moment(event["stageTimestamp"]) <= until)

    def wait_opened(self, since):
        """Waits until a watch of each resource was answered after that."""
        def all_opened():
            self.read()
            missing = [name for name in WATCHED if self.opened(name, since) is None]
            if missing:
                raise Failed(f"no watch of {', '.join(missing)}")
            return True
        wait_for("the controller's watches", all_opened, PATIENCE, every=0.1)


def unanswered(cluster):
    """Requests of the controller's that got no answer, by its own count. After a long outage Kubernetes
    may take the node for unreachable, and have a new controller made."""
    def count():
        for line in cluster.metrics().splitlines():
            if line.startswith('gpuattribution_apiserver_requests_total{code="<error>"}'):
                return line.split()[-1]
        raise Failed("the controller does not count requests without an answer")
    return int(float(wait_for("the controller's metrics", count, PATIENCE)))


def lists(cluster):
    """Complete states that the controller asked for."""
    return sum(int(float(line.split()[-1])) for line in cluster.metrics().splitlines()
               if line.startswith("gpuattribution_watch_lists_total"))


def set_up(cluster, direct):
    """All six resources are served, and there is a tenant. No device becomes idle meanwhile: that is
    a write."""
    wait_for("the API server", direct.is_ready, every=0.1)
    run("hack/cluster/build", "clusterpolicy")
    folder = run("hack/cluster/build", "--where", "clusterpolicy").strip()
    cluster.kubectl("apply", "-f", os.path.join(folder, "nvidia.com_clusterpolicies.yaml"))
    if not any(key[1] == "tenant" for key in cluster.tenants()):
        cluster.create_tenant("tenant", "node-1")
    cluster.kubectl(*AGENTS, "set", "env", AGENT, "GPU_ATTRIBUTION_IDLE_AFTER=24h")
    cluster.rollout(AGENT)
    path = os.path.join(direct.state, "log", "audit.log")
    whole = Log(direct)
    whole.offset = 0
    wait_for("the first watches", lambda: os.path.exists(path), every=0.1)
    whole.wait_opened(0)


def end_api_server(direct):
    """Kills it by its number. Returns when."""
    pid = direct.recorded_pid(API_SERVER)
    at = time.time()
    os.kill(pid, signal.SIGKILL)

    def has_ended():
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                return file.read().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True
    wait_for("the end of the API server", has_ended, timeout=10, every=0.005)
    return at


def wait_ready(direct):
    wait_for("GET /readyz", direct.is_ready, every=0.02)
    return time.time()


def kill_often(direct):
    """One run. Returns the kills, each with the time up to which its watches are looked for."""
    began = time.time()
    times = []
    for number in range(KILLS):
        # The pace of the experiment; what is measured does not rest on it.
        time.sleep(max(0.0, began + number * SECONDS_BETWEEN - time.time()))
        at = end_api_server(direct)
        times.append((at, wait_ready(direct)))
    ends = [at for at, _ in times[1:]] + [math.inf]
    return [Kill(at, ready, until) for (at, ready), until in zip(times, ends)]


def delays(log, kills):
    """(resource, seconds from readyz to the watch, was it back before the next kill?) Where the API
    server said when to come again, from then on."""
    found = []
    for kill in kills:
        for resource in WATCHED:
            back = log.opened(resource, kill.at)
            if back is not None and back < kill.until:
                told = [at + RETRY_AFTER[code] for at, code in log.told(resource, kill.at) if at < back]
                found.append((resource, max(0.0, back - max([kill.ready, *told])), True))
            else:
                found.append((resource, max(0.0, kill.until - kill.ready), False))
    return found


def parts(value, path=""):
    """Each value in an object by its path."""
    if isinstance(value, (dict, list)) and value:
        rows = value.items() if isinstance(value, dict) else enumerate(value)
        return {where: what for key, inner in rows
                for where, what in parts(inner, f"{path}.{key}").items()}
    return {path: value}


def changes(before, after):
    """What differs between two states of all objects, in lines."""
    old, new = parts(before), parts(after)
    return [f"{path.strip('.')}: {old.get(path)!r} -> {new.get(path)!r}"
            for path in sorted(old.keys() | new.keys()) if old.get(path) != new.get(path)]


def row(title, values):
    return f"{title:<18}{len(values):>4}{percentile(values, 50):>9.3f}" \
        f"{percentile(values, 99):>9.3f}{max(values):>9.3f}"


def counts_told(counter):
    return ", ".join(f"{n} {what}" for what, n in counter.most_common()) or "none"


def refusals_told(log, since):
    codes = [code for name in WATCHED for _, code in log.told(name, since)]
    return counts_told(collections.Counter(f"with {code}" for code in codes))


@tests.promise
def every_watch_is_back_within_2_s_of_readyz(cluster):
    direct = Direct(cluster)
    set_up(cluster, direct)
    log, kills, found = Log(direct), [], []
    errors, relists = -unanswered(cluster), -lists(cluster)
    asked = collections.Counter()
    for _ in range(options.runs):
        series = kill_often(direct)
        log.wait_opened(series[-1].at)
        found += delays(log, series)
        kills += series
        end = max(log.opened(name, series[-1].at) for name in WATCHED)
        asked += log.requests(series[0].at, end)
    errors, relists = errors + unanswered(cluster), relists + lists(cluster)
    away = [kill.ready - kill.at for kill in kills]
    missed = sum(not was_back for _, _, was_back in found)
    values = [seconds for _, seconds, _ in found]
    note = [
        f"{len(kills)} kills in {options.runs} runs; the API server was away for "
        f"{min(away):.1f} to {max(away):.1f} s",
        f"{'readyz -> watch, s':<18}{'n':>4}{'p50':>9}{'p99':>9}{'max':>9}",
        *(row(name, [s for resource, s, _ in found if resource == name]) for name in WATCHED),
        row("all", values),
        f"not back before the next kill: {missed} of {len(found)}; told to come again later: "
        f"{refusals_told(log, kills[0].at)}",
        f"requests that got no answer: {errors}; complete states asked for: {relists}",
        f"requests that got one, from the first kill of a run until all watches are back: "
        f"{counts_told(asked)}",
    ]
    assert percentile(values, 99) <= 2, "\n".join(note)
    return "\n".join(note)


@tests.promise
def an_outage_of_60_s_in_which_nothing_changes_makes_no_write(cluster):
    direct = Direct(cluster)
    set_up(cluster, direct)
    before, log, errors = cluster.attributions(), Log(direct), -unanswered(cluster)
    began = time.time()
    cluster.ctl("kill", API_SERVER)
    time.sleep(LONG_OUTAGE)  # it is the outage itself
    cluster.ctl("start", API_SERVER)
    ready = wait_ready(direct)
    log.wait_opened(began)
    opened = {name: log.opened(name, began) for name in WATCHED}
    back = max(opened.values())
    time.sleep(max(0.0, back + QUIET - time.time()))
    log.read()
    asked = log.requests(began, time.time())
    # A review of a token creates nothing, and an Event or a Lease is no status.
    writes = [f"{event['stageTimestamp']} {event['verb']} {event['requestURI']}"
              for event in log.events if event["verb"] in WRITES
              and what_of(event) not in ("tokenreviews", "subjectaccessreviews", "events", "leases")]
    errors += unanswered(cluster)
    note = "\n".join([
        f"away for {ready - began:.1f} s; all watches back {back - ready:.3f} s after readyz; "
        f"{len(writes)} writes until {QUIET} s later",
        "readyz -> watch, s: " + ", ".join(
            f"{name} {max(0.0, at - ready):.3f}" for name, at in opened.items()),
        f"requests that got no answer: {errors}; that got one: {counts_told(asked)}"])
    changed = changes(before, cluster.attributions())
    assert not writes and not changed, "\n".join([note, *writes, *changed])
    return note


HALF_OPEN = 30
DROPPED = "gpu-attribution-half-open"  # a table of nftables


def drop_connections(cluster):
    """From now on the node drops, without a word, what the controller and the API server send each
    other on the connections that are open. New ones work. Returns how many these are."""
    pod = cluster.controller_pod()
    found = run("nsenter", "--target", str(cluster.pid_of(pod)), "--net", "ss", "-tnH", "state",
                "established", "( dport = :443 )")
    ports = [line.split()[2].rpartition(":")[2] for line in found.splitlines()]
    address, ports_told = pod["status"]["podIP"], ", ".join(ports)
    cluster.enter("--node", "1", "nft", "-f", "-", stdin=f"""
        table ip {DROPPED} {{
            chain forward {{
                type filter hook forward priority -300;
                ip saddr {address} tcp sport {{ {ports_told} }} drop
                ip daddr {address} tcp dport {{ {ports_told} }} drop
            }}
        }}""")
    return len(ports)


@tests.promise
def watches_whose_peer_is_gone_without_a_word_are_back_within_30_s(cluster):
    direct = Direct(cluster)
    set_up(cluster, direct)
    log, began = Log(direct), time.time()
    n = drop_connections(cluster)
    try:
        log.wait_opened(began)
    finally:
        cluster.enter("--node", "1", "nft", "delete", "table", "ip", DROPPED)
    delays_of = {name: log.opened(name, began) - began for name in WATCHED}
    note = f"{n} connections dropped; back after, s: " + ", ".join(
        f"{name} {delay:.1f}" for name, delay in delays_of.items())
    assert n >= len(WATCHED) and max(delays_of.values()) <= HALF_OPEN, note
    return note


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2].partition("\n")[0])
    parser.add_argument("cluster", nargs="?")
    parser.add_argument("--runs", type=int, default=1)
    parser.parse_args(namespace=options)
    if options.cluster:
        return tests.run(Cluster(options.cluster))
    with own_cluster("outage", "--", *OPTIONS) as name:
        return tests.run(Cluster(name))


if __name__ == "__main__":
    sys.exit(main())
