"""A large cluster behind the page, without the cluster: files of the page as given, /api/v1 with 1,000 ClusterQueues and
100,000 waiting Workloads, an event stream that says what `tell` is given. Plain HTTP on a free port of loopback."""

import http.server
import json
import queue
import socketserver
import threading
import urllib.parse

WORKLOADS = 100_000
QUEUES = 1_000
CREATED = "2026-11-20T07:00:00Z"


def workload(number):
    space = f"team-{number % 50}"
    return {"id": f"{space}/job-{number}", "namespace": space, "workload": f"job-{number}", "name": f"job-{number}", "kind": "Job",
            "localQueue": "q", "clusterQueue": f"queue-{number % QUEUES}", "priority": 0, "state": "waiting", "cause": "quota",
            "createdAt": CREATED, "waitingSince": CREATED, "turn": number, "eta": None, "requests": [],
            "remark": "quota: nvidia.com/gpu in flavor t4: needs 4, 0 free of 8", "reason": None}


def cluster_queue(number):
    use = {"resource": "nvidia.com/gpu", "unit": "items", "used": 8, "nominal": 8, "borrowed": 0, "lent": 0}
    return {"id": f"queue-{number}", "name": f"queue-{number}", "cohort": f"cohort-{number % 40}", "parents": ["company"], "waiting": 100,
            "running": 2, "strategy": "BestEffortFIFO", "stopPolicy": "None", "weightedShare": None, "resources": [use]}


class FakeReadApi:
    def __init__(self, files):
        """`files`: (content type, bytes) by path."""
        self.files = files
        self.rows = self.make_rows()
        self.streams = []
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                address = urllib.parse.urlsplit(self.path)
                query = dict(urllib.parse.parse_qsl(address.query))
                if address.path == "/api/v1/events":
                    return fake.stream(self)
                if not address.path.startswith("/api/v1/"):
                    return fake.send(self, *(fake.files.get(address.path) or fake.files["/"]))
                return fake.send_json(self, fake.answer(address.path.removeprefix("/api/v1/"), query))

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                return fake.send_json(self, fake.answer(urllib.parse.urlsplit(self.path).path.removeprefix("/api/v1/"), {}))

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @staticmethod
    def make_rows():
        return {"workloads": [workload(i) for i in range(WORKLOADS)], "queues": [cluster_queue(i) for i in range(QUEUES)]}

    def close(self):
        for stream in self.streams:
            stream.put(None)
        self.server.shutdown()
        self.server.server_close()

    def tell(self, changes):
        """Sends each change, as the data of an event, to all that listen."""
        for stream in self.streams:
            stream.put(changes)

    def answer(self, path, query):
        if path == "session":
            return {"signedIn": True, "user": "reader", "csrf": ""}
        rows = self.rows.get(path, [])
        if "countBy" in query:
            value = "quota" if query["countBy"] == "cause" else "waiting"
            return {"items": [], "counts": [{"value": value, "count": len(rows)}] if rows else [], "revision": "e.0"}
        at = int(query.get("cursor", "0"))
        end = at + int(query.get("limit", "100"))
        page = {"items": rows[at:end], "revision": "e.0"}
        if end < len(rows):
            page["next"] = str(end)
        return page

    def stream(self, handler):
        mine = queue.Queue()
        self.streams.append(mine)
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        number = 0
        try:
            while (changes := mine.get()) is not None:
                text = ""
                for change in changes:
                    number += 1
                    text += f"id: e.{number}\nevent: change\ndata: {json.dumps(change)}\n\n"
                handler.wfile.write(text.encode())
                handler.wfile.flush()
        except OSError:
            pass  # the page has gone
        handler.close_connection = True

    def send_json(self, handler, body):
        """None: there is no answer to this request."""
        status = 200 if body is not None else 404
        self.send(handler, "application/json", json.dumps(body or {"status": status, "message": "not recorded"}).encode(), status)

    @staticmethod
    def send(handler, content_type, body, status=200):
        handler.send_response(status)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


class RecordedReadApi(FakeReadApi):
    """Answers as they were recorded, by path and query; nothing changes."""

    def __init__(self, files, answers):
        self.answers = answers
        super().__init__(files)

    @staticmethod
    def make_rows():
        return {}

    def answer(self, path, query):
        if path == "session":
            return {"signedIn": True, "user": "kubernetes-admin", "csrf": "secret", "actions": True}
        return self.answers.get(key_of(path, query))


def key_of(path, query):
    return path + "?" + urllib.parse.urlencode(sorted(query.items()))
