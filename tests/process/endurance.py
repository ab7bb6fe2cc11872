#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both programs that stand still most of each second, and a controller in which much comes and goes.

usage: endurance.py CONTROLLER AGENT FOLDER_OF_THE_DRIVER [--minutes N] [WORDS]

Prints TAP and fails if any promise is broken; with words it tries only those whose sentence contains
them. Each promise takes that long (0.3 minutes), or longer on a busy machine. The API server and the driver are stand-ins.

That memory is flat is judged by the bytes that are allocated, at rest after WARM_UP of the time and at the
end; in a long run the slope of resident memory is judged, too. A controller remembers pods that are gone for
two minutes, up to 1 024 of a node. So many come and go first.
"""

import argparse
import contextlib
import os
import signal
import socket
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from both_programs import NAME, world
from heap import Heap
from kube_api import ATTRIBUTIONS, LEASES, PODS
from promises import promise, try_promises
from small_world import post, report, wait_for

STILL_S = 0.7     # of each second
RIGHT_S = 10      # from a change until the status says so
DEVICES = 4
ROUNDS_A_SECOND = 25
WARM_UP = 0.4
KEPT = 6          # idle connections to the API server, which more descriptors may be for
A_LONG_TIME_S = 600
GROWTH, LONG_GROWTH = 32, 16    # bytes a round
RESTS, REST_S = 4, 0.3
REMEMBERED = 1024 # pods of a node that are gone: MAX_ENDED in src/model/node_state.c


@contextlib.contextmanager
def standing_still(made):
    """All programs do, for STILL_S of each second."""
    over = threading.Event()

    def job():
        while not over.is_set():
            made.send(signal.SIGSTOP)
            over.wait(STILL_S)
            made.send(signal.SIGCONT)
            over.wait(1 - STILL_S)
    thread = threading.Thread(target=job)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@promise
def programs_that_stand_still_most_of_each_second_publish_what_is_so_and_none_loses_the_lead():
    took, serial, until = [], 1, time.monotonic() + SECONDS
    with world(*PROGRAMS) as made:
        made.write_devices(serial)
        with standing_still(made):
            made.start_agent()
            assert made.api.wait(lambda _: made.serials() == {"1"}, 60), "no status at the start"
            while time.monotonic() < until:
                serial += 1
                made.write_devices(serial)
                since = time.monotonic()
                assert made.api.wait(lambda _: made.serials() == {str(serial)}, RIGHT_S), made.serials()
                took.append(time.monotonic() - since)
                made.check()
        judge_statuses(made)
        losses = made.metric("gpuattribution_leader_losses_total")
    leads = [item["spec"]["holderIdentity"] for _, _, item in made.api.kinds[LEASES].events]
    leads = [who for who, before in zip(leads[1:], leads) if who != before]
    assert losses == 0 and len([who for who in leads if who]) == 1, (losses, leads)
    return f"{serial} changes, each there after {statistics.median(took):.1f}, at most {max(took):.1f} s"


def judge_statuses(made):
    """None is older than one before it, and none says that anybody is away."""
    last = {}
    for _, _, item in made.api.kinds[ATTRIBUTIONS].events:
        name, status = item["metadata"]["name"], item.get("status", {})
        number = int(status.get("device", {}).get("serial", 0))
        assert number >= last.get(name, 0), f"{name}: {number} after {last[name]}"
        last[name] = number
        said = {c["type"]: c["status"] for c in status.get("conditions", [])}
        assert said.get("ReportFresh", "True") == "True", said


class Churn:
    """Pods, reports, connections, scrapes and watches that come and go."""

    def __init__(self, made):
        self.made, self.count, self.holder = made, 0, None
        self.instance = int(time.monotonic() * 1000)

    def round(self):
        api, before = self.made.api, self.holder
        self.count += 1
        self.holder = api.put(PODS, {
            "metadata": {"namespace": "ml", "name": f"train-{self.count}"},
            "spec": {"nodeName": "gpu-a"}, "status": {"phase": "Running"}})
        self.post()
        if before:
            api.delete(PODS, before["metadata"]["name"])
        if self.count % 5 == 0:
            self.leave_at_once()
        if self.count % 10 == 0:
            self.made.metric("gpuattribution_leader")
        if self.count % 100 == 0:
            api.cut_watches()

    def fill(self):
        """Nothing more can be remembered of pods that are gone."""
        for number in range(REMEMBERED + 1):
            name = f"gone-{number}"
            self.made.api.put(PODS, {"metadata": {"namespace": "ml", "name": name},
                                     "spec": {"nodeName": "gpu-a"}, "status": {"phase": "Running"}})
            self.made.api.delete(PODS, name)

    def post(self):
        serial = [self.count % 7] * DEVICES
        body = report(self.instance, self.count, serial, self.holder)
        assert post(self.made.port, self.made.client, self.made.token, body), "a report was not taken"

    def leave_at_once(self):
        """Somebody who says nothing, and somebody whose handshake is none."""
        for said in (b"", b"\x16\x03\x01\x00\x05hello"):
            with socket.create_connection(("127.0.0.1", self.made.port), 10) as stream:
                stream.sendall(said)


def resident(process):
    with open(f"/proc/{process.pid}/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


@promise
def a_controller_in_which_much_comes_and_goes_keeps_its_memory_and_its_descriptors_flat():
    with tempfile.TemporaryDirectory() as folder:
        heap = Heap(folder, PROGRAMS[2])
        with world(*PROGRAMS, **heap.environment()) as made:
            samples, growth = come_and_go(made, heap)
    return judge(samples, growth)


def come_and_go(made, heap):
    """Samples of each round: its number, the resident bytes, the descriptors; and growth, in bytes a round."""
    assert made.api.wait(lambda api: api.kinds[LEASES].items[NAME]["spec"]["holderIdentity"], 60)
    churn, at_rest = Churn(made), descriptors(made.controller)
    wait_for("a report is taken", lambda: post(made.port, made.client, made.token, report(
        churn.instance, 0, [1])))
    churn.fill()
    first = go_on(churn, WARM_UP * SECONDS)
    before = least_allocated(made, heap)
    samples = go_on(churn, (1 - WARM_UP) * SECONDS)
    growth = (least_allocated(made, heap) - before) / len(samples)
    made.check()
    wait_for(f"no more than {at_rest + KEPT} descriptors",
             lambda: descriptors(made.controller) <= at_rest + KEPT)
    assert first and before > 0, "nothing is counted"
    return samples, growth


def go_on(churn, seconds):
    """As many rounds as there are to be in so many seconds; a busy machine takes longer for them."""
    samples, begin, made = [], time.monotonic(), churn.made
    while len(samples) < seconds * ROUNDS_A_SECOND:
        churn.round()
        samples.append((churn.count, resident(made.controller), descriptors(made.controller)))
        time.sleep(max(0, begin + len(samples) / ROUNDS_A_SECOND - time.monotonic()))
    return samples


def least_allocated(made, heap):
    """While nothing comes or goes, but for watches: so no buffer is counted that is in use for a moment."""
    least = heap.live()
    for _ in range(RESTS):
        made.api.cut_watches()
        until = time.monotonic() + REST_S
        while time.monotonic() < until:
            least = min(least, heap.live())
            time.sleep(0.001)
    return least


def judge(samples, growth):
    rounds, sizes, opened = zip(*samples)
    is_long, half = SECONDS >= A_LONG_TIME_S, len(opened) // 2
    slope = statistics.linear_regression(rounds, sizes).slope
    said = (f"{rounds[-1]} rounds, {growth:.1f} bytes a round, of resident memory {slope:.1f}; "
            f"{sizes[0] >> 10} KiB and then {sizes[-1] >> 10} KiB, up to {max(opened)} descriptors")
    assert growth <= (LONG_GROWTH if is_long else GROWTH), said
    assert not is_long or slope <= LONG_GROWTH, said
    assert max(opened[half:]) <= max(opened[:half]) + 4, said
    return said


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("controller")
    parser.add_argument("agent")
    parser.add_argument("stand_ins")
    parser.add_argument("--minutes", type=float, default=0.3)
    parser.add_argument("words", nargs="*")
    options = parser.parse_intermixed_args()
    PROGRAMS = [os.path.realpath(path) for path in (options.controller, options.agent, options.stand_ins)]
    SECONDS = 60 * options.minutes
    sys.exit(try_promises(options.words))
