#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two controllers on a real API server, of which one leads. The leader is killed, stopped and deleted.

usage: leadership.py [CLUSTER [WORDS]]

Without arguments it starts a cluster of its own with hack/up and ends it. With a name it uses that
running one, which hack/up made with --no-tenants, and leaves it with two controllers; with words it
tries only the promises whose sentence contains them.

Who sent a request is told by the address in the API server's audit log: both controllers are one user
there.
"""

import contextlib
import datetime
import os
import signal
import subprocess
import sys
import time

from cluster import CONTROLLER_USER, ROOT, WRITES, Cluster, Direct, Tests, wait_for
from replicas import NAMESPACE, controllers, figure, have_two, leader, lease

NODE = "node-2"  # exclusive devices
TAKE_OVER_S = 7  # from the last renewal of a leader that ended without a word, to the next one's write
WARNED_S = 10  # from then until who reads is told that nobody leads
KILLS = 3
STILL_S = 3  # for so long nothing happens

tests = Tests(clean=Cluster.delete_pods)


def seconds(text):
    """A MicroTime, in seconds since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def sent(cluster, since, address=None, resource="gpuattributions"):
    """Writes of a resource by a controller after the first `since` requests, as (time, address)."""
    return [(seconds(event["requestReceivedTimestamp"]), event["sourceIPs"][0])
            for event in cluster.requests_of(CONTROLLER_USER, since, WRITES, resource)
            if address in (None, event["sourceIPs"][0])]


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
def a_leader_that_is_killed_is_replaced_and_nothing_is_lost_or_written_twice(cluster):
    have_two(cluster)
    note = []
    for number in range(KILLS):
        first, pod = leader(cluster)
        kept = cluster.create_tenant(f"kept-{number}", NODE)
        before, since = cluster.versions(), len(cluster.audit())
        os.kill(cluster.pid_of(pod), signal.SIGKILL)
        renewed = seconds(lease(cluster)["renewTime"])
        uid = cluster.create_pod(f"new-{number}", NODE)
        second = wait_next_leader(cluster, first)
        wait_for("the new tenant", lambda u=uid: any(u == k[0] for k in cluster.tenants()))
        writes = sent(cluster, since)
        others = [w for w in writes if w[1] != second]
        took = min(at for at, _ in writes) - renewed
        assert not others, (others, second)
        assert took <= TAKE_OVER_S, f"{took:.2f} s after the last renewal"
        assert any(kept == k[0] for k in cluster.tenants()), kept
        changed = {n for n, v in cluster.versions().items() if before.get(n) != v}
        assert len(changed) == 1, changed  # that of the new tenant
        note.append(f"{took:.2f} s")
        wait_for("the killed one to be ready again", lambda: len(controllers(cluster)) == 2)
        cluster.delete_pods()
    return "last renewal of the old leader -> first write of the next: " + ", ".join(note)


@tests.promise
def a_leader_that_ends_on_a_signal_hands_over_at_once(cluster):
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
    return f"released -> taken: {taken - released:.3f} s; 0 writes in {STILL_S} s after it"


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
    """What `kubectl gpus` says before its table of a leader that is not there; or None."""
    shown = subprocess.run(cluster.kubectl_command("gpus"), cwd=ROOT, check=True, timeout=30, text=True,
                           capture_output=True).stderr
    return next((line for line in shown.splitlines() if line.startswith("NO CONTROLLER LEADS since ")), None)


@tests.promise
def without_a_leader_kubectl_gpus_says_so_within_ten_seconds_and_since_when(cluster):
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
    cluster.ctl("stop", "kube-apiserver")
    try:
        time.sleep(STILL_S * 2)  # longer than a lead lasts without a renewal
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
    return f"who wrote since: {writers}"


if __name__ == "__main__":
    sys.exit(tests.main("leadership", "--no-tenants"))
