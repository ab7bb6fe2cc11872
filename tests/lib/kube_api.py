# SPDX-License-Identifier: Apache-2.0
"""An API server that has just enough for the controller: lists, watches, writes, reviews of tokens.

For tests in which the controller's calls fail; what it makes of a real API server is told by tests/e2e.
Objects are dicts. Pods and nodes go out as protobuf, with only the fields that are needed here. It
speaks HTTP/1.1 over TLS. Kinds that nobody defined answer 404.
"""

import base64
import bisect
import http.server
import json
import os
import ssl
import struct
import subprocess
import threading
import time
import urllib.parse
import uuid

MAGIC = b"k8s\0"
EVENTS_KEPT = 10000  # of a kind, at least; who asks for older ones is told that they have expired
PODS, NODES = "/api/v1/pods", "/api/v1/nodes"
ATTRIBUTIONS = "/apis/gpuattribution.dev/v1alpha1/gpuattributions"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/gpu-attribution/leases"
SECRETS = "/api/v1/namespaces/gpu-attribution/secrets"
CONFIG_MAPS = "/api/v1/namespaces/gpu-attribution/configmaps"


def make_certificate(folder):
    """A certificate for 127.0.0.1 that is its own authority: paths of it and of its key."""
    cert, key = os.path.join(folder, "tls.crt"), os.path.join(folder, "tls.key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
         "-keyout", key, "-out", cert], check=True, capture_output=True, timeout=60)
    return cert, key


def write_kubeconfig(folder, server, certificate, user=None):
    """The path of a kubeconfig with a token, or with what user has."""
    path = os.path.join(folder, "kubeconfig")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                   "clusters": [{"name": "c", "cluster": {
                       "server": server, "certificate-authority": certificate}}],
                   "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                   "users": [{"name": "u", "user": user or {"token": "of-the-controller"}}]}, file)
    return path


def agent_token(node="gpu-a", signature="c2ln"):
    """A token of the agent on a node, as far as the controller reads it; review() accepts any."""
    claims = {"aud": ["gpuattribution.dev"], "exp": int(time.time()) + 7200,
              "iat": int(time.time()) - 60, "kubernetes.io": {"node": {"name": node}},
              "sub": "system:serviceaccount:gpu-attribution:gpu-attribution-agent"}
    text = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{text}.{signature}"


def field(number, value):
    """A field of a protobuf message: bytes or text."""
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7f | 0x80])
        number >>= 7
    return out + bytes([number])


def metadata(item):
    meta = item["metadata"]
    out = field(1, meta["name"]) + field(3, meta.get("namespace", ""))
    out += field(5, meta["uid"]) + field(6, meta["resourceVersion"])
    for key, value in meta.get("labels", {}).items():
        out += field(11, field(1, key) + field(2, value))
    return field(1, out)


def pod(item):
    container = field(1, "main")
    return (metadata(item) + field(2, field(2, container) + field(10, item["spec"]["nodeName"])) +
            field(3, field(1, item["status"]["phase"])))


def node(item):
    return metadata(item)


def envelope(api_version, kind, raw):
    return MAGIC + field(1, field(1, api_version) + field(2, kind)) + field(2, raw)


class Kind:
    """Objects of a kind by name, and what has happened to them lately."""

    def __init__(self, api_version, kind, encode=None):
        self.api_version, self.kind, self.encode = api_version, kind, encode
        self.items, self.events, self.forgotten = {}, [], 0

    def note(self, version, what, item):
        self.events.append((version, what, item))
        if len(self.events) > 2 * EVENTS_KEPT:
            self.forgotten = self.events[EVENTS_KEPT - 1][0]
            del self.events[:EVENTS_KEPT]

    def since(self, version):
        """What has happened after that version, which is not forgotten."""
        return self.events[bisect.bisect_right(self.events, version, key=lambda event: event[0]):]

    def one(self, item):
        if self.encode:
            return envelope(self.api_version, self.kind, self.encode(item))
        return json.dumps(item).encode()

    def all(self, version):
        if self.encode:
            raw = field(1, field(2, version)) + b"".join(
                field(2, self.encode(item)) for item in self.items.values())
            return envelope(self.api_version, self.kind + "List", raw)
        return json.dumps({"apiVersion": self.api_version, "kind": self.kind + "List",
                           "metadata": {"resourceVersion": version},
                           "items": list(self.items.values())}).encode()

    def event(self, what, item):
        if not self.encode:
            return json.dumps({"type": what, "object": item}).encode() + b"\n"
        message = field(1, what) + field(2, field(1, self.one(item)))
        return struct.pack(">I", len(message)) + message


