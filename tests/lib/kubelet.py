# SPDX-License-Identifier: Apache-2.0
"""A kubelet that has just enough for an agent: PodResources on a socket, and a checkpoint.

It speaks HTTP/2 as tests/lib/fake_kubelet.c does: a request a connection, whose method is told by the size
of its HEADERS frame. All of a node's devices are of one resource.
"""

import contextlib
import json
import os
import socketserver
import struct
import threading

from kube_api import field

RESOURCE = "nvidia.com/gpu"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS = 1, 4
LONGEST_LIST_HEADERS = 86


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def header(name, value):
    """A literal that is not Huffman-coded."""
    return bytes([0, len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def answer(message):
    head = header(":status", "200") + header("content-type", "application/grpc")
    return (frame(SETTINGS, 0, 0, b"") + frame(HEADERS, END_HEADERS, 1, head) +
            frame(DATA, 0, 1, struct.pack(">BI", 0, len(message)) + message) +
            frame(HEADERS, END_HEADERS | END_STREAM, 1, header("grpc-status", "0")))


def read_request(stream):
    """The size of its HEADERS frame."""
    size = 0
    if stream.read(len(PREFACE)) != PREFACE:
        raise ConnectionError("no HTTP/2")
    while True:
        start = stream.read(9)
        if len(start) < 9:
            raise ConnectionError("the request was cut")
        length, kind, flags = int.from_bytes(start[:3], "big"), start[3], start[4]
        stream.read(length)
        if kind == HEADERS:
            size = length
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            return size


class Kubelet:
    """Serves until stop(), in the folder. Its one pod has the first of the devices."""

    def __init__(self, folder, device_ids):
        self.socket, self.checkpoint = os.path.join(folder, "kubelet.sock"), os.path.join(folder, "checkpoint")
        self.device_ids, self.pod = device_ids, None
        self.write()
        kubelet = self

        class Handler(socketserver.StreamRequestHandler):
            timeout = 30

            def handle(self):
                with contextlib.suppress(OSError):  # the client's calls fail: that is the test
                    is_list = read_request(self.rfile) <= LONGEST_LIST_HEADERS
                    self.wfile.write(answer(kubelet.list() if is_list else kubelet.allocatable()))
                    self.rfile.read()

        class Server(socketserver.ThreadingUnixStreamServer):
            daemon_threads = True
            request_queue_size = 64

        self.server = Server(self.socket, Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def admit(self, name, uid):
        """The pod that has the device from now on."""
        self.pod = {"name": name, "uid": uid}
        self.write()

    @staticmethod
    def devices(number, device_ids):
        return field(number, field(1, RESOURCE) + b"".join(field(2, one) for one in device_ids))

    def list(self):
        if not self.pod:
            return b""
        container = field(1, "main") + self.devices(2, self.device_ids[:1])
        return field(1, field(1, self.pod["name"]) + field(2, "ml") + field(3, container))

    def allocatable(self):
        return self.devices(1, self.device_ids)

    def write(self):
        """The checkpoint, whole or not at all, as the kubelet does."""
        entries = [{"PodUID": self.pod["uid"], "ContainerName": "main", "ResourceName": RESOURCE,
                    "DeviceIDs": {"-1": self.device_ids[:1]}, "AllocResp": ""}] if self.pod else []
        with open(f"{self.checkpoint}.new", "w", encoding="utf-8") as file:
            json.dump({"Data": {"PodDeviceEntries": entries,
                                "RegisteredDevices": {RESOURCE: self.device_ids}}, "Checksum": 1}, file)
        os.rename(f"{self.checkpoint}.new", self.checkpoint)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
