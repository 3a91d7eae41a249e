"""A control plane with Berth installed that the test classes of one process use one after the other.

    plane, installation = shared_plane.take()

`take` deletes what the class before has made, except in the system's namespaces. The controller of that class runs
meanwhile, since the controller removes the finalizers of its objects, and is ended then. A control plane on which
something stays is ended, and the class gets a new one."""

import atexit
import http.client
import itertools
import json
import re
import shutil
import signal
import sys
import time

from control_plane import ADMIN_TOKEN, ControlPlane
from installation import Installation
from object_reader import DISCOVERY, versions_of
from scratch import scratch_folder

# The cluster makes these names by itself; objects of the kinds in ENDING end with the object that they belong to.
SYSTEM = ("kube-node-lease", "kube-public", "kube-system", "kueue-system")
OF_THE_CLUSTER = ("kube-root-ca.crt", "default", "kubernetes", *SYSTEM)
ENDING = ("events", "leases", "endpoints", "endpointslices", "controllerrevisions")
CLUSTER_GROUPS = ("", "kueue.x-k8s.io", "provisioning.berth.dev", "cloud.berth.dev", "autoscaling.x-k8s.io", "resource.k8s.io",
                  "scheduling.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io", "apiextensions.k8s.io")
OBJECT = "application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadata"
METADATA = "application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadataList"

LAST = re.compile("/api/v1/(nodes|namespaces)/[^/]+")
CLEAN_SECONDS = 90

_current = None


class SharedPlane:
    def __init__(self):
        self.folder = scratch_folder("berth-cluster-")
        self.plane = ControlPlane(self.folder, parent_ends_all=True)
        self.plane.start()
        self.connection = http.client.HTTPSConnection(
            "127.0.0.1", self.plane.ports["kube-apiserver"], timeout=60, context=self.plane.trust())
        self.installation = Installation(self.plane)
        self.installation.apply_manifests()
        self.installed = self.objects()

    def call(self, method, path, accept="application/json"):
        """The answer as JSON; None where the object or the kind is not there."""
        def answer():
            try:
                self.connection.request(method, path, headers={"Authorization": f"Bearer {ADMIN_TOKEN}", "Accept": accept})
                response = self.connection.getresponse()
                body = response.read()
            except (ConnectionError, http.client.HTTPException):  # the server closes a connection that is not used
                self.connection.close()
                return None
            return response.status != 429 and (response.status, body)  # 429: the server loads the objects of a new definition
        status, body = self.plane.wait_until(answer, f"{method} {path} is possible")
        if status >= 400 and status not in (404, 405, 503):  # 503: an aggregated API without its server
            raise AssertionError(f"{method} {path}: {status}\n{body.decode()}")
        return json.loads(body) if status < 400 else None

    def collections(self):
        """(the path of the group's version, the resource, whether its objects have namespaces) of what tests may make."""
        for root in ("/api", "/apis"):
            for name, versions in itertools.groupby(versions_of(root, self.call("GET", root, DISCOVERY)), key=lambda each: each[0]):
                _, prefix, resources = next(versions)  # the preferred one
                for resource in resources:
                    namespaced = resource["scope"] == "Namespaced"
                    if ({"list", "delete"} <= set(resource["verbs"]) and resource["resource"] not in ENDING
                            and (namespaced or name in CLUSTER_GROUPS)):
                        yield prefix, resource["resource"], namespaced

    def objects(self):
        """Paths of what tests may have made."""
        found = set()
        for prefix, resource, namespaced in self.collections():
            for one in (self.call("GET", f"{prefix}/{resource}", METADATA) or {}).get("items") or []:
                name, namespace = one["metadata"]["name"], one["metadata"].get("namespace")
                if name not in OF_THE_CLUSTER and not name.startswith("system") and namespace not in SYSTEM:
                    found.add(f"{prefix}/namespaces/{namespace}/{resource}/{name}" if namespaced else f"{prefix}/{resource}/{name}")
        return found

    def made(self):
        """What is not part of the installation."""
        return self.objects() - self.installed

    def clean(self):
        """Nodes and namespaces are deleted last: kwok ends pods on its nodes alone, and a namespace with pods stays for long."""
        deadline = time.monotonic() + CLEAN_SECONDS
        while made := self.made():
            paths = sorted({path for path in made if not LAST.fullmatch(path)} or made)
            for path in paths:
                self.call("DELETE", path + "?propagationPolicy=Background")
            self.plane.wait_until(lambda: not any(self.call("GET", path, OBJECT) for path in paths),
                                  f"{len(paths)} objects are deleted, among them {paths[:5]}", seconds=deadline - time.monotonic())

    def end(self):
        self.installation.stop()
        self.connection.close()
        self.plane.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def take():
    """(ControlPlane, Installation) of the process, without what earlier classes have made."""
    global _current
    if _current is not None:
        try:
            _current.clean()
            _current.installation.stop(signal.SIGTERM)  # gives the lease back
        except AssertionError as stays:
            print(f"{stays}; the next class gets another control plane", file=sys.stderr)
            discard()
    if _current is None:
        _current = SharedPlane()
        atexit.register(discard)
    return _current.plane, _current.installation


def discard():
    global _current
    atexit.unregister(discard)
    _current.end()
    _current = None
