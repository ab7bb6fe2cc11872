#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two controllers on a real API server, of which one leads. The leader is killed, stopped, deleted and
replaced by a rolling update.

usage: leadership.py [CLUSTER [WORDS]]

Without arguments it starts a cluster of its own with hack/up and ends it. With a name it uses that
running one, which hack/up made with --no-tenants, and leaves it with two controllers; with words it
tries only the promises whose sentence contains them.

Who sent a request is told by the address in the API server's audit log: both controllers are one user
there.
"""

import collections
import contextlib
import datetime
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

from cluster import CONTROLLER_USER, ROOT, WRITES, Cluster, Direct, Failed, Tests, Watch, wait_for
from replicas import (CONTROLLER, NAMESPACE, controllers, figure, have_two, leader, lease,
                      names_that_follow)

SLICED, NODE = "node-1", "node-2"  # time slices, exclusive devices
PAGE_S = 1  # for so long a page of metrics is kept
LEAD_S = 4  # from the last renewal of a leader without an API server until it does not lead
TAKE_OVER_S = 7  # from the last renewal of a leader that ended without a word, to the next one's write
WARNED_S = 10  # from then until who reads is told that nobody leads
KILLS = 3
STILL_S = 3  # for so long nothing happens
HAND_OVER_S = 0.5  # from the last write of a Lease that is given up to the next leader's first
BUSY_S = 1  # by which a busy machine may delay that; a Lease that runs out takes 5 s
# What one leader may take for a pod (attribution.py), and a hand-over before it.
SHOWN_S = 2 + HAND_OVER_S
PACE_S = 0.5  # from one pod to the next
STAY_S = 3  # for so long, at least, a pod stays
# Three of four pods share three devices. So each object has three writes in two seconds or fewer, and the
# budget of a leader (controller/write_budget.h) lasts for about a minute.
PLACES = (SLICED, SLICED, SLICED, NODE)
AFTER_S = 5  # for so long pods go on to come once the Deployment is complete

tests = Tests(clean=Cluster.delete_pods)


def seconds(text):
    """A MicroTime, in seconds since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def sent(cluster, since, address=None, resource="gpuattributions"):
    """Writes of a resource by a controller after the first `since` requests, as (time, address)."""
    return [(seconds(event["requestReceivedTimestamp"]), event["sourceIPs"][0])
            for event in cluster.requests_of(CONTROLLER_USER, since, WRITES, resource)
            if address in (None, event["sourceIPs"][0])]


def is_over(event):
    """Of a watch that the API server ended because the time was over for which it was asked for."""
    asked = urllib.parse.parse_qs(urllib.parse.urlsplit(event["requestURI"]).query)["timeoutSeconds"][0]
    return seconds(event["stageTimestamp"]) - seconds(event["requestReceivedTimestamp"]) >= float(asked)


def reads(cluster, since, address, start, end):
    """Lists and new watches of a controller in that time, by resource. A watch that follows one whose time
    was over is not new."""
    lists, watches = collections.Counter(), collections.Counter()
    for event in cluster.requests_of(CONTROLLER_USER, since, ("list", "watch")):
        if event["sourceIPs"][0] != address or not start <= seconds(event["stageTimestamp"]) <= end:
            continue
        resource = event["objectRef"]["resource"]
        if event["verb"] == "list":
            lists[resource] += 1
        elif event["stage"] == "ResponseStarted":
            watches[resource] += 1
        elif is_over(event):
            watches[resource] -= 1
    return dict(lists), dict(+watches)


def wait_next_leader(cluster, before):
    """Waits until a pod leads that is not the one of that address; returns its address."""
    return wait_for("another leader", lambda: next(
        (a for a in [leader(cluster)[0]] if a != before), None), timeout=30, every=0.02)


@tests.promise
def of_two_controllers_one_leads_both_are_ready_and_both_are_told_of_reports(cluster):
    have_two(cluster)
    first, _ = leader(cluster)
    leads = {a: figure(cluster, a, "gpuattribution_leader") for a in controllers(cluster)}
    devices = {a: figure(cluster, a, "gpuattribution_device_info") for a in leads}
    assert [a for a, is_leader in leads.items() if is_leader == 1] == [first], leads
    assert devices[first] == len(cluster.attributions()), devices
    assert all(n == 0 for a, n in devices.items() if a != first), devices
    since = len(cluster.audit())
    cluster.create_tenant("led", NODE)
    writers = {address for _, address in sent(cluster, since)}
    assert writers == {first}, (writers, first)
    return f"leads: {leads}; devices on /metrics: {devices}; who wrote: {writers}"


