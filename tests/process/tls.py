#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the controller's TLS ports offer to strangers, as sslscan and testssl see it.

usage: tls.py CONTROLLER [WORDS]

CONTROLLER is the program, which is started once and reaches no API server. hack/debs has fetched the other
two. testssl runs with TESTSSL in the environment only, for it takes more than a minute on a busy machine
(`hack/test long`). Both speak to loopback only. testssl looks up no name (--nodns none, an address, and NXCONNECT instead of
a name that nobody has), and asks nobody about certificates (no --phone-out). Prints TAP and fails if any promise is broken; with words it tries only those
whose sentence contains them.
"""

import contextlib
import json
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

PORTS, CERTIFICATE = {}, []
TESTSSL = "TESTSSL" in os.environ
NETWORK_TOOLS = ("dig", "host", "drill", "nslookup", "avahi-resolve", "curl", "wget")
ALLOWED = {
    "engine_problem": "this openssl has no GOST ciphers to try",
    "cert_expirationStatus": "the test's certificate is valid for two days,",
    "cert_notAfter": "likewise,",
    "cert_revocation": "and its authority, the certificate itself, revokes nothing",
}


def scan(port):
    """sslscan's document about a port."""
    command = [os.path.join(PROGRAMS, "sslscan"), "--xml=-", "--no-colour", f"127.0.0.1:{port}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    return xml.etree.ElementTree.fromstring(done.stdout).find("ssltest")


def forbid_the_network(folder):
    """What testssl could ask others by notes in `called` what it is asked, but for -h, and fails."""
    called = os.path.join(folder, "called")
    open(called, "w", encoding="utf-8").close()
    for tool in NETWORK_TOOLS:
        path = os.path.join(folder, tool)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n[ \"$*\" = -h ] || echo {tool} \"$@\" >>{called}\nexit 1\n")
        os.chmod(path, 0o755)


@contextlib.contextmanager
def testssl(port, folder):
    """testssl at work on a port; gives its process, and where its findings will be."""
    found = os.path.join(folder, f"{port}.json")
    process = subprocess.Popen([
        os.path.join(PROGRAMS, "testssl"), "--quiet", "--color", "0", "--warnings", "batch", "--nodns", "none",
        "--connect-timeout", "10", "--openssl-timeout", "10", "--add-ca", CERTIFICATE[0], "--jsonfile", found,
        "--protocols", "--standard", "--pfs", "--server-preference", "--server-defaults", "--vulnerable",
        f"127.0.0.1:{port}"],
        env={"PATH": f"{folder}:{PROGRAMS}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "PHONE_OUT": "false",
             "NXCONNECT": "127.0.0.1:0",
             "TESTSSL_INSTALL_DIR": os.path.join(PROGRAMS, "..", "..", "etc", "testssl")},
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process, found
    finally:
        process.terminate()  # it removes what it has in /tmp
        process.communicate()


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


def promise_of_testssl(function):
    return promise(function) if TESTSSL else function


@promise_of_testssl
def testssl_finds_nothing_of_medium_severity_or_above_but_what_the_tests_certificate_lacks():
    notes = []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        forbid_the_network(folder)
        scans = {name: stack.enter_context(testssl(port, folder)) for name, port in PORTS.items()}
        for name, (process, found) in scans.items():
            said, _ = process.communicate(timeout=600)
            with open(found, encoding="utf-8") as file:
                findings = {each["id"]: each for each in json.load(file)}
            assert {"TLS1_3", "heartbleed", "ROBOT", "cert_trust"} <= set(findings), (name, said[-2000:])
            bad = {what: (each["severity"], each["finding"]) for what, each in findings.items()
                   if each["severity"] not in ("OK", "INFO", "LOW") and what not in ALLOWED}
            assert not bad, (name, bad)
            notes.append(f"{name}: {len(findings)} findings")
        with open(os.path.join(folder, "called"), encoding="utf-8") as file:
            called = file.read()
        assert not called, called
    return ", ".join(notes)


def main(program, words):
    for tool in ("sslscan", "testssl"):
        if not os.access(os.path.join(PROGRAMS, tool), os.X_OK):
            return refuse(f"{tool} is there", "hack/debs fetches it")
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = make_certificate(folder)
        CERTIFICATE.append(certificate)
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
