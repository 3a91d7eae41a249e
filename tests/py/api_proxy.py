"""An HTTP proxy between `berth controller` and a cluster: it counts requests by the right that allows them.

Every request goes to the API server unchanged and its answer back, watches included. On the way the
proxy asks `rights` (rbac.py) which right allows the request, and performs the requested
faults: an answer of the proxy, or none although the request has been performed.
"""

import contextlib
import http.client
import http.server
import json
import os
import re
import shutil
import socket
import ssl
import sys
import threading
import urllib.parse

import rbac
from scratch import scratch_folder


class ApiProxy:
    """`counted`: another proxy, whose counts this one continues."""

    def __init__(self, kubeconfig, rights=None, counted=None):
        with open(kubeconfig, encoding="utf-8") as file:
            text = file.read()
        upstream = urllib.parse.urlsplit(re.search(r"server: (\S+)", text).group(1))
        authority = re.search(r"certificate-authority-data: (\S+)", text).group(1)
        self.folder = scratch_folder("berth-proxy-")
        self.kubeconfig = os.path.join(self.folder, "kubeconfig")
        self.tls = ssl.create_default_context(cadata=rbac.decode(authority))
        self.upstream = upstream
        self.rights = rights
        self.lock = counted.lock if counted else threading.Lock()
        self.used = counted.used if counted else {}  # right -> the first request that it allowed
        # Need that no right covers -> the first request.
        self.forbidden = counted.forbidden if counted else {}
        self.faults = []      # [method, pattern of the path, status or None, times]
        self.reviews = None   # body -> answer: instead of the API server's
        self.to_servers = set()  # the open connections to the API server
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            to_server = None

            def do_any(self):
                proxy.handle(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_any

            def finish(self):
                try:
                    super().finish()
                finally:
                    if self.to_server is not None:
                        with proxy.lock:
                            proxy.to_servers.discard(self.to_server)
                        self.to_server.close()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 128

            def handle_error(self, *request):
                if not isinstance(sys.exc_info()[1], (OSError, http.client.HTTPException)):
                    super().handle_error(*request)  # an error of the proxy; others are closed connections

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        with open(self.kubeconfig, "w", encoding="utf-8") as file:
            file.write(re.sub(r" *certificate-authority-data: \S+\n", "", text).replace(
                f"{upstream.scheme}://{upstream.netloc}",
                f"http://127.0.0.1:{self.server.server_port}"))

    def close(self):
        """Watches end, too: the API server waits for their ends before its own."""
        self.server.shutdown()
        self.server.server_close()
        with self.lock:
            for connection in self.to_servers:
                with contextlib.suppress(OSError, AttributeError):  # it has ended, or has no socket yet
                    # Not SSLSocket's own: a thread reads, and finds the end.
                    socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)
        shutil.rmtree(self.folder, ignore_errors=True)

    def fail(self, method, pattern, status=None, times=1):
        """The next `times` requests of this kind: `status` without being performed, or performed
        (None) without an answer."""
        with self.lock:
            self.faults.append([method, pattern, status, times])

    def failed(self):
        """Whether every fault has happened."""
        with self.lock:
            return not self.faults

    def take_fault(self, method, path):
        with self.lock:
            for fault in self.faults:
                if fault[0] == method and re.search(fault[1], path):
                    fault[3] -= 1
                    if fault[3] == 0:
                        self.faults.remove(fault)
                    return fault
        return None

    # One request ----------------------------------------------------------------------------------
    def handle(self, client):
        body = client.rfile.read(int(client.headers.get("Content-Length") or 0))
        fault = self.take_fault(client.command, client.path)
        if fault is not None and fault[2] is not None:
            self.note(client, body, fault[2])
            return self.answer(client, fault[2])
        if self.reviews is not None and client.path.partition("?")[0].endswith("reviews"):
            answer = self.reviews(json.loads(body))
            self.note(client, body, 201)
            return self.answer(client, 201 if answer else 500, answer)
        if client.to_server is None:
            client.to_server = http.client.HTTPSConnection(
                self.upstream.hostname, self.upstream.port, context=self.tls)
            with self.lock:
                self.to_servers.add(client.to_server)
        headers = {name: value for name, value in client.headers.items()
                   if name.lower() not in ("host", "connection", "content-length")}
        client.to_server.request(client.command, client.path, body or None, headers)
        response = client.to_server.getresponse()
        self.note(client, body, response.status)
        if fault is not None:
            response.read()
            client.close_connection = True
            return None
        return self.pass_on(client, response)

    @staticmethod
    def answer(client, status, value=None):
        data = json.dumps(value or {"kind": "Status", "apiVersion": "v1", "status": "Failure",
                                    "code": status, "message": "as ordered",
                                    "reason": {404: "NotFound", 409: "Conflict"}.get(status, ""),
                                    }).encode()
        client.send_response(status)
        client.send_header("Content-Type", "application/json")
        client.send_header("Content-Length", str(len(data)))
        client.end_headers()
        client.wfile.write(data)

    @staticmethod
    def pass_on(client, response):
        client.send_response_only(response.status, response.reason)
        chunked = response.getheader("Transfer-Encoding") == "chunked"
        for name, value in response.getheaders():
            if name.lower() not in ("connection", "transfer-encoding"):
                client.send_header(name, value)
        if chunked:
            client.send_header("Transfer-Encoding", "chunked")
        client.end_headers()
        while True:
            data = response.read1(65536)
            if not data:
                break
            client.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if chunked else data)
            client.wfile.flush()
        response.close()
        if chunked:
            client.wfile.write(b"0\r\n\r\n")

    def note(self, client, body, status):
        if self.rights is None:
            return
        line = f"{client.command} {client.path}"
        for need in rbac.needs(client.command, client.path, body, status):
            right = self.rights.find(need)
            with self.lock:
                if right is None:
                    self.forbidden.setdefault(rbac.text_of(need._replace(name="")), line)
                else:
                    self.used.setdefault(right, line)