@tests.promise
def a_leader_that_is_killed_is_replaced_without_a_list_and_nothing_is_lost_or_written_twice(cluster):
    have_two(cluster)
    note = []
    for number in range(KILLS):
        first, pod = leader(cluster)
        kept = cluster.create_tenant(f"kept-{number}", NODE)
        before, since = cluster.versions(), len(cluster.audit())
        killed = time.time()
        os.kill(cluster.pid_of(pod), signal.SIGKILL)
        renewed = seconds(lease(cluster)["renewTime"])
        uid = cluster.create_pod(f"new-{number}", NODE)
        second = wait_next_leader(cluster, first)
        wait_for("the new tenant", lambda u=uid: any(u == k[0] for k in cluster.tenants()))
        writes = sent(cluster, since)
        others = [w for w in writes if w[1] != second]
        written = min(at for at, _ in writes)
        took, read = written - renewed, reads(cluster, since, second, killed, written)
        assert not others, (others, second)
        assert took <= TAKE_OVER_S, f"{took:.2f} s after the last renewal"
        assert read == ({}, {}), f"lists and watches before the first write: {read}"
        assert any(kept == k[0] for k in cluster.tenants()), kept
        changed = {n for n, v in cluster.versions().items() if before.get(n) != v}
        assert len(changed) == 1, changed  # that of the new tenant
        note.append(f"{took:.2f} s")
        wait_for("the killed one to be ready again", lambda: len(controllers(cluster)) == 2)
        cluster.delete_pods()
    return ("last renewal of the old leader -> first write of the next: " + ", ".join(note) +
            "; in that time the next one sent no list and no new watch")


@tests.promise
def a_leader_that_ends_on_a_signal_hands_over_at_once_and_without_a_list(cluster):
    have_two(cluster)
    first, pod = leader(cluster)
    before, since = cluster.versions(), len(cluster.audit())
    cluster.kubectl(*NAMESPACE, "delete", "pod", pod["metadata"]["name"], "--wait=false")
    second = wait_next_leader(cluster, first)
    turns = sent(cluster, since, resource="leases")
    released = max(at for at, address in turns if address == first)
    taken = min(at for at, address in turns if address == second)
    assert taken - released <= 0.5, f"{taken - released:.3f} s"
    time.sleep(STILL_S)  # that nothing is written in this time is what is tried
    assert not sent(cluster, since), "writes though nothing changed"
    assert cluster.versions() == before
    read = reads(cluster, since, second, released, time.time())
    assert read == ({}, {}), f"lists and watches of the next leader: {read}"
    return (f"released -> taken: {taken - released:.3f} s; 0 writes, lists and new watches of the next "
            f"leader in {STILL_S} s after it")


class Admissions(threading.Thread):
    """When kubelets have given devices to pods, by the pods' UIDs: each then writes its checkpoint. Times
    are monotonic."""

    LOOK_S = 0.02

    def __init__(self, cluster, nodes):
        super().__init__(daemon=True)
        self.at, self.seen, self.over = {}, {}, threading.Event()
        self.offset = time.time() - time.monotonic()
        self.paths = [os.path.join(cluster.ctl("state", node).strip(), "kubelet", "device-plugins",
                                   "kubelet_internal_checkpoint") for node in nodes]
        self.start()

    def run(self):
        while not self.over.wait(self.LOOK_S):
            for path in self.paths:
                with contextlib.suppress(OSError, ValueError, KeyError):
                    self.look(path)

    def look(self, path):
        with open(path, encoding="utf-8") as file:
            at = os.fstat(file.fileno()).st_mtime
            if self.seen.get(path) == at:
                return
            entries = json.load(file)["Data"]["PodDeviceEntries"] or []
        self.seen[path] = at
        for entry in entries:
            self.at.setdefault(entry["PodUID"], at - self.offset)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


