# SPDX-License-Identifier: Apache-2.0
"""HTTPS proxies in front of a kube-apiserver that end their client at a chosen write.

A write is any request but GET: reviews of tokens are among them. Each kind is numbered apart, for how
many renewals of the Lease there are is a matter of time.
"""

import collections
import json
import re
import threading
import time

from cutting_proxy import CuttingProxy, answer_bytes, read_body, read_head

BEFORE, BEHIND = "before", "behind"
KINDS = (("TokenReview", r"POST .*/tokenreviews$"), ("Lease", r"PUT .*/leases/"),
         ("Secret", r"PATCH .*/secrets/"), ("ConfigMap", r"PATCH .*/configmaps/"),
         ("Event", r"POST .*/events$"), ("series", r"PATCH .*/events/"),
         ("object", r"POST .*/gpuattributions$"), ("status", r"PUT .*/gpuattributions/.*/status$"),
         ("deletion", r"DELETE .*/gpuattributions/"))


class Write:
    """One that the API server has answered, or never saw (code None). Seconds are since the script began."""

    def __init__(self, request_line, step, at):
        method, target, _ = request_line.split(" ", 2)
        self.text = f"{method} {target.partition('?')[0]}"
        self.kind = next((name for name, form in KINDS if re.match(form, self.text)), "other")
        self.step, self.code, self.body = step, None, {}
        self.number = None  # among those of its kind
        self.at, self.answered_at = at, None

    def is_taken(self):
        return self.code in (200, 201)

    def __str__(self):
        end = "never" if self.answered_at is None else f"{self.answered_at:.3f}"
        return f"step {self.step}, {self.at:.3f} to {end} s: {self.text} {self.code or ''}"


class Point:
    """The write with this number of those of its kind; `side` says when."""

    def __init__(self, kind, number, side):
        self.kind, self.number, self.side = kind, number, side

    def __str__(self):
        return f"{self.side} {self.kind} {self.number}"


class Script:
    """Where a client is ended, and what all of them have written, in the order in which it came. Who
    follows reviews tokens, too: those reviews have no number."""

    def __init__(self):
        self.lock = threading.Lock()
        self.begin()

    def begin(self, point=None):
        """Counts anew, up to the point."""
        with self.lock:
            self.point, self.met, self.step = point, None, 0
            self.writes, self.n_before_end = [], 0
            self.counts = collections.Counter()  # by kind
            self.leader = None  # the proxy of the client that has the Lease
            self.began_at = time.monotonic()

    def now(self):
        return time.monotonic() - self.began_at

    def add(self, write, proxy):
        """The side of the point that the write is, or None."""
        self.writes.append(write)
        if write.kind == "TokenReview" and self.leader not in (None, proxy):
            return None
        self.counts[write.kind] += 1
        write.number = self.counts[write.kind]
        point = self.point
        if not point or self.met or (point.kind, point.number) != (write.kind, write.number):
            return None
        self.met = write
        return point.side

    def take_answer(self, write, proxy, answer):
        head, _, body = answer.partition(b"\r\n\r\n")
        write.code, write.answered_at = int(head.split(b" ", 2)[1]), self.now()
        try:
            write.body = json.loads(body)
        except ValueError:
            pass
        if write.kind == "Lease" and write.is_taken():
            self.leader = proxy if write.body["spec"].get("holderIdentity") else None

    def taken(self, kind):
        return [write for write in self.writes if write.kind == kind and write.is_taken()]

    def before_end(self):
        """What a client had sent when it was ended: more than the point, where others were under way."""
        return self.writes[:self.n_before_end]


class CrashingProxy(CuttingProxy):
    """kill() ends the client before the write is passed on, or behind it, before its answer is. Nothing
    that it had sent is passed on afterwards."""

    def __init__(self, plane, script, kill):
        self.script, self.kill = script, kill
        self.life, self.own = 0, threading.local()
        super().__init__(plane)

    def begin_life(self):
        """Another process is the client from now on."""
        with self.script.lock:
            self.life += 1

    def carry(self, raw):
        self.own.life = self.life
        super().carry(raw)

    def exchange(self, client, server):
        head, body = read_head(client)
        if not head:
            return False
        request_line = head.split(b"\r\n", 1)[0].decode()
        whole = head + read_body(client, head, body)
        if request_line.startswith("GET "):
            server.sendall(whole)
            return self.answer(client, server, None, None)
        return self.write(client, server, request_line, whole)

    def write(self, client, server, request_line, whole):
        script = self.script
        with script.lock:
            if self.own.life != self.life:
                return False
            write = Write(request_line, script.step, script.now())
            side = script.add(write, self)
            if side == BEFORE:
                self.end_life()
                return False
        server.sendall(whole)
        answer = b"".join(answer_bytes(server))
        with script.lock:
            script.take_answer(write, self, answer)
            if side == BEHIND and self.own.life == self.life:
                self.end_life()
                return False
        client.sendall(answer)
        return True

    def end_life(self):
        self.life += 1
        self.script.n_before_end = len(self.script.writes)
        self.kill()
