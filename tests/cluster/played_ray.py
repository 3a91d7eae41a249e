"""What a head of Ray answers to KubeRay's operator over HTTP: the applications of Ray Serve, jobs, and the
health of Serve's proxy.

There is no network of pods and no name of a Service that resolves. So the operator gets this server as its
HTTP proxy: a request for a name or for the address of a pod comes here, with that name."""

import http.server
import json
import threading
import urllib.parse

APPLICATIONS = "/api/serve/applications/"
JOBS = "/api/jobs/"


class Ray:
    """`applications`: of each host, those that were deployed; all of them run. `jobs`: by submission id."""

    def __init__(self):
        self.applications, self.jobs = {}, {}
        self.lock = threading.Lock()
        played = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.answer(*played.get(*self.place()))

            def do_PUT(self):
                self.answer(*played.put(*self.place(), self.body()))

            def do_POST(self):
                self.answer(*played.post(*self.place(), self.body()))

            def place(self):
                parts = urllib.parse.urlsplit(self.path)
                return parts.hostname, parts.path

            def body(self):
                return json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or "null")

            def answer(self, code, body):
                text = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.proxy = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def get(self, host, path):
        with self.lock:
            if path == "/-/healthz":
                return 200, "success"
            if path == APPLICATIONS:
                return 200, {"applications": {name: {"name": name, "status": "RUNNING", "deployments": {}}
                                              for name in self.applications.get(host, ())}}
            job = self.jobs.get(path.removeprefix(JOBS))
            return (200, job) if path.startswith(JOBS) and job else (404, "not found")

    def put(self, host, path, body):
        if path != APPLICATIONS:
            return 404, "not found"
        with self.lock:
            self.applications[host] = [each["name"] for each in body["applications"]]
        return 200, {}

    def post(self, _, path, body):
        if path.startswith(JOBS) and path.endswith("/stop"):
            return 200, {"stopped": True}
        if path != JOBS:
            return 404, "not found"
        submission = body["submission_id"]
        self.submit(submission, body["entrypoint"])
        return 200, {"submission_id": submission, "job_id": submission}

    def submit(self, submission, entrypoint):
        """As a pod that submits the job does, too."""
        with self.lock:
            self.jobs[submission] = {"submission_id": submission, "job_id": submission, "status": "RUNNING",
                                     "entrypoint": entrypoint, "message": "", "start_time": 1}

    def end_jobs(self, status, message):
        """Of those that run."""
        with self.lock:
            for job in self.jobs.values():
                if job["status"] == "RUNNING":
                    job.update(status=status, message=message, end_time=2)
