# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy that can be cut: from a port of 127.0.0.1 to another one, by an address of its own.

While it is cut it takes connections and passes nothing on, in neither direction, as a network does that
loses packets. What it has taken and not passed on is lost when it is mended: those connections end.
"""

import selectors
import socket
import threading

from ports import Listener, end

CHUNK = 65536


class TCPProxy(Listener):
    """source is an address in 127.0.0.0/8: who looks at the target's log knows whose connection it was."""

    def __init__(self, target_port, source):
        self.target_port, self.source = target_port, source
        self.lock = threading.Lock()
        self.is_cut = False
        self.pairs = set()
        self.listen()

    def cut(self):
        with self.lock:
            self.is_cut = True

    def mend(self):
        """Ends all connections of that time."""
        with self.lock:
            self.is_cut = False
            pairs, self.pairs = self.pairs, set()
        for pair in pairs:
            for stream in pair:
                end(stream)

    def close(self):
        super().close()
        self.mend()

    def carry(self, client):
        pair = (client,)
        with self.lock:
            self.pairs.add(pair)
            if self.is_cut:
                return
        try:
            server = socket.create_connection(("127.0.0.1", self.target_port), 10, (self.source, 0))
        except OSError:
            with self.lock:
                self.pairs.discard(pair)
            client.close()
            return
        with self.lock:
            self.pairs.discard(pair)
            pair = (client, server)
            self.pairs.add(pair)
        self.pump(client, server)
        with self.lock:
            if self.is_cut:
                return  # mend() ends them
            self.pairs.discard(pair)
        client.close()
        server.close()

    def pump(self, client, server):
        """Until one end is closed, or it is cut."""
        other = {client: server, server: client}
        with selectors.DefaultSelector() as ready:
            for stream in other:
                ready.register(stream, selectors.EVENT_READ)
            while not self.is_cut:
                for key, _ in ready.select(0.05):
                    if self.is_cut:
                        return
                    try:
                        data = key.fileobj.recv(CHUNK)
                        if not data:
                            return
                        other[key.fileobj].sendall(data)
                    except OSError:
                        return
