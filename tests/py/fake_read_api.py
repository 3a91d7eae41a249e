"""A large cluster behind the page, without the cluster: files of the page as given, /api/v1 with 1,000 ClusterQueues and
100,000 waiting Workloads (large_cluster), an event stream that says what `tell` is given. Plain HTTP on a free port of loopback."""

import collections
import gzip
import http.server
import json
import queue
import socketserver
import threading
import urllib.parse

import large_cluster

MIN_COMPRESSED_BYTES = 16 * 1024  # the limit of readapi/controller/read_server.cc
NO_FILTERS = {"limit", "cursor", "sort", "fields", "countBy", "namespace"}


class FakeReadApi:
    def __init__(self, files):
        """`files`: (content type, bytes) by path."""
        self.files = files
        self.rows = self.make_rows()
        self.streams = []
        self.opening = threading.Event()  # cleared: streams wait before they begin
        self.opening.set()
        self.is_held = lambda path, query: False  # an answer, once made, waits for `answering`
        self.answering = threading.Event()
        self.held = threading.Event()  # an answer waits
        self.revision = 0  # changes that were told
        self.changing = threading.Lock()
        self.busy = {}  # by path: how many requests get 503 before an answer
        self.asked = collections.Counter()  # requests by path
        self.sent = collections.Counter()  # bytes of answers as they were sent, by path
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
                path = address.path.removeprefix("/api/v1/")
                fake.asked[path] += 1
                if fake.busy.get(path, 0) > 0:
                    fake.busy[path] -= 1
                    body = json.dumps({"status": 503, "message": "too many requests are under way"}).encode()
                    return fake.send(self, "application/json", body, 503)
                answer = fake.answer(path, query)
                if fake.is_held(path, query):
                    fake.held.set()
                    fake.answering.wait()
                return fake.send_json(self, answer)

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
        return {"workloads": [large_cluster.workload(i) for i in range(large_cluster.WORKLOADS)],
                "queues": [large_cluster.cluster_queue(i) for i in range(large_cluster.QUEUES)],
                "capacityrequests": [large_cluster.capacity_request(i) for i in range(large_cluster.REQUESTS)],
                "cohorts": [large_cluster.cohort(i) for i in range(large_cluster.COHORTS + 1)]}

    def close(self):
        self.opening.set()
        self.answering.set()
        for stream in self.streams:
            stream.put(None)
        self.server.shutdown()
        self.server.server_close()

    def tell(self, changes):
        """Sends each change, as the data of an event, to all that listen."""
        with self.changing:
            text = ""
            for change in changes:
                self.revision += 1
                text += f"id: e.{self.revision}\nevent: change\ndata: {json.dumps(change)}\n\n"
            for stream in self.streams:
                stream.put(text)

    def answer(self, path, query):
        if path == "session":
            return {"signedIn": True, "user": "reader", "csrf": ""}
        rows = self.rows.get(path)
        if rows is None:
            return large_cluster.answer(path, query)
        for field, values in query.items():
            if field == "name":
                rows = [row for row in rows if row[field].startswith(values)]
            elif field not in NO_FILTERS:
                rows = [row for row in rows if str(row[field]) in values.split(",")]
        if "countBy" in query:
            counted = collections.Counter(row[query["countBy"]] for row in rows)
            return {"items": [], "counts": [{"value": value, "count": count} for value, count in sorted(counted.items())], "revision": f"e.{self.revision}"}
        at = int(query.get("cursor", "0"))
        end = at + int(query.get("limit", "100"))
        page = {"items": rows[at:end], "revision": f"e.{self.revision}"}
        if end < len(rows):
            page["next"] = str(end)
        return page

    def stream(self, handler):
        mine = queue.Queue()
        self.opening.wait()
        with self.changing:
            self.streams.append(mine)
            mine.put(f"event: start\nid: e.{self.revision}\ndata: {{}}\n\n")
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        try:
            while (text := mine.get()) is not None:
                handler.wfile.write(text.encode())
                handler.wfile.flush()
        except OSError:
            pass  # the page has gone
        handler.close_connection = True

    def send_json(self, handler, body):
        """None: there is no answer to this request."""
        status = 200 if body is not None else 404
        self.send(handler, "application/json", json.dumps(body or {"status": status, "message": "not recorded"}).encode(), status)

    def send(self, handler, content_type, body, status=200):
        handler.send_response(status)
        handler.send_header("Content-Type", content_type)
        if len(body) >= MIN_COMPRESSED_BYTES and "gzip" in handler.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, compresslevel=1)
            handler.send_header("Content-Encoding", "gzip")
        self.sent[urllib.parse.urlsplit(handler.path).path] += len(body)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        try:
            handler.wfile.write(body)
        except ConnectionError:  # the page has gone
            handler.close_connection = True


class RecordedReadApi(FakeReadApi):
    """Answers as they were recorded, by path and query; nothing changes."""

    def __init__(self, files, answers):
        self.answers = answers
        self.is_signed_in = True
        super().__init__(files)

    @staticmethod
    def make_rows():
        return {}

    def answer(self, path, query):
        if path == "session":
            return {"signedIn": True, "user": "kubernetes-admin", "csrf": "secret", "actions": True} if self.is_signed_in else {"signedIn": False}
        if path.endswith("/objects"):  # no part of the recording
            return {"objects": [], "events": [], "eventsLeftOut": 0, "hidden": []}
        if path == "locations":  # the answer names Workloads of the query alone
            recorded, named = self.answers.get("locations?", {"items": [], "failed": [], "namespacesWithoutPods": []}), query.get("workload", "").split(",")
            return {**recorded, "items": [each for each in recorded["items"] if each["id"] in named]}
        return self.answers.get(key_of(path, query))


class HostileReadApi(RecordedReadApi):
    """The recorded answers with `evil` in every text but units, and in every key that is a name: of resources."""

    def __init__(self, files, answers, evil):
        self.evil = evil
        super().__init__(files, {key: self.spoilt(answer) for key, answer in answers.items()})

    def spoilt(self, value, key=""):
        if isinstance(value, dict):
            return {name + self.evil if key.endswith("Hours") else name: self.spoilt(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [self.spoilt(each, key) for each in value]
        return value + self.evil if isinstance(value, str) and key != "unit" else value

    def answer(self, path, query):
        if path == "session":
            return {**super().answer(path, query), "user": self.evil}
        if path == "locations":
            return super().answer(path, query)
        plain = urllib.parse.unquote(path).replace(self.evil, "")
        return super().answer(plain, {name: value.replace(self.evil, "") for name, value in query.items()})


def key_of(path, query):
    return path + "?" + urllib.parse.urlencode(sorted(query.items()))
