#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both programs at rest, and what their memory still has of keys and tokens.

usage: wiping.py CONTROLLER AGENT FOLDER_OF_THE_DRIVER [WORDS]

Prints TAP and fails if any promise is broken; with words it tries only those whose sentence contains
them. The API server and the driver are stand-ins. The memory of a program, and of its children, is read
by /proc/PID/mem. That needs root, or the capability SYS_PTRACE, for the programs forbid it.

A secret is in use, or is wiped within SECONDS. Sought are parts of each, in the forms in which they are
read, sent and received. Beside that each block that is given back is looked into (tests/fake/unwiped.c).
"""

import base64
import contextlib
import os
import re
import sys
import tempfile
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from both_programs import World
from kube_api import CONFIG_MAPS, SECRETS, agent_token
from promises import promise, try_promises
from small_world import wait_for
from unwiped import Unwiped

SECONDS = 10
SECRET, CONFIG_MAP = "gpu-attribution-tls", "gpu-attribution-ca"
PART = 24  # bytes of a secret that are sought
# Of a private key as PEM, and of the same as base64.
KEY_BEGINS = (b"-----BEGIN PRIVATE KEY-----\nM", base64.b64encode(b"-----BEGIN PRIVATE KEY-----\nM")[:-4])


def marker():
    return uuid.uuid4().hex


class SecretWorld(World):
    """The controller makes its keys, and reads its own token from a file. It leads, and an agent reports."""

    def __init__(self, folder):
        self.token_file, self.own_token = os.path.join(folder, "controller.token"), f"own-{marker()}"
        self.signature, self.agent_process = marker(), None
        self.unwiped = Unwiped(folder, PROGRAMS[2])
        self.unwiped.seek(self.own_token.encode(), self.signature.encode(), *KEY_BEGINS)
        super().__init__(folder, *PROGRAMS, **self.unwiped.environment())
        self.token = agent_token(signature=self.signature)

    def begin(self):
        wait_for("a certificate is published", self.published)
        self.write_devices(1)
        self.agent_process = self.start_agent(**self.unwiped.environment())
        assert self.api.wait(lambda _: self.serials() == {"1"}, 30), "no status"

    def credentials(self):
        self.api.put(SECRETS, {"metadata": {"name": SECRET}})
        self.api.put(CONFIG_MAPS, {"metadata": {"name": CONFIG_MAP}})
        self.write_own_token(self.own_token)
        return [f"--kubeconfig={self.api.kubeconfig(self.folder, {'tokenFile': self.token_file})}"]

    def write_own_token(self, token):
        with open(f"{self.token_file}.new", "w", encoding="utf-8") as file:
            file.write(token)
        os.rename(f"{self.token_file}.new", self.token_file)

    def published(self):
        """What agents trust, in the file that they read."""
        data = self.api.kinds[CONFIG_MAPS].items[CONFIG_MAP].get("data")
        if data:
            with open(self.path("ca.crt"), "w", encoding="utf-8") as file:
                file.write(data["ca.crt"])
        return bool(data)

    def agent_options(self):
        return [f"--controller=https://localhost:{self.port}",
                f"--controller-ca-file={self.path('ca.crt')}"]

    def keys(self):
        """The texts of both private keys, as in the Secret: base64 of PEM."""
        data = self.api.kinds[SECRETS].items[SECRET]["data"]
        return [data[name].encode() for name in ("tls.key", "ca.key")]


def family(pid):
    """The process, and those that it has started."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [pid, *(one for child in file.read().split() for one in family(int(child)))]


def memory(pid):
    """Name and bytes of each piece of memory that the process has for itself."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", 0) as file:
        for line in maps:
            begin, end, rights, name = re.match(r"(\w+)-(\w+) (\S+) \S+ \S+ \S+ *(.*)", line).groups()
            if rights == "rw-p" and not name.startswith("[v"):
                file.seek(int(begin, 16))
                with contextlib.suppress(OSError):  # it is gone meanwhile
                    yield name or "anonymous", file.read(int(end, 16) - int(begin, 16))


def find(process, secrets):
    """Where the program has any of them: for each place what is before it, to tell whose it is."""
    found = []
    for pid in family(process.pid):
        for name, held in memory(pid):
            for secret in secrets:
                at = held.find(secret)
                if at >= 0:
                    found.append((pid, name, held[max(0, at - 100):at + PART]))
    return found


def judge(process, secrets):
    """Raises if one of them is still there after SECONDS."""
    with contextlib.suppress(AssertionError):
        wait_for("no secret", lambda: not find(process, secrets), SECONDS)
    found = find(process, secrets)
    assert not found, "\n".join(f"{pid} {name}: {bytes_}" for pid, name, bytes_ in found)


def parts(text):
    """Some of the text's bytes, from its middle: its ends are as those of other texts, or are the first to be
    written over."""
    return [text[len(text) // 3:][:PART], text[2 * len(text) // 3:][:PART]]


@promise
def what_is_in_the_memory_is_found():
    for process in (MADE.controller, MADE.agent_process):
        assert find(process, [b"gpu-a"]), "the node's name"


@promise
def a_controller_at_rest_has_no_token_of_an_agent():
    judge(MADE.controller, [MADE.signature.encode()])


@promise
def an_agent_at_rest_has_no_token_nor_has_its_child():
    assert len(family(MADE.agent_process.pid)) > 1
    judge(MADE.agent_process, [MADE.signature.encode()])


@promise
def a_controller_that_has_made_its_keys_has_no_text_of_them():
    judge(MADE.controller, [part for key in MADE.keys() for part in
                            parts(key) + parts(b"".join(base64.b64decode(key).split(b"\n")[1:-2]))])


@promise
def a_controller_has_nothing_of_a_token_of_its_own_that_was_replaced():
    old, new = MADE.own_token, f"new-{marker()}"
    assert find(MADE.controller, [old.encode()]), "the token is in use"
    MADE.write_own_token(new)
    MADE.api.refused.add(old)
    MADE.api.cut_watches()
    wait_for("the new one is in use", lambda: find(MADE.controller, [new.encode()]))
    judge(MADE.controller, [old.encode()])


@promise
def no_memory_is_given_back_with_a_key_or_a_token_in_it():
    found, first = MADE.unwiped.found()
    assert found == 0, f"{found} blocks, first {first}"


@promise
def memory_that_is_given_back_is_looked_into():
    before, _ = MADE.unwiped.found()
    MADE.unwiped.seek(b"GPU-")  # no secret
    MADE.write_devices(2)
    wait_for("a block with a UUID", lambda: MADE.unwiped.found()[0] > before)


PROGRAMS = [os.path.realpath(path) for path in sys.argv[1:4]]
if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        MADE = SecretWorld(place)
        try:
            MADE.begin()
            sys.exit(try_promises(sys.argv[4:]))
        finally:
            MADE.stop()
