"""A TCP proxy on loopback with the faults of networks.

    proxy = ToxicProxy(port)     # of the server; or with a listening socket of the caller
    proxy.port                   # port for the client
    proxy.latency = 0.2          # seconds of delay for each piece of bytes, in each direction
    proxy.stall()                # half-open: connections stay open, no byte arrives
    proxy.reset()                # ends every connection with RST
    proxy.cut()                  # resets, and ends later connections
    proxy.heal()                 # ends all faults; delayed bytes arrive
"""

import contextlib
import socket
import struct
import threading
import time

PIECE = 65536
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER of zero seconds


class ToxicProxy:
    def __init__(self, port, listener=None):
        self.upstream = port
        self.latency = 0
        self.closed = False
        self.is_cut = False
        self.passes = threading.Event()
        self.passes.set()
        self.lock = threading.Lock()
        self.connections = set()
        self.listener = listener or socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def stall(self):
        self.passes.clear()

    def reset(self):
        with self.lock:
            connections, self.connections = self.connections, set()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            # Wakes the thread that reads from the connection; the thread closes it.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)

    def cut(self):
        self.is_cut = True
        self.reset()

    def heal(self):
        self.latency = 0
        self.is_cut = False
        self.passes.set()

    def close(self):
        self.closed = True
        self.cut()
        self.passes.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    # Bytes ----------------------------------------------------------------------------------------
    def accept(self):
        while not self.closed:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            if self.is_cut:
                raise ConnectionError("cut")
            server = socket.create_connection(("127.0.0.1", self.upstream), timeout=10)
        except OSError:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            client.close()
            return
        server.settimeout(None)
        with self.lock:
            self.connections |= {client, server}
        back = threading.Thread(target=self.pump, args=(server, client), daemon=True)
        back.start()
        self.pump(client, server)
        back.join()
        with self.lock:
            self.connections -= {client, server}
        client.close()
        server.close()

    def pump(self, source, target):
        """Forwards bytes until the source ends; then closes the target's direction."""
        try:
            while data := source.recv(PIECE):
                if self.latency:
                    time.sleep(self.latency)
                self.passes.wait()
                target.sendall(data)
        except OSError:
            pass
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)
