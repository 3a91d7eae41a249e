"""Goal: the overlay `production` works: two replicas with a certificate that another program makes and whose CA that
program writes into webhooks and CRDs; the controller makes no certificate of its own.

Method: the test is cert-manager: it follows the overlay's Certificate and annotations, with openssl."""

import base64
import json
import os

from cluster_test import ClusterTest
from control_plane import NEW_KEY
from installation import NAMESPACE
from test_overlays import CONFIG, MANIFESTS, apply_foreign_crds, by_name

INJECT = "cert-manager.io/inject-ca-from"
QUEUES = os.path.join(MANIFESTS, "samples", "two-teams", "queues.yaml")
OLD_VERSION = os.path.join(MANIFESTS, "samples", "dws", "queues-v1beta1.yaml")
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: small, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: a-queue}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}]
"""


class ProductionTest(ClusterTest):
    @classmethod
    def apply_manifests(cls):
        apply_foreign_crds(cls.plane)
        super().apply_manifests()
        cls.plane.kubectl("apply", "--server-side", "--force-conflicts", "-k", cls.overlay())
        cls.berth.lead_services()

    @staticmethod
    def overlay():
        return os.path.join(MANIFESTS, "overlays", "production")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.controller.end()
        cls.berth.controllers.clear()
        cls.certificate = cls.plane.get("certificate", "kueue-serving-cert", "-n", NAMESPACE)
        cls.plane.kubectl("delete", "secret", "kueue-webhook-server-cert", "-n", NAMESPACE,
                          "--ignore-not-found")
        flags = ["--config", cls.write_configuration(cls.make_certificate())]
        cls.controller = cls.berth.start("first", flags)
        cls.second = cls.berth.start("second", flags)
        cls.inject()

    @classmethod
    def make_certificate(cls):
        """Issues what the Certificate asks for; returns the folder, which the pod would mount."""
        folder = cls.plane.file("serving")
        os.mkdir(folder)
        cls.plane.make_authority("cm-ca")
        names = ",".join("DNS:" + name for name in cls.certificate["spec"]["dnsNames"])
        cls.plane.openssl("req", "-x509", *NEW_KEY, "-subj", "/CN=kueue", "-CA", "cm-ca.crt", "-CAkey",
                          "cm-ca.key", "-addext", "subjectAltName=" + names, "-addext",
                          "extendedKeyUsage=serverAuth", "-keyout", os.path.join(folder, "tls.key"),
                          "-out", os.path.join(folder, "tls.crt"))
        return folder

    @classmethod
    def write_configuration(cls, folder):
        text = by_name(cls.plane.kubectl("kustomize", cls.overlay()).stdout)[CONFIG]["data"]
        return cls.plane.write("production.yaml", text["controller_manager_config.yaml"] +
                               f"webhook: {{certDir: {folder}}}\n")

    @classmethod
    def inject(cls):
        """Writes the CA where an annotation asks for it."""
        with open(cls.plane.file("cm-ca.crt"), "rb") as file:
            authority = base64.b64encode(file.read()).decode()
        cls.injected = 0
        for kind in ("mutatingwebhookconfiguration", "validatingwebhookconfiguration", "crd", "apiservice"):
            for item in cls.plane.items(kind):
                wanted = item["metadata"].get("annotations", {}).get(INJECT)
                if wanted != NAMESPACE + "/kueue-serving-cert":
                    continue
                cls.injected += 1
                cls.berth.patch(kind, item["metadata"]["name"], "json", [
                    {"op": "add", "path": path + "/caBundle", "value": authority}
                    for path in cls.clients_of(item)])

    @staticmethod
    def clients_of(item):
        if item["kind"] == "APIService":
            return ["/spec"]
        if item["kind"] == "CustomResourceDefinition":
            return ["/spec/conversion/webhook/clientConfig"]
        return [f"/webhooks/{index}/clientConfig" for index in range(len(item.get("webhooks", [])))]

    def test_it_queues_with_the_certificate_of_another_program(self):
        wanted = self.plane.kubectl("kustomize", self.overlay()).stdout.count(INJECT + ":")
        self.assertEqual(self.injected, wanted)
        with open(QUEUES, encoding="utf-8") as file:
            self.apply_when_accepted(file.read())
        self.plane.kubectl("apply", "-f", OLD_VERSION)  # conversion has the CA too
        self.plane.kubectl("create", "-f", "-", stdin=JOB)
        self.plane.kubectl("label", "node", "--all", "cloud.google.com/gke-accelerator=nvidia-tesla-t4")
        self.plane.kubectl("wait", "--for=condition=Complete", "job/small", "-n", "team-a",
                           "--timeout=180s", seconds=200)
        # The controller has written neither a Secret nor a CA.
        self.assertIsNone(self.plane.get("secret", "kueue-webhook-server-cert", "-n", NAMESPACE))
        managers = {entry["manager"] for kind in ("mutatingwebhookconfiguration", "crd")
                    for item in json.loads(self.plane.kubectl(
                        "get", kind, "-o", "json", "--show-managed-fields").stdout)["items"]
                    if INJECT in item["metadata"].get("annotations", {})
                    for entry in item["metadata"]["managedFields"]
                    if "caBundle" in json.dumps(entry.get("fieldsV1", {}))}
        self.assertEqual(managers, {"kubectl-patch"})
