"""What the demos share: `berth up` in a scratch folder, kubectl for it, steps that are told and checked.

    class MyDemo(Demo):
        def first_step(self): …
    sys.exit(play(MyDemo, ["first_step"]))        # 0 only if every step came about, and every check held

Only the standard library."""

import json
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "py"))
from crashed_pods import logs_of_crashed_pods  # noqa: E402 (the folder is known only now)
from checkout import pods_see_checkout  # noqa: E402
from scratch import die_with_parent, scratch_folder  # noqa: E402

PATIENCE_SECONDS = 120  # for one step, on a busy machine


class Failed(Exception):
    pass


def check(holds, what):
    if not holds:
        raise Failed(what)


def is_true(item, kind):
    return any(each["type"] == kind and each["status"] == "True"
               for each in item.get("status", {}).get("conditions", []))


def condition(item, kind):
    return next((each for each in item.get("status", {}).get("conditions", []) if each["type"] == kind), {})


class Demo:
    STATE_KINDS = "jobs,workloads,pods,nodes"  # printed when the demo fails

    def __init__(self, scratch):
        self.scratch = scratch
        self.started = time.monotonic()
        self.berth = os.path.join(os.environ.get("BERTH_BUILD", os.path.join(ROOT, "build", "release")), "berth")
        tests_kubectl = os.path.join(ROOT, "build", "bin", "kubectl")
        self.client = tests_kubectl if os.path.exists(tests_kubectl) else shutil.which("kubectl")
        check(self.client, "no kubectl: install one, or build that of the tests with tools/kubectl")
        self.kubeconfig = os.path.join(scratch, "kubeconfig")
        self.log = os.path.join(scratch, "berth.log")
        self.validates = None  # kubectl compares with the API's schemas
        self.process = None
        self.said = {}  # last state of each thing that is told

    # Telling and asking ---------------------------------------------------------------------------
    def say(self, text):
        print(f"{time.monotonic() - self.started:5.1f}s  {text}", flush=True)

    def tell(self, thing, state):
        if state and self.said.get(thing) != state:
            self.said[thing] = state
            self.say(f"{thing}: {state}")

    def file(self, name, text):
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def run(self, *command):
        environment = {"PATH": os.environ["PATH"], "HOME": self.scratch, "KUBECONFIG": self.kubeconfig,
                       "LANG": "C.UTF-8"}
        done = subprocess.run(command, text=True, capture_output=True, timeout=60, env=environment, check=False)
        check(done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return done.stdout

    def kubectl(self, *arguments):
        return self.run(self.client, *arguments)

    def list(self, kind, *arguments):
        return json.loads(self.kubectl("get", kind, *arguments, "-o", "json"))["items"]

    def apply(self, *arguments):
        # Clients before 1.29 ask for OpenAPI v2 in protobuf, which is not served.
        if self.validates is None:
            self.validates = '1.20' not in self.kubectl("version", "--client")
        return self.kubectl("apply", *([] if self.validates else ["--validate=false"]), *arguments)

    def wait(self, holds, what):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            check(self.process.poll() is None, "berth up ended early")
            check(time.monotonic() < deadline, f"not in time: {what}")
            time.sleep(0.2)

    # Life -----------------------------------------------------------------------------------------
    def berth_up(self, *flags):
        self.say("berth up: a Kubernetes API, an emulated cloud and the queue controllers in one process")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [self.berth, "up", "--data-dir", os.path.join(self.scratch, "data"), "--kubeconfig", self.kubeconfig,
                 "--listen", "127.0.0.1:0", *flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=pods_see_checkout(), preexec_fn=die_with_parent)
        self.wait(lambda: os.path.exists(self.kubeconfig), "berth is up")

    def logs(self, *arguments):
        try:
            return self.kubectl("logs", *arguments)
        except Failed as gone:
            return str(gone)

    def tell_state(self):
        print(self.run(self.client, "get", self.STATE_KINDS, "-A", "-o", "wide"), file=sys.stderr)
        print(logs_of_crashed_pods(self.list("pods", "-A"), self.logs), file=sys.stderr)
        with open(self.log, encoding="utf-8", errors="replace") as log:
            print(log.read()[-3000:], file=sys.stderr)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=60)


def play(demo_class, steps):
    """Plays the steps, which are names of methods; the exit code."""
    scratch = scratch_folder("berth-demo-")
    demo = None
    try:
        demo = demo_class(scratch)
        for step in steps:
            getattr(demo, step)()
        return 0
    except Failed as failure:
        print(f"the demo failed: {failure}", file=sys.stderr)
        if demo is not None and os.path.exists(demo.kubeconfig):
            demo.tell_state()
        return 1
    finally:
        if demo is not None:
            demo.stop()
        shutil.rmtree(scratch, ignore_errors=True)
