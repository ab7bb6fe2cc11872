#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The controller as a process, with a stand-in for the API server: what only the whole program shows.

usage: controller.py CONTROLLER [WORDS]

Prints TAP and fails if any promise is broken; with words it tries only those whose sentence contains
them. The stand-in has one node, its GPUAttribution and the Lease.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from kube_api import ATTRIBUTIONS, LEASES, NODES, KubeAPI
from ports import free_port
from prometheus import LIMIT_S, TOP, read
from promises import Skipped, promise, try_promises

PROGRAM = sys.argv[1]
NAME = "gpu-attribution-controller"
DEVICE = "gpuattribution_device_info{"


class Lease:
    """The one of an API server, as people edit it."""

    def __init__(self, api, spec):
        self.api = api
        self.edit(spec)

    def edit(self, spec):
        self.api.put(LEASES, {"metadata": {"name": NAME, "namespace": "gpu-attribution"}, "spec": spec})

    def holder(self):
        return self.api.kinds[LEASES].items[NAME]["spec"]["holderIdentity"]


@contextlib.contextmanager
def controller(spec):
    """The program, with an API server whose Lease has that spec; yields the Lease and a function that
    reads /metrics."""
    with tempfile.TemporaryDirectory() as folder:
        api, address = KubeAPI(folder), f"127.0.0.1:{free_port()}"
        lease = Lease(api, spec)
        device = json.loads(read(TOP, "tests", "golden", "attribution.json"))
        api.put(NODES, {"metadata": {"name": device["status"]["nodeName"]}})
        api.put(ATTRIBUTIONS, device)

        def metrics():
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=LIMIT_S) as answer:
                return answer.read().decode()
        with subprocess.Popen([PROGRAM, "--kubeconfig", api.kubeconfig(folder), "--report-address",
                               "127.0.0.1:0", "--probe-address", "127.0.0.1:0", "--metrics-address",
                               address, "--metrics-insecure", "--namespace=gpu-attribution",
                               "--tls-cert", api.certificate, "--tls-key", api.key]) as process:
            try:
                yield lease, metrics
            finally:
                process.terminate()
        api.stop()


def wait_shown(metrics, *beginnings):
    """The first page with lines that begin so."""
    end, page = time.monotonic() + LIMIT_S, ""
    while time.monotonic() < end:
        with contextlib.suppress(OSError):  # not there yet
            page = metrics()
            if all(f"\n{beginning}" in page for beginning in beginnings):
                return page
        time.sleep(0.05)
    raise AssertionError(f"not {beginnings} in {page}")


@promise
def one_that_follows_shows_no_device_until_it_leads():
    held = {"holderIdentity": "another", "leaseDurationSeconds": 60, "leaseTransitions": 1,
            "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z"}
    with controller(held) as (lease, metrics):
        page = wait_shown(metrics, 'gpuattribution_watch_objects{resource="gpuattributions"} 1')
        assert "\ngpuattribution_leader 0\n" in page and f"\n{DEVICE}" not in page, page
        lease.edit({**held, "holderIdentity": "", "leaseDurationSeconds": 1})
        wait_shown(metrics, "gpuattribution_leader 1", DEVICE)
        assert lease.holder() not in ("", "another")


def own_mounts():
    """A command's beginning: what it mounts nobody else sees. Root needs CAP_SYS_ADMIN for that, or, as
    others, a user namespace of its own."""
    for beginning in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
        tried = subprocess.run([*beginning, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True,
                               text=True, check=False)
        if tried.returncode == 0:
            return beginning
    raise Skipped(f"a mount namespace of its own is needed: {tried.stderr.strip()}")


def in_a_container_of(limit_mib):
    """A command's beginning: its cgroups, of either version, say that limit."""
    return [*own_mounts(), "sh", "-ec", f"""mount -t tmpfs none /sys/fs/cgroup
mkdir /sys/fs/cgroup/memory
echo {limit_mib << 20} | tee /sys/fs/cgroup/memory.max >/sys/fs/cgroup/memory/memory.limit_in_bytes
exec "$@\"""", "sh"]


@promise
def a_container_with_too_little_memory_is_told_how_much_is_needed():
    for limit_mib, is_enough in ((191, False), (192, True)):
        done = subprocess.run([*in_a_container_of(limit_mib), PROGRAM, "--kubeconfig=/nowhere"],
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        said = done.stdout + done.stderr
        assert done.returncode == 1, (limit_mib, said)
        assert ("set resources.limits.memory to 192Mi or more" in said) != is_enough, (limit_mib, said)
        assert ("/nowhere" in said) == is_enough, (limit_mib, said)


if __name__ == "__main__":
    sys.exit(try_promises(sys.argv[2:]))
