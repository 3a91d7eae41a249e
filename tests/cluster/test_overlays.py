"""Goal: every kustomization that people install is accepted by a real API server, also when it is applied again,
and changes what its name says and nothing else.

Method: kubectl's own kustomize and server-side apply. The kinds of cert-manager and of the Prometheus operator
are CRDs without rules."""

import json
import os
import re
import subprocess
import time

import yaml
from cluster_test import ClusterTest
from control_plane import ROOT
from established import wait_established
from installation import BERTH, NAMESPACE

MANIFESTS = os.path.join(ROOT, "manifests")
DEPLOYMENT = ("Deployment", "kueue-controller-manager")
CONFIG = ("ConfigMap", "kueue-manager-config")
FOREIGN = {"cert-manager.io": {"Issuer": "v1", "Certificate": "v1"},
           "monitoring.coreos.com": {"PrometheusRule": "v1", "ServiceMonitor": "v1"}}


FIRST_WITHOUT_UNSERVED_CACHES = 35  # minor of Kubernetes
QUEUE_OF_OVERLAYS = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: of-overlays}
spec: {namespaceSelector: {}}
"""


def foreign_crds():
    """CRDs that accept everything, of kinds that other programs install."""
    for group, kinds in FOREIGN.items():
        for kind, version in kinds.items():
            plural = kind.lower() + "s"
            yield {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                   "metadata": {"name": f"{plural}.{group}"},
                   "spec": {"group": group, "scope": "Namespaced",
                            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                            "versions": [{"name": version, "served": True, "storage": True, "schema": {
                                "openAPIV3Schema": {
                                    "type": "object",
                                    "x-kubernetes-preserve-unknown-fields": True}}}]}}


def apply_foreign_crds(plane):
    plane.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(foreign_crds())}))
    wait_established(plane.kubectl, *(f"{kind.lower()}s.{group}" for group, kinds in FOREIGN.items() for kind in kinds))


def by_name(text):
    """(kind, name) -> object, of a stream of YAML documents."""
    return {(item["kind"], item["metadata"]["name"]): item
            for item in yaml.safe_load_all(text) if item}


class OverlaysTest(ClusterTest):
    @classmethod
    def apply_manifests(cls):
        apply_foreign_crds(cls.plane)
        super().apply_manifests()

    def kustomize(self, *path):
        return self.plane.kubectl("kustomize", os.path.join(MANIFESTS, *path)).stdout

    def install_twice(self, *path):
        """Returns the objects of the kustomization."""
        text = self.kustomize(*path)
        objects = by_name(text)
        flags = ("apply", "--server-side", "--force-conflicts", "-k", os.path.join(MANIFESTS, *path))
        self.plane.kubectl(*flags)
        first = self.versions(text)
        again = self.plane.kubectl(*flags)
        self.assertEqual(again.stderr, "")
        self.assertEqual(len(again.stdout.splitlines()), len(objects))
        self.assertEqual(self.versions(text), first)
        return objects

    def versions(self, text):
        """What the API server counts of each object's changes; of status it does not where there is a
        generation."""
        stored = json.loads(self.plane.kubectl("get", "-f", "-", "-o", "json", stdin=text).stdout)
        # Roles that aggregate others are filled by a controller, webhooks and APIServices by Berth.
        return {(item["kind"], item["metadata"]["name"]):
                item["metadata"].get("generation", item["metadata"]["resourceVersion"])
                for item in stored["items"] if "aggregationRule" not in item
                and not item["kind"].endswith("WebhookConfiguration")
                and item["kind"] not in ("CustomResourceDefinition", "Namespace", "APIService")}

    def changed(self, objects):
        """Names of the objects that differ from the default's, and of those that are new."""
        plain = by_name(self.kustomize())
        self.assertLessEqual(set(plain), set(objects))
        return ({name for name in plain if objects[name] != plain[name]}, set(objects) - set(plain))

    def pod_of(self, objects):
        return objects[DEPLOYMENT]["spec"]["template"]["spec"]

    def test_default(self):
        objects = self.install_twice()
        self.assertEqual(self.changed(objects), (set(), set()))
        # The strictest of Kubernetes' profiles admits the pod.
        done = self.plane.kubectl("label", "--dry-run=server", "namespace", NAMESPACE,
                                  "pod-security.kubernetes.io/enforce=restricted")
        self.assertNotIn("Warning", done.stderr)

    def test_ha(self):
        objects = self.install_twice("overlays", "ha")
        self.assertEqual(self.changed(objects),
                         ({DEPLOYMENT}, {("PodDisruptionBudget", "kueue-controller-manager")}))
        self.assertEqual(objects[DEPLOYMENT]["spec"]["replicas"], 2)

        def covered():
            budget = self.plane.get("pdb", "kueue-controller-manager", "-n", NAMESPACE)
            return budget["status"].get("expectedPods") == 2
        self.plane.wait_until(covered, "the budget counts both replicas")

    def test_cert_manager(self):
        objects = self.install_twice("overlays", "cert-manager")
        changed, new = self.changed(objects)
        self.assertEqual(new, {("Issuer", "kueue-selfsigned-issuer"),
                               ("Certificate", "kueue-serving-cert")})
        converted = {name for name, item in objects.items()
                     if item["kind"] == "CustomResourceDefinition" and "conversion" in item["spec"]}
        webhooks = {name for name in objects
                    if name[0].endswith("WebhookConfiguration") or name[0] == "APIService"}
        self.assertEqual(changed, converted | webhooks | {DEPLOYMENT, CONFIG})
        for name in converted | webhooks:
            self.assertEqual(objects[name]["metadata"]["annotations"]["cert-manager.io/inject-ca-from"],
                             f"{NAMESPACE}/kueue-serving-cert")
        mounts = {mount["mountPath"] for mount in self.pod_of(objects)["containers"][0]["volumeMounts"]}
        self.assertEqual(mounts, {"/etc/berth", "/tmp/k8s-webhook-server/serving-certs"})
        # Its text repeats the default's with one field more.
        key = "controller_manager_config.yaml"
        plain = yaml.safe_load(by_name(self.kustomize())[CONFIG]["data"][key])
        self.assertEqual(yaml.safe_load(objects[CONFIG]["data"][key]),
                         {**plain, "internalCertManagement": {"enable": False}})
        path = self.plane.write("cert-manager.yaml", objects[CONFIG]["data"][key])
        done = subprocess.run([BERTH, "version", "--config", path], text=True, capture_output=True,
                              timeout=60, check=False, env={"HOME": self.plane.folder})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_pods_and_serving(self):
        webhooks = {("MutatingWebhookConfiguration", "kueue-mutating-webhook-configuration"),
                    ("ValidatingWebhookConfiguration", "kueue-validating-webhook-configuration")}
        roles = {("ClusterRole", "kueue-pods-role"), ("ClusterRoleBinding", "kueue-pods-rolebinding")}
        for overlay, new, kinds in (("pods", roles, {"pod"}),
                                    ("serving", roles | {("ClusterRole", "kueue-serving-role")},
                                     {"pod", "deployment", "statefulset", "leaderworkerset"})):
            objects = self.install_twice("overlays", overlay)
            self.assertEqual(self.changed(objects), (webhooks | {CONFIG}, new))
            plain = by_name(self.kustomize())
            for name in webhooks:
                added = {each["name"][1:].removesuffix(".kb.io")
                         for each in objects[name]["webhooks"] if each not in plain[name]["webhooks"]}
                self.assertLessEqual(kinds, added, name)

    def test_network_policy(self):
        objects = self.install_twice("overlays", "network-policy")
        policy = ("NetworkPolicy", "kueue-controller-manager")
        self.assertEqual(self.changed(objects), (set(), {policy}))
        opened = {port["port"] for port in objects[policy]["spec"]["ingress"][0]["ports"]}
        listening = {port["containerPort"] for port in self.pod_of(objects)["containers"][0]["ports"]}
        self.assertEqual(opened, listening)

    def test_page(self):
        objects = self.install_twice("overlays", "page")
        service = ("Service", "berth-page")
        self.assertEqual(self.changed(objects), ({DEPLOYMENT}, {service}))
        container = self.pod_of(objects)["containers"][0]
        port = objects[service]["spec"]["ports"][0]["targetPort"]
        self.assertIn(f"--read-api-listen=:{port}", container["args"])
        self.assertIn(port, [each["containerPort"] for each in container["ports"]])
        known = subprocess.run([BERTH, "controller", "--help"], text=True, capture_output=True, timeout=60, check=True).stdout
        for argument in container["args"][1:]:
            self.assertIn(argument.split("=")[0] + " ", known)
        # The sessions, and the ledger without which there are no histories and reports, are written.
        files = [each.split("=")[1] for each in container["args"] if each.startswith(("--read-api-sessions=", "--ledger="))]
        mounts = [mount for mount in container["volumeMounts"] if not mount.get("readOnly")]
        self.assertEqual([mount["mountPath"] for mount in mounts], [os.path.dirname(file) for file in files])
        self.assertEqual(len(files), 2)
        volumes = {volume["name"]: volume for volume in self.pod_of(objects)["volumes"]}
        for mount in mounts:
            self.assertIn("emptyDir", volumes[mount["name"]])
        # The strictest of Kubernetes' profiles admits the pod.
        done = self.plane.kubectl("label", "--dry-run=server", "namespace", NAMESPACE,
                                  "pod-security.kubernetes.io/enforce=restricted")
        self.assertNotIn("Warning", done.stderr)

    def test_cluster_autoscaler(self):
        objects = self.install_twice("overlays", "cluster-autoscaler")
        crd = ("CustomResourceDefinition", "provisioningrequests.autoscaling.x-k8s.io")
        plain = by_name(self.kustomize())
        del plain[crd]
        self.assertEqual(objects, plain)

    def test_v1beta2_only(self):
        objects = self.install_twice("overlays", "v1beta2-only")
        changed, new = self.changed(objects)
        self.assertEqual(new, set())
        self.assertEqual(changed, {name for name in objects if name[0] == "CustomResourceDefinition" and
                                   name[1].endswith(".kueue.x-k8s.io")})
        for name in changed:
            served = {version["name"]: version["served"] for version in objects[name]["spec"]["versions"]}
            self.assertEqual(served, {"v1beta1": False, "v1beta2": True}, name)
        self.plane.wait_until(lambda: self.plane.kubectl("get", "clusterqueues.v1beta1.kueue.x-k8s.io",
                                                         check=False).returncode != 0, "v1beta1 goes")
        # Kubernetes before 1.35 keeps watch caches for versions that are not served, and converts for these.
        minor = json.loads(self.plane.kubectl("get", "--raw", "/version").stdout)["minor"]
        if int(minor.rstrip("+")) >= FIRST_WITHOUT_UNSERVED_CACHES:
            self.check_nothing_is_converted()

    def check_nothing_is_converted(self):
        self.plane.apply(QUEUE_OF_OVERLAYS)
        self.plane.wait_until(self.no_conversions, "the old version's caches are gone")
        before = self.conversions()
        self.plane.kubectl("label", "--overwrite", "clusterqueue/of-overlays", "seen=yes")
        self.plane.kubectl("label", "--overwrite", "clusterqueue/of-overlays", "seen=again")
        self.assertEqual(self.conversions(), before)
        self.plane.kubectl("delete", "clusterqueue/of-overlays")

    def no_conversions(self):
        known = self.conversions()
        self.plane.kubectl("annotate", "--overwrite", "clusterqueue/of-overlays", f"seen={time.monotonic()}")
        return self.conversions() == known

    def conversions(self):
        text = self.plane.kubectl("get", "--raw", "/metrics").stdout
        return re.findall(r"^apiserver_crd_conversion_webhook_duration_seconds_count.*", text, re.MULTILINE)

    def test_production_combines_them(self):
        combined = self.install_twice("overlays", "production")
        names = set()
        for overlay in ("ha", "cert-manager", "network-policy"):
            names |= set(by_name(self.kustomize("overlays", overlay)))
        self.assertEqual(set(combined), names)

    def test_monitoring(self):
        objects = self.install_twice("monitoring")
        self.assertEqual({kind for kind, _ in objects},
                         {"PrometheusRule", "ServiceMonitor", "ConfigMap", "ClusterRoleBinding"})
