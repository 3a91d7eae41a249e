"""What tests ask of any cluster: kubectl and programs with the cluster's kubeconfig."""

import functools
import json
import os
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "lib"))

from crashed_pods import logs_of_crashed_pods  # noqa: E402
from object_reader import NotUnderstood, ObjectReader  # noqa: E402

# A kubectl lives for a moment: without collecting garbage it needs a quarter less processor time.
GO = {"GOGC": "off", "GOMEMLIMIT": "256MiB"}


class KubectlClient:
    """A subclass has `folder`, `kubeconfig` and `kubectl_program`, the flags of kubectl apply in APPLY_FLAGS, and
    variables of the environment in `variables`. Without `reads_directly` kubectl answers `get` and `items`."""

    APPLY_FLAGS = ()
    variables = {}
    reads_directly = True

    @functools.cached_property
    def reader(self):
        return ObjectReader(self.kubeconfig)

    def environment(self, kubeconfig=None):
        return {"PATH": os.environ["PATH"], "HOME": self.folder, "KUBECONFIG": kubeconfig or self.kubeconfig,
                "LANG": "C.UTF-8", "TZ": "UTC", **GO, **self.variables}

    def run(self, program, *arguments, stdin=None, check=True, seconds=150, kubeconfig=None):
        """The ended program, with its output as text; raises where it failed, unless `check` is false."""
        done = subprocess.run([program, *arguments], input=stdin, text=True, capture_output=True,
                              timeout=seconds, env=self.environment(kubeconfig), check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"{os.path.basename(program)} {' '.join(arguments)}: exit {done.returncode}\n"
                                 f"{done.stdout}{done.stderr}")
        return done

    def kubectl(self, *arguments, **options):
        return self.run(self.kubectl_program, *arguments, **options)

    def get(self, *arguments):
        """The object, or None. `arguments` are those of kubectl get."""
        if self.reads_directly:
            try:
                return self.reader.get(*arguments)
            except NotUnderstood:
                pass  # kubectl answers
        done = self.kubectl("get", *arguments, "-o", "json", check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def items(self, *arguments):
        return (self.get(*arguments) or {"items": []})["items"]

    def show_objects(self, kinds="jobs,workloads,pods,nodes"):
        """What a person looks at first, as text; the logs of pods that crashed behind it."""
        def logs(*arguments):
            done = self.kubectl("logs", *arguments, check=False, seconds=30)
            return done.stdout + done.stderr
        try:
            shown = self.kubectl("get", kinds, "-A", "-o", "wide", check=False, seconds=30).stdout
            return f"{shown}\n{logs_of_crashed_pods(self.items('pods', '-A'), logs)}"
        except subprocess.TimeoutExpired:
            return "kubectl get got no answer within 30 s\n"

    def apply(self, text, *flags, **options):
        return self.kubectl("apply", *self.APPLY_FLAGS, *flags, "-f", "-", stdin=text, **options)
