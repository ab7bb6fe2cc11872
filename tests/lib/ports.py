# SPDX-License-Identifier: Apache-2.0
"""Ports of 127.0.0.1."""

import socket
import threading


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def end(stream):
    """Closes a socket, also under a thread that waits for it."""
    try:
        stream.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    stream.close()


class Listener:
    """Each connection to a port of its own is carried in a thread, by carry(client) of the subclass."""

    def listen(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def close(self):
        end(self.listener)