class KubeAPI:
    """Serves on a free port of 127.0.0.1 until stop()."""

    def __init__(self, folder):
        self.certificate, self.key = make_certificate(folder)
        self.kinds = {
            PODS: Kind("v1", "Pod", pod),
            NODES: Kind("v1", "Node", node),
            ATTRIBUTIONS: Kind("gpuattribution.dev/v1alpha1", "GPUAttribution"),
            LEASES: Kind("coordination.k8s.io/v1", "Lease"),
            SECRETS: Kind("v1", "Secret"),
            CONFIG_MAPS: Kind("v1", "ConfigMap"),
        }
        self.version = 100
        self.changed = threading.Condition()
        self.epoch = 0  # watches of an earlier one end
        self.writes = 0
        self.refused = set()  # tokens that are answered 401
        self.notes = []       # of Kubernetes Events, as they came
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 120

            def log_message(self, *args):
                pass

            def do_GET(self):
                api.handle(self, None)

            def do_POST(self):
                api.handle(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

            do_PUT = do_PATCH = do_DELETE = do_POST

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def finish_request(self, request, client_address):
                request.settimeout(30)
                request = context.wrap_socket(request, server_side=True)
                self.RequestHandlerClass(request, client_address, self)

            def handle_error(self, request, client_address):
                pass  # the client's calls fail: that is the test

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.cut_watches()
        self.server.shutdown()
        self.server.server_close()

    def cut_watches(self):
        """Ends all watches, as a restart does."""
        with self.changed:
            self.epoch += 1
            self.changed.notify_all()

    def kubeconfig(self, folder, user=None):
        return write_kubeconfig(folder, self.url, self.certificate, user)

    # What people do

    def put(self, path, item):
        """Adds or replaces an object, with a new version; returns it."""
        with self.changed:
            return self._put(path, item)

    def _put(self, path, item):
        kind, name = self.kinds[path], item["metadata"]["name"]
        old = kind.items.get(name)
        self.version += 1
        item = {"apiVersion": kind.api_version, "kind": kind.kind, **item}
        item["metadata"] = {**item["metadata"], "resourceVersion": str(self.version)}
        item["metadata"]["uid"] = (old or item)["metadata"].get("uid") or str(uuid.uuid4())
        kind.items[name] = item
        kind.note(self.version, "MODIFIED" if old else "ADDED", item)
        self.changed.notify_all()
        return item

    def delete(self, path, name):
        with self.changed:
            item = self.kinds[path].items.pop(name)
            self.version += 1
            item = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.version)}}
            self.kinds[path].note(self.version, "DELETED", item)
            self.changed.notify_all()

    def wait(self, look, seconds):
        """Until look() is true of what is there, or time is over: whether it is."""
        end = time.monotonic() + seconds
        with self.changed:
            while not look(self):
                left = end - time.monotonic()
                if left <= 0 or not self.changed.wait(min(left, 0.5)) and time.monotonic() > end:
                    return bool(look(self))
            return True

    # What the controller asks

    def handle(self, request, body):
        url = urllib.parse.urlsplit(request.path)
        query = urllib.parse.parse_qs(url.query)
        kind = self.kinds.get(url.path)
        if request.headers.get("Authorization", "").removeprefix("Bearer ") in self.refused:
            return self.answer(request, 401, self.status(401, "Unauthorized"))
        if url.path == "/readyz":
            return self.answer(request, 200, b"ok", "text/plain")
        if url.path == "/apis/authentication.k8s.io/v1/tokenreviews":
            return self.answer(request, 201, self.review(json.loads(body)))
        if url.path.startswith("/apis/events.k8s.io/"):
            self.notes.append(json.loads(body).get("note", ""))
            return self.answer(request, 201, body)
        if kind and request.command == "GET":
            return self.watch(request, kind, query) if "watch" in query else self.list(request, kind)
        return self.handle_one(request, url.path, body)

    def handle_one(self, request, path, body):
        """A request for one object, or to create one."""
        collection, _, name = path.removesuffix("/status").rpartition("/")
        with self.changed:
            if request.command == "POST" and path in self.kinds:
                item = json.loads(body)
                if item["metadata"]["name"] in self.kinds[path].items:
                    status, answer = 409, self.status(409, "AlreadyExists")
                else:
                    self.writes += 1
                    status, answer = 201, json.dumps(self._put(path, item)).encode()
            elif collection not in self.kinds or name not in self.kinds[collection].items:
                status, answer = 404, self.status(404, "NotFound")
            else:
                status, answer = self.one(request.command, collection, name, path, body)
        return self.answer(request, status, answer)

    def one(self, method, collection, name, path, body):
        old = self.kinds[collection].items[name]
        if method == "GET":
            return 200, json.dumps(old).encode()
        if method not in ("PUT", "PATCH"):
            return 405, self.status(405, "MethodNotAllowed")
        item = json.loads(body)
        if item["metadata"].get("resourceVersion") not in (None, old["metadata"]["resourceVersion"]):
            return 409, self.status(409, "Conflict")
        if method == "PATCH":
            item = {**old, "data": {**old.get("data", {}), **item.get("data", {})}}
        if path.endswith("/status"):
            self.writes += 1
            item = {**old, "status": item.get("status", {})}
        return 200, json.dumps(self._put(collection, item)).encode()

    def list(self, request, kind):
        with self.changed:
            body = kind.all(str(self.version))
        return self.answer(request, 200, body, self.media_type(kind))

    def watch(self, request, kind, query):
        since = int(query.get("resourceVersion", ["0"])[0] or 0)
        end = time.monotonic() + 100
        if since < kind.forgotten:
            return self.answer(request, 410, self.status(410, "Expired"))
        request.send_response(200)
        request.send_header("Content-Type", self.media_type(kind) +
                            (";stream=watch" if kind.encode else ""))
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        epoch = self.epoch
        while epoch == self.epoch and since >= kind.forgotten and time.monotonic() < end:
            with self.changed:
                events = kind.since(since)
                if not events and epoch == self.epoch:
                    self.changed.wait(1)
                    continue
            for since, what, item in events:
                chunk = kind.event(what, item)
                request.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            request.wfile.flush()
        request.wfile.write(b"0\r\n\r\n")

    @staticmethod
    def media_type(kind):
        return "application/vnd.kubernetes.protobuf" if kind.encode else "application/json"

    @staticmethod
    def status(code, reason):
        return json.dumps({"apiVersion": "v1", "kind": "Status", "status": "Failure",
                           "reason": reason, "message": reason, "code": code}).encode()

    @staticmethod
    def review(asked):
        return json.dumps({**asked, "status": {
            "authenticated": True, "audiences": ["gpuattribution.dev"],
            "user": {"username": "system:serviceaccount:gpu-attribution:gpu-attribution-agent",
                     "extra": {"authentication.kubernetes.io/node-name": ["gpu-a"]}}}}).encode()

    @staticmethod
    def answer(request, status, body, media_type="application/json"):
        request.send_response(status)
        request.send_header("Content-Type", media_type)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)