class Visitors:
    """Pods that come one after the other, and go a while after they were shown."""

    def __init__(self, cluster, watch):
        self.cluster, self.watch = cluster, watch
        self.names, self.born, self.ended = {}, {}, {}  # by UID

    def come(self):
        name = f"visitor-{len(self.names)}"
        uid = self.cluster.create_pod(name, PLACES[len(self.names) % len(PLACES)])
        self.names[uid], self.born[uid] = name, time.monotonic()

    def go(self):
        shown, now = self.watch.shown(), time.monotonic()
        for uid, name in self.names.items():
            if uid in shown and uid not in self.ended and now - self.born[uid] >= STAY_S:
                self.ended[uid] = time.monotonic()
                self.cluster.end_pod(name)

    def come_and_go(self, is_over):
        due = time.monotonic()
        while not is_over():
            self.come()
            self.go()
            due = max(due + PACE_S, time.monotonic())  # what a busy machine delays is not made up for
            time.sleep(max(0.0, due - time.monotonic()))

    def latencies(self, admissions):
        """From when a pod was admitted until it was shown, by its name. A pod that a kubelet refused, as it
        does while the devices of one that was ended are not free yet, has none."""
        admitted = {uid: at for uid, at in dict(admissions.at).items() if uid in self.names}
        with contextlib.suppress(Failed):
            wait_for("all pods", lambda: admitted.keys() <= self.watch.shown().keys(), timeout=10)
        shown = self.watch.shown()
        return {self.names[uid]: max(0.0, shown.get(uid, math.inf) - at) for uid, at in admitted.items()}


def restart_controllers(cluster):
    """Begins a rolling update. Returns what tells whether it has been over for AFTER_S; that fails as the
    update does."""
    cluster.kubectl(*NAMESPACE, "rollout", "restart", CONTROLLER)
    ended, failures = [], []

    def follow():
        try:
            cluster.rollout(CONTROLLER)
        except Exception as error:  # whatever it was: the pods are not to come for ever
            failures.append(error)
        ended.append(time.monotonic())
    threading.Thread(target=follow, daemon=True).start()

    def is_over():
        if failures:
            raise failures[0]
        return bool(ended) and time.monotonic() - ended[0] >= AFTER_S
    return is_over


def turns_of_lease(cluster, since):
    """(seconds, from whom, to whom) of each change of who writes the Lease: from the last write of one to
    the first of the next. A write that was refused, as when two want it at once, is none."""
    writes = sorted((seconds(event["requestReceivedTimestamp"]), event["sourceIPs"][0])
                    for event in cluster.requests_of(CONTROLLER_USER, since, WRITES, "leases")
                    if event.get("responseStatus", {}).get("code") == 200)
    return [(after[0] - before[0], before[1], after[1]) for before, after in zip(writes, writes[1:])
            if before[1] != after[1]]


@tests.promise
def a_rolling_update_leaves_no_gap(cluster):
    have_two(cluster)
    kept = {cluster.create_tenant("kept", SLICED)}
    replaced, since = set(controllers(cluster)), len(cluster.audit())
    state = cluster.ctl("state").strip()
    with names_that_follow((SLICED, NODE), state, cluster, every=0.2), Watch(cluster) as watch, \
            Admissions(cluster, (SLICED, NODE)) as admissions:
        visitors = Visitors(cluster, watch)
        visitors.come_and_go(restart_controllers(cluster))
        took = visitors.latencies(admissions)
        watch.close()
    assert not replaced & set(controllers(cluster)), (replaced, set(controllers(cluster)))
    turns = turns_of_lease(cluster, since)
    note = (f"{len(took)} of {len(visitors.names)} pods were admitted; admitted -> shown: "
            f"{max(took.values(), default=0):.2f} s at most\nturns of the Lease: "
            + ", ".join(f"{gap:.3f} s from {old} to {new}" for gap, old, new in turns))
    held = sum(figure(cluster, address, "gpuattribution_writes_held_total") for address in controllers(cluster))
    note += f"\na budget held a write {held:.0f} times"
    late = {name: round(latency, 2) for name, latency in took.items() if latency > SHOWN_S}
    assert not late, f"late: {late}\n{note}"
    assert len(took) >= len(visitors.names) / 2, note
    assert turns and all(gap <= HAND_OVER_S + BUSY_S for gap, _, _ in turns), note
    watch.assert_never_lost(kept | visitors.names.keys(), visitors.ended)
    return note


