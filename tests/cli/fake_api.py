"""A small Kubernetes API for the `berth` program: objects from a table, rights per namespace.

Objects are listed, in pages and as tables too, and read by path. `rights` decides on each request; a refused one gets 403, as
from RBAC. `asked` has the requested paths in order. `post` answers what is posted: (path, object) -> object, or None: 405.
"""

import http.server
import json
import os
import shutil
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "py"))
from scratch import scratch_folder  # noqa: E402 (the folder is known only now)


class FakeApi:
    def __init__(self, rights=lambda path: True, namespace="default"):
        self.rights = rights
        self.post = lambda path, value: None
        self.objects = {}  # list path -> {name: object}
        self.asked = []
        self.closed = False  # True: connections end without an answer
        self.folder = scratch_folder("berth-fake-api-")
        self.kubeconfig = os.path.join(self.folder, "kubeconfig")
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                api.answer(self)

            def do_POST(self):
                value = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or "{}")
                made = api.post(self.path, value)
                api.send(self, 405 if made is None else 201,
                         {"kind": "Status", "code": 405, "message": "not served"} if made is None else made)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 128  # a screen opens a dozen connections at once

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        with open(self.kubeconfig, "w", encoding="utf-8") as file:
            file.write(f"""apiVersion: v1
kind: Config
current-context: fake
clusters: [{{name: fake, cluster: {{server: "http://127.0.0.1:{self.server.server_port}"}}}}]
users: [{{name: fake, user: {{token: t}}}}]
contexts: [{{name: fake, context: {{cluster: fake, user: fake, namespace: {namespace}}}}}]
""")

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # `path` is the list's: "/apis/batch/v1/namespaces/default/jobs".
    def add(self, path, value):
        self.objects.setdefault(path, {})[value["metadata"]["name"]] = value

    def answer(self, request):
        if self.closed:
            request.close_connection = True
            return
        url = urllib.parse.urlsplit(request.path)
        query = urllib.parse.parse_qs(url.query)
        self.asked.append(request.path)
        if not self.rights(url.path):
            return self.send(request, 403, {"kind": "Status", "status": "Failure", "code": 403,
                                            "reason": "Forbidden", "message": "no right to " + url.path})
        folder, _, name = url.path.rpartition("/")
        if name in self.objects.get(folder, {}):
            return self.send(request, 200, self.objects[folder][name])
        items = self.listed(url.path)
        if items is None:
            return self.send(request, 404, {"kind": "Status", "status": "Failure", "code": 404,
                                            "reason": "NotFound", "message": url.path + " not found"})
        for selector in query.get("fieldSelector", []):
            items = [one for one in items if selects(one, selector)]
        for selector in query.get("labelSelector", []):
            items = [one for one in items if matches(one, selector)]
        metadata = {}
        if "limit" in query:  # pages; a token is the number of objects that were sent
            first = int(query.get("continue", ["0"])[0])
            last = first + int(query["limit"][0])
            metadata = {"continue": str(last)} if last < len(items) else {}
            items = items[first:last]
        if "as=Table" in request.headers.get("Accept", ""):
            rows = [{"cells": [one["metadata"]["name"]],
                     "object": {"metadata": {"namespace": one["metadata"].get("namespace", "")}}}
                    for one in items]
            return self.send(request, 200, {"kind": "Table", "metadata": metadata, "rows": rows,
                                            "columnDefinitions": [{"name": "Name", "priority": 0}]})
        return self.send(request, 200, {"kind": "List", "metadata": metadata, "items": items})

    # A list over all namespaces is the sum of those of each.
    def listed(self, path):
        if path in self.objects:
            return list(self.objects[path].values())
        group, _, plural = path.rpartition("/")
        found = [items for known, items in self.objects.items()
                 if known.startswith(group + "/namespaces/") and known.endswith("/" + plural)]
        return [one for items in found for one in items.values()] if found else None

    @staticmethod
    def send(request, code, body):
        data = json.dumps(body).encode()
        request.send_response(code)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)


def selects(one, selector):
    if selector.startswith("reason="):  # events have a reason
        return one.get("reason") == selector.removeprefix("reason=")
    other = selector.removeprefix("metadata.namespace!=")
    if other != selector:
        return one["metadata"].get("namespace", "") != other
    return selector == "metadata.name=" + one["metadata"]["name"]


def matches(one, selector):
    labels = one["metadata"].get("labels", {})
    for term in selector.split(","):
        name, _, value = term.partition("=")
        if not (labels.get(name) == value if value else name in labels):
            return False
    return True
