#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A controller on a real API server whose own clock is years off, behind 2038 and before it was built.

usage: clocks.py [CONTROLLER] [WORDS]

CONTROLLER is the program (default: that of .build/release, which hack/up builds). With words only
promises are tried whose sentence contains them. Prints TAP and fails if one is broken.

The controller has the wrong clock (tests/fake/clock.c); the API server and the agent have the right one.
The API server's own certificate is valid by all of these clocks. A proxy in front of it has one that is
valid today.
"""

import http.client
import os
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from control_plane import TOP, ControlPlane
from cutting_proxy import CuttingProxy
from ports import free_port
from promises import explained_by, try_promises
from small_world import (ATTRIBUTIONS, LEASE, LEASES, PODS, SECRET, fill, make_anew, post, report, run_pod,
                         trusted_by_agents, wait_for)
from wrong_clock import WrongClock

PROGRAM = os.path.join(TOP, ".build", "release", "gpu-attribution-controller")
YEARS = (12, -10)
SECONDS = 10
BACK_OFF_S = 30  # of what the controller asks the API server for, at most
OWN, TODAY = "own", "today"  # the certificates that a controller may meet


class Plane(ControlPlane):
    """Its certificate is valid from before the earliest clock until after the latest one."""

    def __init__(self, folder, clock):
        self.clock = clock
        super().__init__(folder)

    def make_serving(self, name, days=2, **environment):
        if name != "api":
            return super().make_serving(name, days)
        self.clock.set(YEARS[-1] - 1)
        try:
            return super().make_serving(name, 366 * (YEARS[0] - YEARS[-1] + 2), **self.clock.environment())
        finally:
            self.clock.set(0)


class World:
    """The API server, a proxy in front of it, a controller behind one of them, and an agent."""

    def __init__(self, folder):
        self.clock, self.process = WrongClock(folder), None
        self.plane = Plane(folder, self.clock)
        try:
            pair = self.plane.make_serving("today")
            self.proxy = CuttingProxy(self.plane, pair)
            self.token = fill(self.plane)
            self.port, self.probe = free_port(), free_port()
            self.instance, self.sequence = int(time.monotonic() * 1000), 0
            self.log = self.plane.path("controller.log")
            self.kubeconfigs = {
                OWN: self.plane.kubeconfig("kubeconfig-own"),
                TODAY: self.plane.kubeconfig("kubeconfig-today", f"https://127.0.0.1:{self.proxy.port}", pair[0])}
        except BaseException:
            self.stop()
            raise

    def stop(self):
        self.end()
        self.plane.stop()

    # The controller

    def begin(self, years, certificate):
        """The first one of a cluster, whose clock is so many years off."""
        self.end()
        make_anew(self.plane)
        self.holder, self.count = None, 0
        self.logged = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        self.clock.set(years)
        self.start(certificate)

    def start(self, certificate):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([
                CONTROLLER, f"--kubeconfig={self.kubeconfigs[certificate]}", "--namespace=gpu-attribution",
                f"--report-address=127.0.0.1:{self.port}", f"--probe-address=127.0.0.1:{self.probe}",
                "--metrics-address=", "--reports-per-second=1000000"], stdout=log, stderr=log,
                env={**os.environ, **self.clock.environment()})

    def end(self):
        if self.process:
            self.process.terminate()
            status, self.process = self.process.wait(30), None
            assert status == 0, f"the controller ended: {status}"

    def said(self):
        with open(self.log, "rb") as log:
            log.seek(self.logged)
            return log.read().decode()

    def lives(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.probe, timeout=5)
        try:
            connection.request("GET", "/livez")
            return connection.getresponse().status == 200
        finally:
            connection.close()

    # The agent, and what is published

    def next_pod(self):
        """Another pod has the device from now on."""
        before = self.holder
        self.count += 1
        self.holder = run_pod(self.plane, f"train-{self.count}")
        if before:
            self.plane.do("DELETE", f"{PODS}/{before['metadata']['name']}", {"gracePeriodSeconds": 0})

    def report(self):
        """False: it was not taken."""
        trusted = trusted_by_agents(self.plane)
        self.sequence += 1
        return bool(trusted) and post(self.port, trusted, self.token,
                                      report(self.instance, self.sequence, [1], self.holder))

    def is_right(self):
        self.report()
        items = self.plane.do("GET", ATTRIBUTIONS)["items"]
        said = [(t["podUID"], t["confidence"]) for item in items
                for t in item.get("status", {}).get("tenants", [])]
        return said == [(self.holder["metadata"]["uid"], "Confirmed")]

    def becomes_right(self, seconds):
        self.next_pod()
        start = time.monotonic()
        wait_for("the status is right", self.is_right, seconds)
        return time.monotonic() - start

    def why_refused(self):
        """Why an agent does not believe the controller; "": it does, or nothing is served yet."""
        trusted = trusted_by_agents(self.plane)
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=5, context=trusted)
        try:
            if trusted:
                connection.connect()
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
        except OSError:
            pass
        finally:
            connection.close()
        return ""

    def lease(self):
        return self.plane.do("GET", f"{LEASES}/{LEASE}")["spec"]


explained = explained_by(lambda: world.said())


@explained
def an_api_server_whose_certificate_is_not_valid_by_a_clock_years_off_is_refused_with_the_reason():
    notes = []
    for years, why in zip(YEARS, ("expired", "not yet valid")):
        world.begin(years, TODAY)
        wait_for("the log says why", lambda why=why: why in world.said() and
                 "our CA and clock" in world.said(), SECONDS)
        assert world.lives(), "it is said to be dead"
        assert not world.lease().get("holderIdentity"), "it leads"
        assert not world.plane.do("GET", SECRET).get("data"), "it made a certificate"
        world.clock.set(0)
        notes.append(f"{world.becomes_right(BACK_OFF_S + SECONDS):.1f} s")
    return f"a status after the clock was right: {', '.join(notes)}"


@explained
def a_clock_that_is_set_by_years_while_it_leads_costs_no_lead_and_delays_no_status():
    world.begin(0, OWN)
    notes = [world.becomes_right(SECONDS)]
    before = world.lease()
    for years in (YEARS[0], 0, YEARS[-1], 0):
        world.clock.set(years)
        notes.append(world.becomes_right(SECONDS))
    now = world.lease()
    for name in ("holderIdentity", "leaseTransitions"):
        assert now.get(name) == before.get(name), f"{name} is {now.get(name)}, and was {before.get(name)}"
    assert "lost the lead" not in world.said(), "it lost the lead"
    return f"a status after {', '.join(f'{seconds:.1f}' for seconds in notes)} s"


@explained
def a_certificate_that_was_made_by_a_clock_years_off_is_made_anew_once_the_clock_is_right():
    notes = []
    for years in YEARS:
        world.begin(years, OWN)
        wait_for("the agent refuses it", world.why_refused, SECONDS)
        notes.append(world.why_refused())
        world.end()
        world.clock.set(0)
        world.start(OWN)
        world.becomes_right(SECONDS)
    return f"at first the agent says: {', '.join(notes)}"


if __name__ == "__main__":
    words = sys.argv[1:]
    CONTROLLER = os.path.realpath(words.pop(0) if words and os.path.exists(words[0]) else PROGRAM)
    if not os.access(CONTROLLER, os.X_OK):
        sys.exit(f"{CONTROLLER} is not there: ninja -C .build/release gpu-attribution-controller")
    with tempfile.TemporaryDirectory(prefix="clocks-") as folder:
        world = World(folder)
        try:
            status = try_promises(words)
        finally:
            world.stop()
    sys.exit(status)
