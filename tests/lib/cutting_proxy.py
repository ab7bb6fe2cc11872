# SPDX-License-Identifier: Apache-2.0
"""An HTTPS proxy in front of a kube-apiserver that ends chosen answers after so many bytes.

It speaks HTTP/1.1 in clear inside of its own TLS, so a cut is at a byte of the answer, head and chunks
included.
"""

import re
import socket
import ssl
import threading
import urllib.parse

from ports import Listener, end

HEAD_END = b"\r\n\r\n"
EVENTS = 2  # of a watch; behind them there is nothing new
INITIAL_END = b"k8s.io/initial-events-end"  # is in the bookmark behind the objects of a streamed list
BY_NAME = "metadata.name="
# How objects are asked for: all at once, in pages, or by a watch that begins with all of them; a watch.
LIST, FIRST_PAGE, NEXT_PAGE, STREAM, WATCH = "list", "first page", "next page", "streamed list", "watch"


def what(request_line):
    """(path, form) of a GET; None of others. Where objects are chosen by their name, that is in the path."""
    method, target, _ = request_line.split(" ", 2)
    url = urllib.parse.urlsplit(target)
    query = urllib.parse.parse_qs(url.query)
    if method != "GET":
        return None
    path = url.path
    selector = query.get("fieldSelector", [""])[0]
    if selector.startswith(BY_NAME):
        path += "?" + selector
    if "watch" in query:
        return path, STREAM if "sendInitialEvents" in query else WATCH
    if "limit" in query:
        return path, NEXT_PAGE if "continue" in query else FIRST_PAGE
    return path, LIST


def is_last(form, number, data):
    """Whether what comes behind these bytes is not counted. The API server sends each event in a chunk of
    its own; the head has number 0."""
    return (form == WATCH and number == EVENTS) or (form == STREAM and INITIAL_END in data)


class CuttingProxy(Listener):
    """Serves on a free port of 127.0.0.1, with the plane's certificate or another one (certificate and
    key). A page has `page` objects at most.

    By path and form, `heads` has how long the longest HTTP head was, and `lengths` the longest answer: of a
    watch its first EVENTS events, of a streamed list all up to its closing bookmark."""

    def __init__(self, plane, pair=None, page=None):
        self.plane, self.page = plane, page
        self.lock = threading.Lock()
        self.cuts, self.done, self.heads, self.lengths = {}, {}, {}, {}
        self.asked = set()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*(pair or (plane.certificate, plane.key)))
        self.listen()

    def cut(self, path, form, after):
        """The next such answer ends after that many bytes."""
        with self.lock:
            self.done.pop((path, form), None)
            self.cuts[path, form] = after

    def forget_asked(self):
        with self.lock:
            self.asked.clear()

    def forget_lengths(self):
        with self.lock:
            self.heads.clear()
            self.lengths.clear()

    def was_asked(self, path, form):
        """Whether such a request came since forget_asked()."""
        return (path, form) in self.asked

    def was_cut(self, path, form):
        """Whether it was, at the byte that was asked for; an answer may be shorter."""
        return self.done.get((path, form), False)

    def carry(self, raw):
        server = None
        try:
            raw.settimeout(300)
            client = self.context.wrap_socket(raw, server_side=True)
            server = self.plane.client.wrap_socket(
                socket.create_connection(("127.0.0.1", self.plane.port), 10), server_hostname="127.0.0.1")
            server.settimeout(300)
            while self.exchange(client, server):
                pass
        except (OSError, ValueError):
            pass
        finally:
            end(raw)
            if server:
                end(server)

    def exchange(self, client, server):
        """One request and its answer. False: the connection is over."""
        head, body = read_head(client)
        if not head:
            return False
        request_line = head.split(b"\r\n", 1)[0].decode()
        if self.page:
            head = re.sub(rb"([?&]limit=)\d+", rb"\g<1>%d" % self.page, head, count=1)
        server.sendall(head + read_body(client, head, body))
        asked = what(request_line)
        after = None
        if asked:
            with self.lock:
                self.asked.add(asked)
                after = self.cuts.pop(asked, None)
        return self.answer(client, server, asked, after)

    def answer(self, client, server, asked, after):
        """Passes the answer on, or its first `after` bytes."""
        passed, counts = 0, asked is not None
        for number, data in enumerate(answer_bytes(server)):
            if after is not None and passed + len(data) >= after:
                client.sendall(data[:after - passed])
                self.done[asked] = True
                return False
            client.sendall(data)
            passed += len(data)
            if counts:
                self.count(asked, number, passed)
                counts = not is_last(asked[1], number, data)
        return True

    def count(self, asked, number, passed):
        with self.lock:
            for lengths in (self.lengths, self.heads) if number == 0 else (self.lengths,):
                lengths[asked] = max(passed, lengths.get(asked, 0))


def read_head(stream):
    """The head of a message, and what was read behind it."""
    data = b""
    while HEAD_END not in data:
        more = stream.recv(65536)
        if not more:
            return b"", b""
        data += more
    head, _, rest = data.partition(HEAD_END)
    return head + HEAD_END, rest


def headers(head):
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def read_body(stream, head, body):
    """The whole body of a request."""
    length = int(headers(head).get("content-length", 0))
    while len(body) < length:
        more = stream.recv(65536)
        if not more:
            raise OSError("the request is cut")
        body += more
    return body


def answer_bytes(server):
    """Yields an answer as it comes, until its end."""
    head, rest = read_head(server)
    if not head:
        raise OSError("no answer")
    yield head
    fields = headers(head)
    if fields.get("transfer-encoding") == "chunked":
        yield from chunks(server, rest)
        return
    left = int(fields.get("content-length", 0))
    while left > 0:
        if not rest:
            rest = server.recv(65536)
            if not rest:
                raise OSError("the answer is cut")
        yield rest
        left -= len(rest)
        rest = b""


def chunks(server, rest):
    """Chunks with their frames, until the last one."""
    while True:
        while b"\r\n" not in rest:
            rest += more(server)
        size = int(rest.partition(b"\r\n")[0].split(b";")[0], 16)
        whole = rest.index(b"\r\n") + 2 + size + 2
        while len(rest) < whole:
            rest += more(server)
        yield rest[:whole]
        rest = rest[whole:]
        if size == 0:
            return


def more(server):
    data = server.recv(65536)
    if not data:
        raise OSError("the answer is cut")
    return data
