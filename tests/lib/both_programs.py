# SPDX-License-Identifier: Apache-2.0
"""A controller and an agent as processes. The API server and the driver are stand-ins."""

import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import tempfile

from kube_api import ATTRIBUTIONS, LEASES, NODES, KubeAPI, agent_token
from ports import free_port

DEVICES = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "fake", "devices", "exclusive.json"))
NAME = "gpu-attribution-controller"


class World:
    """The stand-in of an API server with a node, and a controller that leads, with the environment.
    stand_ins is the folder of the driver's."""

    def __init__(self, folder, controller, agent, stand_ins, **environment):
        self.folder, self.api = folder, KubeAPI(folder)
        self.agent, self.stand_ins = agent, stand_ins
        self.api.put(NODES, {"metadata": {"name": "gpu-a"}})
        self.api.put(LEASES, {"metadata": {"name": NAME, "namespace": "gpu-attribution"}, "spec": {
            "holderIdentity": "", "leaseDurationSeconds": 1}})
        self.port, self.metrics_port = free_port(), free_port()
        self.programs, self.token = [], agent_token()
        self.client = ssl.create_default_context(cafile=self.api.certificate)
        self.controller = self.start("controller.log", [
            controller, "--namespace=gpu-attribution", *self.credentials(),
            f"--report-address=127.0.0.1:{self.port}", f"--probe-address=127.0.0.1:{free_port()}",
            f"--metrics-address=127.0.0.1:{self.metrics_port}", "--metrics-insecure",
            "--reports-per-second=1000000"], **environment)

    def credentials(self):
        """The controller's options for these."""
        return [f"--kubeconfig={self.api.kubeconfig(self.folder)}", f"--tls-cert={self.api.certificate}",
                f"--tls-key={self.api.key}"]

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, log, command, **environment):
        """In a process group of its own."""
        with open(self.path(log), "ab") as file:
            program = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True,
                                       env={**os.environ, **environment})
        self.programs.append(program)
        return program

    def start_agent(self, **environment):
        with open(self.path("token"), "w", encoding="utf-8") as file:
            file.write(self.token)
        return self.start("agent.log", [
            self.agent, "--node-name=gpu-a", *self.agent_options(), f"--token-file={self.path('token')}",
            f"--pod-resources-socket={self.path('none')}", f"--checkpoint-file={self.path('none')}",
            "--processes=off", "--sample-interval=200ms"],
            LD_LIBRARY_PATH=self.stand_ins, FAKE_NVML_FILE=self.path("devices.json"), **environment)

    def agent_options(self):
        """Whom it reports to."""
        return [f"--controller=https://127.0.0.1:{self.port}",
                f"--controller-ca-file={self.api.certificate}"]

    def write_devices(self, serial):
        with open(DEVICES, encoding="utf-8") as file:
            said = json.load(file)
        for device in said["devices"]:
            device["serial"] = str(serial)
        with open(self.path("new.json"), "w", encoding="utf-8") as file:
            json.dump(said, file)
        os.rename(self.path("new.json"), self.path("devices.json"))

    def serials(self):
        """What is published of the devices."""
        return {item.get("status", {}).get("device", {}).get("serial")
                for item in self.api.kinds[ATTRIBUTIONS].items.values()}

    def metric(self, name):
        connection = http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=20)
        with contextlib.closing(connection):
            connection.request("GET", "/metrics")
            page = connection.getresponse().read().decode()
        return next(float(line.split()[-1]) for line in page.splitlines() if line.startswith(f"{name} "))

    def send(self, number):
        """To all that run."""
        for program in self.programs:
            if program.poll() is None:
                os.killpg(program.pid, number)

    def check(self):
        for program in self.programs:
            assert program.poll() is None, f"{program.args[0]} ended: {program.returncode}"

    def stop(self):
        self.send(signal.SIGCONT)
        for program in self.programs:
            program.terminate()
        for program in self.programs:
            try:
                program.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(program.pid, signal.SIGKILL)
                program.wait()
        self.api.stop()


@contextlib.contextmanager
def world(controller, agent, stand_ins, **environment):
    with tempfile.TemporaryDirectory() as folder:
        made = World(folder, controller, agent, stand_ins, **environment)
        try:
            yield made
        finally:
            made.stop()
