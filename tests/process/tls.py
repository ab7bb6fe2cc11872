#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the controller's TLS ports offer to strangers, as sslscan sees it.

usage: tls.py CONTROLLER [WORDS]

CONTROLLER is the program, which is started once and reaches no API server. hack/debs has fetched sslscan.
Prints TAP and fails if any promise is broken; with words it tries only those whose sentence contains
them.
"""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from kube_api import make_certificate, write_kubeconfig
from ports import free_port
from prometheus import PROGRAMS
from promises import promise, refuse, try_promises

PORTS = {}


def scan(port):
    """sslscan's document about a port."""
    command = [os.path.join(PROGRAMS, "sslscan"), "--xml=-", "--no-colour", f"127.0.0.1:{port}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    return xml.etree.ElementTree.fromstring(done.stdout).find("ssltest")


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def each_port():
    return [(name, scan(port)) for name, port in PORTS.items()]


@promise
def only_tls_1_3_is_spoken():
    for name, found in each_port():
        spoken = [(p.get("type"), p.get("version")) for p in found.findall("protocol")
                  if p.get("enabled") == "1"]
        assert spoken == [("tls", "1.3")], (name, spoken)


@promise
def keys_are_exchanged_by_x25519_and_p_256_only():
    for name, found in each_port():
        groups = sorted(g.get("id") for g in found.findall("group"))
        assert groups == ["0x0017", "0x001d"], (name, groups)


@promise
def each_cipher_is_authenticated_encryption_of_128_bits_or_more():
    for name, found in each_port():
        ciphers = sorted(c.get("cipher") for c in found.findall("cipher"))
        assert ciphers == ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
                           "TLS_CHACHA20_POLY1305_SHA256"], (name, ciphers)


@promise
def nothing_is_renegotiated_or_compressed_and_heartbeats_do_not_bleed():
    for name, found in each_port():
        assert found.find("renegotiation").get("supported") == "0", name
        compression = found.find("compression")
        assert compression is None or compression.get("supported") == "0", name
        assert all(h.get("vulnerable") == "0" for h in found.findall("heartbleed")), name


def main(program, words):
    if not os.access(os.path.join(PROGRAMS, "sslscan"), os.X_OK):
        return refuse("sslscan is there", "hack/debs fetches it")
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = make_certificate(folder)
        PORTS.update({"--report-address": free_port(), "--metrics-address": free_port()})
        process = subprocess.Popen([
            program, f"--kubeconfig={write_kubeconfig(folder, 'https://127.0.0.1:1', certificate)}",
            f"--probe-address=127.0.0.1:{free_port()}", "--namespace=gpu-attribution",
            f"--tls-cert={certificate}", f"--tls-key={key}",
            *(f"{option}=127.0.0.1:{port}" for option, port in PORTS.items())],
            stdout=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 30
            while time.monotonic() < end and not all(answers(port) for port in PORTS.values()):
                time.sleep(0.1)
            if not all(answers(port) for port in PORTS.values()):
                return refuse("the controller serves", "see what it has logged")
            return try_promises(words)
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main(os.path.realpath(sys.argv[1]), sys.argv[2:]))
