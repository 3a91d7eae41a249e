"""Goal: the chart of charts/berth installs what kustomize installs, in the ways that the overlays have too; it is
installed, upgraded, rolled back and removed on a real API server, with the controller at work; values of Kueue's
chart are accepted by name.

Method: the helm that tools/helm builds. Rendered objects are compared with those of `kubectl kustomize`."""

import json
import os
import subprocess
import unittest

import yaml
from cluster_test import ClusterTest
from control_plane import ROOT
from installation import NAMESPACE
from scratch import temporary_folder
from test_overlays import CONFIG, DEPLOYMENT, MANIFESTS, apply_foreign_crds, by_name

HELM = os.path.join(ROOT, "build", "bin", "helm")
CHART = os.path.join(ROOT, "charts", "berth")
RELEASE = ("kueue", CHART, "--namespace", NAMESPACE)
KEEP = "helm.sh/resource-policy"

# The values that stand for an overlay, or for manifests/monitoring.
HA = """
controllerManager:
  replicas: 2
  podDisruptionBudget: {enabled: true}
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {control-plane: controller-manager}}
"""
PODS = """
managerConfig:
  controllerManagerConfigYaml: |
    apiVersion: config.kueue.x-k8s.io/v1beta2
    kind: Configuration
    health: {healthProbeBindAddress: ":8081"}
    metrics: {bindAddress: ":8443"}
    leaderElection: {leaderElect: true}
    manageJobsWithoutQueueName: false
    integrations: {frameworks: [batch/job, pod]}
"""
# The same keys as in a file of values for Kueue's chart.
KUEUE_VALUES = """
enablePrometheus: false
enableCertManager: false
enableKueueViz: false
kubernetesClusterDomain: cluster.local
controllerManager:
  featureGates: [{name: PartialAdmission, enabled: false}]
  manager:
    image: {repository: registry.example/berth, tag: v1, pullPolicy: Always}
    resources: {limits: {cpu: "2", memory: 512Mi}, requests: {cpu: 500m, memory: 512Mi}}
    podAnnotations: {a: b}
  replicas: 1
  readinessProbe: {initialDelaySeconds: 5, periodSeconds: 10, timeoutSeconds: 1, failureThreshold: 3}
  nodeSelector: {pool: system}
  tolerations: [{key: system, operator: Exists}]
mutatingWebhook: {reinvocationPolicy: IfNeeded}
metrics: {prometheusNamespace: monitoring, serviceMonitor: {tlsConfig: {insecureSkipVerify: true}}}
kueueViz: {backend: {nodeSelector: {}}}
"""
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: plain, resources: [{name: cpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: all}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: default, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]
"""


def helm(*arguments, stdin=None, check=True, environment=None):
    done = subprocess.run([HELM, *arguments], input=stdin, text=True, capture_output=True, timeout=120,
                          env=environment or {"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
                          check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"helm {' '.join(arguments)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def render(values="", namespace=NAMESPACE, chart=CHART):
    return by_name(helm("template", "kueue", chart, "--namespace", namespace, "-f", "-",
                        stdin=values or "{}").stdout)


@unittest.skipUnless(os.path.exists(HELM), "no helm: build one with tools/helm")
class ChartTest(unittest.TestCase):
    maxDiff = None

    def kustomized(self, *path):
        kubectl = os.path.join(ROOT, "build", "bin", "kubernetes", "kubectl")
        text = subprocess.run([kubectl, "kustomize", os.path.join(MANIFESTS, *path)], text=True,
                              capture_output=True, timeout=60, check=True).stdout
        return by_name(text)

    def assert_same(self, rendered, expected):
        """Equal but for the namespace, which helm creates, and the annotation that keeps CRDs."""
        expected.pop(("Namespace", NAMESPACE), None)
        self.assertEqual(set(rendered), set(expected))
        for objects in (rendered, expected):
            config = objects.get(CONFIG)
            if config:
                config["data"] = {key: yaml.safe_load(text) for key, text in config["data"].items()}
            board = objects.get(("ConfigMap", "berth-grafana-board"))
            if board:
                board["data"] = {key: json.loads(text) for key, text in board["data"].items()}
        for name, item in rendered.items():
            if item["kind"] == "CustomResourceDefinition":
                self.assertEqual(item["metadata"]["annotations"].pop(KEEP), "keep")
                if not item["metadata"]["annotations"]:
                    del item["metadata"]["annotations"]
            self.assertEqual(item, expected[name], name)

    def test_lint(self):
        done = helm("lint", CHART, "--strict")
        self.assertIn("0 chart(s) failed", done.stdout)

    def test_the_default_is_that_of_kustomize(self):
        self.assert_same(render(), self.kustomized())

    def test_values_give_the_overlays(self):
        self.assert_same(render(HA), self.kustomized("overlays", "ha"))
        self.assert_same(render("enableCertManager: true"), self.kustomized("overlays", "cert-manager"))
        self.assert_same(render("networkPolicy: {enabled: true}"),
                         self.kustomized("overlays", "network-policy"))
        self.assert_same(render("page: {enabled: true}"), self.kustomized("overlays", "page"))
        self.assert_same(render("provisioningRequests: {installCRD: false}"),
                         self.kustomized("overlays", "cluster-autoscaler"))
        self.assert_same(render("enablePrometheus: true"),
                         {**self.kustomized(), **self.kustomized("monitoring")})

    def test_the_framework_pod_brings_reviews_and_rights(self):
        self.assert_same(render(PODS), self.kustomized("overlays", "pods"))

    def test_the_frameworks_of_the_configuration_bring_reviews_and_rights(self):
        kinds = "pod, deployment, statefulset, leaderworkerset.x-k8s.io/leaderworkerset"
        self.assert_same(render(PODS.replace("pod]", kinds + "]")), self.kustomized("overlays", "serving"))
        kinds = "kubernetes.dask.org/daskcluster, kubernetes.dask.org/daskjob"
        self.assert_same(render(PODS.replace("pod]", kinds + "]")), self.kustomized("overlays", "dask"))

    def test_values_of_kueue_are_followed(self):
        objects = render(KUEUE_VALUES)
        pod = objects[DEPLOYMENT]["spec"]["template"]
        container = pod["spec"]["containers"][0]
        self.assertEqual((container["image"], container["imagePullPolicy"]),
                         ("registry.example/berth:v1", "Always"))
        self.assertEqual(container["resources"]["requests"], {"cpu": "500m", "memory": "512Mi"})
        self.assertEqual(container["readinessProbe"]["failureThreshold"], 3)
        self.assertEqual(pod["spec"]["nodeSelector"], {"pool": "system"})
        self.assertEqual(pod["metadata"]["annotations"], {"a": "b"})
        config = yaml.safe_load(objects[CONFIG]["data"]["controller_manager_config.yaml"])
        self.assertEqual(config["featureGates"], {"PartialAdmission": False})
        webhooks = objects[("MutatingWebhookConfiguration", "kueue-mutating-webhook-configuration")]
        self.assertEqual({webhook["reinvocationPolicy"] for webhook in webhooks["webhooks"]},
                         {"IfNeeded"})

    def test_the_page(self):
        viz = render("enableKueueViz: true\nkueueViz: {backend: {ingress: {enabled: true}}}")
        self.assertEqual(viz, render("page: {enabled: true}"))
        objects = render("page: {enabled: true, actions: true, clusterName: east}\nnetworkPolicy: {enabled: true}")
        container = objects[DEPLOYMENT]["spec"]["template"]["spec"]["containers"][0]
        self.assertLess({"--read-api-actions", "--cluster-name=east"}, set(container["args"]))
        self.assertIn("--ledger=/var/lib/berth/ledger.db", container["args"])
        policy = objects[("NetworkPolicy", "kueue-controller-manager")]
        self.assertEqual({port["port"] for port in policy["spec"]["ingress"][0]["ports"]},
                         {port["containerPort"] for port in container["ports"]})

    def test_readers_sign_in_at_a_provider(self):
        values = "page: {enabled: true, openId: {issuer: 'https://id', clientID: berth, ca: authorities%s}}"
        pod = render(values % ", secret: client, scopes: openid groups")[DEPLOYMENT]["spec"]["template"]["spec"]
        flags = [flag for flag in pod["containers"][0]["args"] if "openid" in flag]
        self.assertEqual(flags, ["--read-api-openid-issuer=https://id", "--read-api-openid-client=berth", "--read-api-openid-scopes=openid groups",
                                 "--read-api-openid-ca=/etc/berth-openid/ca/ca.crt",
                                 "--read-api-openid-secret-file=/etc/berth-openid/client/client-secret"])
        mounted = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
        self.assertLess({"openid-ca", "openid-client"}, mounted)
        self.assertLessEqual(mounted, {volume["name"] for volume in pod["volumes"]})
        public = render(values % "")[DEPLOYMENT]["spec"]["template"]["spec"]
        self.assertEqual([flag for flag in public["containers"][0]["args"] if "secret" in flag], [])
        self.assertNotIn("openid-client", [volume["name"] for volume in public["volumes"]])

    def test_the_service_of_the_page(self):
        service = render("page: {enabled: true, service: {type: NodePort, port: 8443, nodePort: 30443, annotations: {a: b}}}")[("Service", "berth-page")]
        self.assertEqual(service["spec"]["type"], "NodePort")
        self.assertEqual(service["spec"]["ports"], [{"name": "page", "port": 8443, "protocol": "TCP", "targetPort": 8090, "nodePort": 30443}])
        self.assertEqual(service["metadata"]["annotations"], {"a": "b"})

    def test_a_claim_keeps_the_ledger(self):
        kept = render("page: {enabled: true, ledger: {claim: history}}")[DEPLOYMENT]["spec"]
        self.assertEqual(kept["strategy"], {"type": "Recreate"})
        pod = kept["template"]["spec"]
        self.assertEqual(pod["securityContext"]["fsGroup"], 65534)
        ledger = next(volume for volume in pod["volumes"] if volume["name"] == "ledger")
        self.assertEqual(ledger, {"name": "ledger", "persistentVolumeClaim": {"claimName": "history"}})

    def test_a_packaged_chart_is_the_same(self):
        with temporary_folder("berth-chart-") as folder:
            helm("package", CHART, "--destination", folder)
            name, = os.listdir(folder)
            self.assertEqual(render("enablePrometheus: true", chart=os.path.join(folder, name)),
                             render("enablePrometheus: true"))

    def test_another_namespace(self):
        objects = render("enableCertManager: true", namespace="queues")
        self.assertNotIn(NAMESPACE, json.dumps(list(objects.values())))
        config = yaml.safe_load(objects[CONFIG]["data"]["controller_manager_config.yaml"])
        self.assertEqual(config["namespace"], "queues")

    def test_what_the_chart_cannot_do_is_refused(self):
        for values, words in (("enableVisibilityAPF: true", "enableVisibilityAPF: the chart has no FlowSchema"),
                              ("page: {actions: true}", "page.actions: the page is off"),
                              ("page: {openId: {issuer: 'https://id'}}", "page.openId.issuer: the page is off"),
                              ("page: {enabled: true, openId: {issuer: 'https://id'}}", "page.openId.clientID"),
                              ("page: {enabled: true, openId: {issuer: 'https://id', clientID: b}}", "page.openId.ca"),
                              ("page: {enabled: true, service: {type: Other}}", "type"),
                              ("page: {ledger: {claim: history}}", "page.ledger.claim: the page is off"),
                              ("page: {enabled: true, ledger: {claim: history}}\ncontrollerManager: {replicas: 2}",
                               "page.ledger.claim: several replicas"),
                              ("fullnameOverride: mine", "fullnameOverride"),
                              ("controllerManager: {replica: 2}", "replica"),
                              ("managerConfig: {controllerManagerConfigYaml: '{'}\n"
                               "enableCertManager: true", "controllerManagerConfigYaml")):
            done = helm("template", "kueue", CHART, "-f", "-", stdin=values, check=False)
            self.assertNotEqual(done.returncode, 0, values)
            self.assertIn(words, done.stderr)


@unittest.skipUnless(os.path.exists(HELM), "no helm: build one with tools/helm")
class ReleaseTest(ClusterTest):
    @classmethod
    def helm(cls, *arguments, stdin=None):
        return helm(*arguments, stdin=stdin, environment={
            "PATH": os.environ["PATH"], "HOME": cls.plane.folder, "KUBECONFIG": cls.plane.kubeconfig})

    @classmethod
    def apply_manifests(cls):
        apply_foreign_crds(cls.plane)
        cls.helm("install", *RELEASE, "--create-namespace")
        cls.berth.lead_services()

    def run_job(self, name):
        self.apply_when_accepted(JOB % name)
        self.plane.kubectl("wait", "--for=condition=Complete", f"job/{name}", "--timeout=180s", seconds=200)

    def authorities(self):
        """The CA in every webhook."""
        return {webhook["clientConfig"].get("caBundle")
                for kind in ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")
                for item in self.plane.items(kind) for webhook in item.get("webhooks", [])}

    def replicas(self):
        return self.plane.get("deployment", "kueue-controller-manager", "-n",
                              NAMESPACE)["spec"]["replicas"]

    def test_life_of_a_release(self):
        self.apply_when_accepted(QUEUES)
        self.run_job("installed")
        authorities = self.authorities()
        self.assertEqual(len(authorities), 1)
        self.assertNotIn(None, authorities)

        # The Services belong to the test: helm has to take them.
        self.helm("upgrade", *RELEASE, "-f", "-", "--force-conflicts", stdin=HA)
        self.berth.lead_services()
        self.assertEqual(self.replicas(), 2)
        self.assertEqual(self.authorities(), authorities)
        self.run_job("upgraded")

        self.helm("rollback", "kueue", "1", "--namespace", NAMESPACE, "--force-conflicts")
        self.berth.lead_services()
        self.assertEqual(self.replicas(), 1)
        self.assertIsNone(self.plane.get("pdb", "kueue-controller-manager", "-n", NAMESPACE))
        self.assertEqual(self.authorities(), authorities)
        self.run_job("rolled-back")

        # Queues and Workloads stay: their CRDs do.
        self.helm("uninstall", "kueue", "--namespace", NAMESPACE)
        self.assertIsNone(self.plane.get("deployment", "kueue-controller-manager", "-n", NAMESPACE))
        self.assertIsNotNone(self.plane.get("clusterqueue", "all"))
        self.assertEqual(len(self.plane.items("workloads", "-n", "default")), 3)
