#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent as a process, with the stand-in driver and the stand-in dcgm-exporter of tests/fake; and
what the controller makes of its reports, with a stand-in for the API server.

usage: dcgm.py AGENT CONTROLLER FOLDER_OF_THE_DRIVER [WORDS]

Prints TAP and fails if any promise is broken; with words it tries only those whose sentence
contains them. What figures are believed is told by the unit tests: here it is about what the agent
says of the source, whatever the server does, and how long that takes.
"""

import base64
import contextlib
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from kube_api import ATTRIBUTIONS, LEASES, NODES, PODS as API_PODS, KubeAPI, agent_token
from ports import free_port
from promises import promise, try_promises

TESTS = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
EXPORTER = os.path.join(TESTS, "fake", "dcgm-exporter")
DEVICES = os.path.join(TESTS, "fake", "devices")
PODS = "mps-tenant-a,mps-tenant-b,mps-tenant-c,mps-tenant-d"
UIDS = [f"00000000-0000-4000-8000-00000000000{i}" for i in range(4)]
LIMIT_S = 100  # a hang


@contextlib.contextmanager
def exporter(devices, *arguments):
    """A running exporter of that device file; its address."""
    with subprocess.Popen([EXPORTER, os.path.join(DEVICES, devices), *arguments],
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def report(devices, url=None, checkpoint=None):
    """What the agent would send. checkpoint: the kubelet's file, an object."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "LD_LIBRARY_PATH": DRIVER,
               "FAKE_NVML_FILE": os.path.join(DEVICES, devices)}
        command = [AGENT, "--once", "--print", "--node-name=gpu-a", "--processes=off",
                   f"--pod-resources-socket={folder}/none", f"--checkpoint-file={folder}/books"]
        if checkpoint:
            with open(f"{folder}/books", "w", encoding="utf-8") as file:
                json.dump(checkpoint, file)
        done = subprocess.run(command + ([f"--dcgm-url={url}"] if url else []), env=env,
                              capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def source(devices, *arguments):
    with exporter(devices, *arguments) as url:
        return report(devices, url)["sources"]["dcgm"]


@promise
def without_the_option_the_source_is_absent():
    said = report("time-sliced.json")["sources"]["dcgm"]
    assert said["state"] == "absent" and "--dcgm-url" in said["message"], said


@promise
def each_form_of_the_text_is_read_for_each_way_of_sharing():
    for devices in ("exclusive.json", "time-sliced.json", "mig.json", "mig-single.json"):
        for form in ("before-4.6", "since-4.6"):
            for more in ((), ("--pods", PODS), ("--pods", PODS, "--virtual-gpus"),
                         ("--hostname", "")):
                said = source(devices, "--form", form, *more)
                assert said["state"] == "ok" and "message" not in said, (devices, form, more, said)


def four_tenants_by_mps(uuid):
    """The kubelet's checkpoint: each pod has a share of the device."""
    pipe = base64.b64encode(b"\n\x1f\n\x17CUDA_MPS_PIPE_DIRECTORY\x12\x04/mps").decode()
    entries = [{"PodUID": uid, "ContainerName": "main",
                "ResourceName": "nvidia.com/gpu", "DeviceIDs": {"0": [f"{uuid}::{i}"]},
                "AllocResp": pipe} for i, uid in enumerate(UIDS)]
    return {"Data": {"PodDeviceEntries": entries, "RegisteredDevices": {
        "nvidia.com/gpu": [f"{uuid}::{i}" for i in range(4)]}}, "Checksum": 0}


def without_times(said):
    """A report without what differs between two agents that see the same: times, and a path."""
    live = {"instance", "observedAt", "uptimeMilliseconds", "eventsSince", "eventsSinceUptimeMilliseconds",
            "lastBusyAt", "measuredSince", "podResources"}
    if isinstance(said, dict):
        return {key: without_times(value) for key, value in said.items() if key not in live}
    return [without_times(item) for item in said] if isinstance(said, list) else said


def wait(what, look):
    """What look() returns once it is true; meanwhile nobody may be there."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if seen := look():
                return seen
        time.sleep(0.02)
    raise AssertionError(f"not within {LIMIT_S} s: {what}")


@contextlib.contextmanager
def controller():
    """A controller that leads, on an API server with the node and the four pods; yields that, a
    function that sends a report, and one that reads /metrics."""
    with tempfile.TemporaryDirectory() as folder:
        api, port, pages = KubeAPI(folder), free_port(), free_port()
        api.put(NODES, {"metadata": {"name": "gpu-a"}})
        api.put(LEASES, {"metadata": {"name": "gpu-attribution-controller",
                                      "namespace": "gpu-attribution"}, "spec": {}})
        for name, uid in zip(PODS.split(","), UIDS):
            api.put(API_PODS, {"metadata": {"namespace": "ml", "name": name, "uid": uid},
                               "spec": {"nodeName": "gpu-a"}, "status": {"phase": "Running"}})
        client = ssl.create_default_context(cafile=api.certificate)

        def send(said):
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=client)
            with contextlib.closing(connection):
                connection.request("POST", "/v1/report", json.dumps(said), {
                    "Content-Type": "application/json", "Authorization": f"Bearer {agent_token()}"})
                return connection.getresponse().status == 200

        def metrics():
            with urllib.request.urlopen(f"http://127.0.0.1:{pages}/metrics", timeout=10) as answer:
                return answer.read().decode()
        with subprocess.Popen([CONTROLLER, f"--kubeconfig={api.kubeconfig(folder)}",
                               f"--report-address=127.0.0.1:{port}", "--probe-address=127.0.0.1:0",
                               f"--metrics-address=127.0.0.1:{pages}", "--metrics-insecure",
                               "--namespace=gpu-attribution", f"--tls-cert={api.certificate}",
                               f"--tls-key={api.key}", "--reports-per-second=1000000"]) as process:
            try:
                yield api, send, metrics
            finally:
                process.terminate()
                api.stop()
        assert process.returncode == 0, process.returncode


def statuses(api, uuid):
    """What was ever published of the device, in order."""
    return [item["status"] for _, _, item in api.kinds[ATTRIBUTIONS].events
            if item["spec"]["uuid"] == uuid and "status" in item]


def series(page, uuid, name):
    """The series of that device."""
    return re.findall(rf'^{name}{{[^}}]*uuid="{uuid}"[^}}]*}} \S+$', page, re.M)


def twelve_reports(uuid):
    """Of twelve scrapes of four tenants of the device, each of which names one of them."""
    with exporter("time-sliced.json", "--pods", PODS) as url:
        said = [report("time-sliced.json", url, four_tenants_by_mps(uuid)) for _ in range(12)]
        named = set()
        for _ in range(4):
            with urllib.request.urlopen(url, timeout=10) as answer:
                named |= set(re.findall(r'pod="([^"]*)"', answer.read().decode()))
    assert named == set(PODS.split(",")), named
    return said


def first_device():
    with open(os.path.join(DEVICES, "time-sliced.json"), encoding="utf-8") as file:
        return json.load(file)["devices"][0]["uuid"]


@promise
def twelve_scrapes_that_name_one_of_four_tenants_each_tell_the_same_report():
    uuid = first_device()
    said = twelve_reports(uuid)
    entries = said[0]["checkpoint"]["entries"]
    assert [e["deviceIDs"] for e in entries] == [[f"{uuid}::{i}"] for i in range(4)], entries
    assert all(e["mps"] for e in entries) and said[0]["sources"]["dcgm"]["state"] == "ok", said[0]
    assert sum(d["uuid"] == uuid for d in said[0]["devices"]) == 1, said[0]
    for other in said[1:]:
        assert without_times(other) == without_times(said[0]), (said[0], other)
    assert "mps-tenant" not in json.dumps(said)


@promise
def beside_twelve_scrapes_that_name_one_tenant_each_the_object_has_four_and_one_figure():
    uuid = first_device()
    with controller() as (api, send, metrics):
        for said in twelve_reports(uuid):
            wait("a report is taken", lambda said=said: send(said))
            wait("its device is published", lambda: statuses(api, uuid))
            shown = wait("and shown", lambda: (
                series(page := metrics(), uuid, "gpuattribution_tenant_info") and page))
            tenants = series(shown, uuid, "gpuattribution_tenant_info")
            figures = series(shown, uuid, "gpuattribution_device_utilization_ratio")
            assert len(tenants) == 4 and len(figures) == 1 and figures[0].endswith(" 0.380"), shown
        published = statuses(api, uuid)
    for status in published:
        assert sorted(tenant["podUID"] for tenant in status["tenants"]) == UIDS, status
        assert status["sharing"]["mode"] == "MPS" and status["tenantCount"] == 4, status
        assert status["activity"]["scope"] == "Device", status
    return f"statuses: {len(published)}; {figures[0]}"


@promise
def whatever_is_wrong_with_the_answer_the_source_says_it():
    expected = {
        "endless-line": "line 1: longer than 16384 bytes",
        "endless": "the answer is longer than 4194304 bytes",
        "cut": "the answer is cut short",
        "injection": "one label twice",
        "other-node": "is it of another node, gpu-b?",
        "slow": "no answer within 2000 ms",
        "slow-body": "no answer within 2000 ms",
        "redirect": "HTTP status 302, and redirects are not followed",
        "not-found": "HTTP status 404",
        "gzip": "line 1: ",
        "html": "line 1: no metric name",
        "rubbish": "with a good value",
        "empty": "neither DCGM_FI_PROF_GR_ENGINE_ACTIVE nor DCGM_FI_DEV_GPU_UTIL",
        "nothing": "neither DCGM_FI_PROF_GR_ENGINE_ACTIVE nor DCGM_FI_DEV_GPU_UTIL",
    }
    for fault, message in expected.items():
        with exporter("time-sliced.json", "--fault", fault, "--hostname", "gpu-b") as url:
            said = report("time-sliced.json", url)
        dcgm = said["sources"]["dcgm"]
        assert dcgm["state"] == "error" and message in dcgm["message"], (fault, dcgm)
        assert said["sources"]["nvml"]["state"] == "ok" and len(said["devices"]) == 2, said


@promise
def blank_values_are_no_failure():
    said = source("time-sliced.json", "--fault", "blank")
    assert said["state"] == "ok" and "blank" in said["message"], said


@promise
def nobody_there_is_an_error():
    with exporter("time-sliced.json") as url:
        pass
    said = report("time-sliced.json", url)["sources"]["dcgm"]
    assert said["state"] == "error" and "refused" in said["message"], said


AGENT, CONTROLLER, DRIVER = (os.path.realpath(argument) for argument in sys.argv[1:4])
if __name__ == "__main__":
    sys.exit(try_promises(sys.argv[4:]))