@tests.promise
def a_leader_that_was_stopped_writes_nothing_when_it_goes_on(cluster):
    have_two(cluster)
    first, pod = leader(cluster)
    process = cluster.pid_of(pod)
    since = len(cluster.audit())
    with contextlib.ExitStack() as stack:
        stack.callback(os.kill, process, signal.SIGCONT)
        os.kill(process, signal.SIGSTOP)
        uid = cluster.create_pod("meanwhile", NODE)
        second = wait_next_leader(cluster, first)
        wait_for("the new tenant", lambda: any(uid == k[0] for k in cluster.tenants()))
    cluster.create_tenant("afterwards", NODE)
    late = sent(cluster, since, address=first)
    wait_for("the one that was stopped to follow", lambda: figure(
        cluster, first, "gpuattribution_leader") == 0, every=0.3)
    assert leader(cluster)[0] == second and not late, (second, late)
    return f"{first} was stopped and {second} took over; requests of {first} to write: {len(late)}"


def warning_of_gpus(cluster):
    """What `kubectl gpus` says before its table of a leader that is not there; or None. It marks each line
    then, and else says of none that nobody leads."""
    shown = subprocess.run(cluster.kubectl_command("gpus"), cwd=ROOT, check=True, timeout=30, text=True,
                           capture_output=True)
    rows = shown.stdout.splitlines()[1:]
    said = next((line for line in shown.stderr.splitlines()
                 if line.startswith("NO CONTROLLER LEADS since ")), None)
    marked = [row for row in rows if row.endswith("*")] if said else [row for row in rows if "NoLeader" in row]
    assert rows and marked == (rows if said else []), f"{shown.stderr}{shown.stdout}"
    return said


@tests.promise
def without_a_leader_kubectl_gpus_says_so_within_ten_seconds_and_since_when_and_marks_each_line(cluster):
    have_two(cluster)
    assert not warning_of_gpus(cluster), "one leads"
    with contextlib.ExitStack() as stack:
        for pod in controllers(cluster).values():
            process = cluster.pid_of(pod)
            stack.callback(os.kill, process, signal.SIGCONT)
            os.kill(process, signal.SIGSTOP)
        renewed = seconds(lease(cluster)["renewTime"])

        def asked_and_warned():
            asked = time.time()
            said = warning_of_gpus(cluster)
            return (asked, said) if said else None
        asked, said = wait_for("the warning", asked_and_warned, timeout=20, every=0.2)
        took = asked - renewed
    assert took <= WARNED_S, took
    wait_for("a leader again", lambda: not warning_of_gpus(cluster), every=0.5)
    return f"asked {took:.1f} s after the last renewal:\n{said}"


@tests.promise
def without_the_api_server_nobody_leads_and_afterwards_one_does(cluster):
    have_two(cluster)
    uid = cluster.create_tenant("before", NODE)
    addresses = sorted(controllers(cluster))

    def leaders():
        """By the metric, for which neither needs the API server: it remembers who may read. Up to PAGE_S old."""
        return [address for address in addresses if figure(cluster, address, "gpuattribution_leader") == 1]
    before = wait_for("one that leads", lambda: leaders() == [leader(cluster)[0]] and leaders())
    cluster.ctl("stop", "kube-apiserver")
    try:
        wait_for("nobody to lead", lambda: not leaders(), timeout=LEAD_S + PAGE_S + 3 * BUSY_S, every=0.1)
        end, seen = time.monotonic() + STILL_S, []
        while time.monotonic() < end:
            seen.append(leaders())
        assert seen and not any(seen), seen
    finally:
        cluster.ctl("start", "kube-apiserver")
    direct = Direct(cluster)
    wait_for("readyz", direct.is_ready)
    since = len(cluster.audit())
    wait_for("a leader", lambda: leader(cluster), timeout=30)
    after = cluster.create_tenant("after", NODE)
    writers = {address for _, address in sent(cluster, since)}
    assert {uid, after} <= {key[0] for key in cluster.tenants()}
    assert writers == {leader(cluster)[0]}, writers
    return (f"leads before: {before}; without it nobody, asked {len(seen)} times in {STILL_S} s; who wrote "
            f"since: {writers}")


if __name__ == "__main__":
    sys.exit(tests.main("leadership", "--no-tenants"))
