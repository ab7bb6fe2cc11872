# SPDX-License-Identifier: Apache-2.0
"""A real etcd and a real kube-apiserver on 127.0.0.1, without nodes: for tests of the controller alone.

The parts are those that hack/cluster/build has built. Requests are made as system:masters by a token.
The audit log has each write, with the address that it came from.
"""

import http.client
import json
import os
import ssl
import subprocess
import time

from ports import free_port

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
TOKEN = "of-the-test"
# Before a command: it ends with the thread that started it, even where that is killed.
NOT_ALONE = ("setpriv", "--pdeathsig", "KILL")
AUDIT = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  verbs: [get, list, watch]
- level: None
  users: ["system:apiserver"]
- level: Metadata
"""


def part(name):
    """The folder of a part of the local cluster, which is built if it is not there."""
    subprocess.run(["hack/cluster/build", name], cwd=TOP, check=True, capture_output=True, timeout=3600)
    done = subprocess.run(["bash", "-c", f". hack/cluster/lib.sh && part_dir {name}"], cwd=TOP,
                          check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def openssl(folder, *arguments, **environment):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60,
                   env={**os.environ, **environment})


class ControlPlane:
    """One etcd and one kube-apiserver in a folder, until stop(). The API server may get further options
    and variables of its environment."""

    def __init__(self, folder, api_options=(), **environment):
        self.folder = folder
        self.api_options, self.environment = api_options, {"GOMEMLIMIT": "1GiB", **environment}
        self.processes = []
        self.parts = {name: part(name) for name in ("etcd", "kubernetes")}
        openssl(folder, "genrsa", "-out", "sa.key", "2048")
        self.certificate, self.key = self.make_serving("api")
        self.write("tokens.csv", f'{TOKEN},admin,1,"system:masters"\n')
        self.write("audit.yaml", AUDIT)
        self.client = ssl.create_default_context(cafile=self.certificate)
        self.port = free_port()
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def make_serving(self, name, days=2, **environment):
        """Makes a certificate of 127.0.0.1, valid from now on, and its key; returns their paths."""
        openssl(self.folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", str(days), "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                "-keyout", f"{name}.key", "-out", f"{name}.crt", **environment)
        return self.path(f"{name}.crt"), self.path(f"{name}.key")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def run(self, log, *command, **environment):
        with open(self.path(log), "ab") as file:
            process = subprocess.Popen([*NOT_ALONE, *command], cwd=self.folder, stdout=file, stderr=file,
                                       env={**os.environ, **environment})
        self.processes.append(process)
        return process

    def start(self):
        client, peer = free_port(), free_port()
        etcd = f"http://127.0.0.1:{client}"
        self.run("etcd.log", os.path.join(self.parts["etcd"], "etcd"), "--data-dir=etcd", "--unsafe-no-fsync",
                 "--quota-backend-bytes=8589934592",
                 f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}",
                 f"--listen-peer-urls=http://127.0.0.1:{peer}", "--log-level=error",
                 f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                 f"--initial-cluster=default=http://127.0.0.1:{peer}")
        self.api_server = self.run(
            "apiserver.log", os.path.join(self.parts["kubernetes"], "kube-apiserver"),
            f"--etcd-servers={etcd}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
            f"--secure-port={self.port}", "--tls-cert-file=api.crt",
            "--tls-private-key-file=api.key", "--cert-dir=apiserver", "--authorization-mode=RBAC",
            "--token-auth-file=tokens.csv", "--service-cluster-ip-range=10.96.0.0/16",
            "--service-account-key-file=sa.key", "--service-account-signing-key-file=sa.key",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--endpoint-reconciler-type=none", "--disable-admission-plugins=ServiceAccount",
            "--audit-policy-file=audit.yaml", "--audit-log-path=audit.log",
            *self.api_options, **self.environment)
        end = time.monotonic() + 120
        while not self.is_ready():
            if time.monotonic() > end:
                raise RuntimeError(f"kube-apiserver is not ready: see {self.path('apiserver.log')}")
            time.sleep(0.2)

    def is_ready(self):
        try:
            return self.request("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def stop(self):
        """At once: nothing is kept, and a graceful end takes the API server longer than a test has."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()

    def request(self, method, path, body=None, media_type="application/json"):
        """Status and body of the answer, which is JSON or text."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=20,
                                                 context=self.client)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {
                "Authorization": f"Bearer {TOKEN}", "Content-Type": media_type})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text.decode(errors="replace")

    def do(self, method, path, body=None, media_type="application/json"):
        """The answer's body; raises where it is no success."""
        status, said = self.request(method, path, body, media_type)
        if not 200 <= status < 300:
            raise RuntimeError(f"{method} {path}: {status} {json.dumps(said)[:300]}")
        return said

    def apply(self, item):
        """Server-side apply of an object with a path in `path`."""
        return self.do("PATCH", item.pop("path") + "?fieldManager=test&force=true", item,
                       "application/apply-patch+yaml")

    def kubeconfig(self, name, server=None, certificate=None):
        """A kubeconfig of that name, of this server or of a proxy of it."""
        return self.write(name, json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {
                "server": server or f"https://127.0.0.1:{self.port}",
                "certificate-authority": certificate or self.certificate}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"token": TOKEN}}]}))

    def audit(self, since=0):
        """The writes from a place in the log on, and the place behind them."""
        with open(self.path("audit.log"), "rb") as file:
            file.seek(since)
            text = file.read()
        whole = text[:text.rfind(b"\n") + 1]
        return [json.loads(line) for line in whole.splitlines()], since + len(whole)
