# SPDX-License-Identifier: Apache-2.0
"""An HTTPS proxy in front of a kube-apiserver that ends its client at a chosen write.

A write is any request but GET: reviews of tokens are among them. Those of the Lease are counted apart,
for how many there are is a matter of time.
"""

import json
import re
import threading

from cutting_proxy import CuttingProxy, answer_bytes, read_body, read_head

BEFORE, BEHIND = "before", "behind"
KINDS = (("TokenReview", r"POST .*/tokenreviews$"), ("Lease", r"PUT .*/leases/"),
         ("Secret", r"PATCH .*/secrets/"), ("ConfigMap", r"PATCH .*/configmaps/"),
         ("Event", r"POST .*/events$"), ("series", r"PATCH .*/events/"),
         ("object", r"POST .*/gpuattributions$"), ("status", r"PUT .*/gpuattributions/.*/status$"),
         ("deletion", r"DELETE .*/gpuattributions/"))


class Write:
    """One that the API server has answered, or never saw (code None)."""

    def __init__(self, request_line, step):
        method, target, _ = request_line.split(" ", 2)
        self.text = f"{method} {target.partition('?')[0]}"
        self.kind = next((name for name, form in KINDS if re.match(form, self.text)), "other")
        self.step, self.code, self.body = step, None, {}

    def is_taken(self):
        return self.code in (200, 201)


class Point:
    """The write with this number of those of the Lease, or of all others; `side` says when."""

    def __init__(self, is_lease, number, side):
        self.is_lease, self.number, self.side = is_lease, number, side

    def __str__(self):
        return f"{self.side} {'renewal' if self.is_lease else 'write'} {self.number}"


class CrashingProxy(CuttingProxy):
    """kill() ends the client before the write is passed on, or behind it, before its answer is."""

    def __init__(self, plane, kill):
        self.kill = kill
        self.begin()
        super().__init__(plane)

    def begin(self, point=None):
        """Counts anew, up to the point."""
        self.point, self.met, self.step = point, None, 0
        self.writes = []
        self.counts = {True: 0, False: 0}

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
        write = Write(request_line, self.step)
        with self.lock:
            self.counts[write.kind == "Lease"] += 1
            self.writes.append(write)
            side = self.point.side if self.is_point(write) else None
            if side:
                self.met = write
        if side == BEFORE:
            self.kill()
            return False
        server.sendall(whole)
        answer = b"".join(answer_bytes(server))
        note(write, answer)
        if side == BEHIND:
            self.kill()
            return False
        client.sendall(answer)
        return True

    def is_point(self, write):
        is_lease = write.kind == "Lease"
        return (self.point and not self.met and self.point.is_lease == is_lease and
                self.point.number == self.counts[is_lease])

    def taken(self, kind):
        return [write for write in self.writes if write.kind == kind and write.is_taken()]


def note(write, answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    write.code = int(head.split(b" ", 2)[1])
    try:
        write.body = json.loads(body)
    except ValueError:
        pass
