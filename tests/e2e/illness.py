# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with a device: the stand-in driver of its node tells it, and what the status has to
say of it is waited for."""

import contextlib
import fcntl
import json
import os
import time
from datetime import datetime

from cluster import AGENTS, Failed, error_number, wait_for

# What the device plugin makes of an error. It takes it back only when it is started anew.
PLUGINS = ("PluginUnhealthy", "NotAdvertised")


def change_world(cluster, node, change):
    """Alters what the driver of a node tells, under the lock that the stand-ins of the driver take."""
    folder = os.path.join(cluster.ctl("state", node).strip(), "gpu")
    path = os.path.join(folder, "devices.json")
    with open(os.path.join(folder, "devices.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(path, encoding="utf-8") as file:
            world = json.load(file)
        change(world)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(world, file)
        os.chmod(path + ".new", 0o644)
        os.replace(path + ".new", path)


@contextlib.contextmanager
def agents_with(cluster, settings):
    """For a while the agents have these settings."""
    agents = "daemonset/gpu-attribution-agent"

    def set_env(changes):
        cluster.kubectl(*AGENTS, "set", "env", agents, *changes)
        cluster.rollout(agents)
    set_env([f"{name}={value}" for name, value in settings.items()])
    try:
        yield
    finally:
        set_env([f"{name}-" for name in settings])


class Patient:
    """A device, and what its driver tells of it."""

    def __init__(self, cluster, node, uuid):
        self.cluster, self.node, self.uuid = cluster, node, uuid

    def tell(self, **data):
        """The driver tells these of the device, and its agent looks: something has changed in the
        folder of the kubelet's plugins."""
        def change(world):
            next(d for d in world["devices"] if d["uuid"] == self.uuid).update(data)
        change_world(self.cluster, self.node, change)
        folder = os.path.join(self.cluster.ctl("state", self.node).strip(), "kubelet",
                              "device-plugins")
        path = os.path.join(folder, "something")
        with open(path, "w", encoding="utf-8"):
            pass
        os.unlink(path)

    def raise_xid(self, code, **instance):
        """instance: gpuInstanceID and computeInstanceID of the MIG device that raises it. NVML tells
        an error only to who watches the device already."""
        wait_for("an agent that watches for errors", lambda: self.health().get("eventsSince"))

        def change(world):
            events = world.setdefault("events", [])
            events.append({"sequence": error_number(events), "uuid": self.uuid, "type": "XID",
                           "code": code, **instance})
        change_world(self.cluster, self.node, change)

    def status(self):
        return self.cluster.attributions()[self.uuid.lower()]["status"]

    def health(self):
        return self.status()["health"]

    def reset(self):
        """Resets the device until that is seen, three times at most: an agent whose process for NVML
        begins anew at that moment has not seen the handles change."""
        for tries_left in (2, 1, 0):
            self.tell(attachment=int(time.time()))
            try:
                return self.wait_reasons("Healthy", timeout=30 if tries_left else 90)
            except Failed:
                if not tries_left:
                    raise
        return None

    def wait_reasons(self, state, *reasons, timeout=90):
        """Waits until these and no others, but for the plugin's, are the reasons for that state. While
        there are only the plugin's, they decide."""
        def look():
            health = self.health()
            its = [r for r in health.get("reasons", []) if r not in PLUGINS]
            if its != list(reasons) or (its and health["state"] != state):
                raise Failed(f"{health}")
            return health
        return wait_for(f"{state} by {reasons}", look, timeout=timeout)

    def wait_event(self, code):
        """The newest event, when it is of that number."""
        def look():
            events = self.health().get("events", [])
            if not events or events[0]["xid"] != code:
                raise Failed(f"{events}")
            return events[0]
        return wait_for(f"XID {code}", look)

    def wait_alone(self, *pods):
        """Waits until errors name these pods, which are there, and no earlier ones. The start of a pod
        is told to the second; who left a moment ago may have been there, and is named too."""
        starts = [self.cluster.pod(name)["status"]["startTime"] for name in pods]
        ends = [t["endTime"] for t in self.cluster.attributions()[self.uuid.lower()]["status"].get(
            "recentTenants", [])]
        until = max([moment(t) + 1 for t in starts] + [moment(t) + 5 for t in ends])
        wait_for("a while without others", lambda: time.time() > until)


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def accused(event):
    return sorted(tenant["podName"] for tenant in event["tenants"])


@contextlib.contextmanager
def an_error_that_needs_a_reboot(cluster, node, uuid):
    patient = Patient(cluster, node, uuid)
    patient.raise_xid(79)
    try:
        yield
    finally:
        patient.tell(lost=True)  # it answers again after that, as after a reboot
        wait_for("its loss", lambda: {"GPULost", "DeviceMissing"} & set(patient.health().get("reasons", [])))
        patient.tell(lost=False)
        wait_for("its return", lambda: set(patient.health().get("reasons", [])) <= set(PLUGINS))
        cluster.ctl("restart", f"{node}/device-plugin")  # it takes no error back by itself
