"""Kubeflow's Spark operator as its makers publish it (tools/operators builds it), with its webhooks, on a
control plane of the tests.

Spark itself is played: `spark-submit`, which the operator runs for each application, is
spark_submit.py; Driver makes the executors, as a driver of Spark does once it runs."""

import json
import os
import shutil

from operators import NAMESPACE, NO_SERVERS, Operator
from played_operator import PlayedOperator

HERE = os.path.dirname(os.path.abspath(__file__))

SECRET = "spark-operator-webhook-certs"
PODS = "mutate-pod.sparkoperator.k8s.io"


class Webhook(Operator):
    """The operator's webhooks, a process of its own. It makes its certificate for the name localhost."""

    host = "localhost"

    def authority(self):
        return self.plane.get("secret", SECRET, "-n", NAMESPACE)["data"]["ca-cert.pem"]

    def adapt(self, webhook):
        if webhook["name"] == PODS:
            webhook["objectSelector"] = {"matchLabels": {
                "sparkoperator.k8s.io/launched-by-spark-operator": "true"}}


def make(plane, berth):
    """The operator and its webhooks, for jobs of the namespace default."""
    controller = Operator(plane, berth, "spark-operator", [*NO_SERVERS, "--namespaces=default"],
                          command=("controller", "start")).install()
    programs = os.path.join(controller.tmp, "spark", "bin")
    os.makedirs(programs)
    shutil.copy(os.path.join(HERE, "spark_submit.py"), os.path.join(programs, "spark-submit"))
    os.chmod(os.path.join(programs, "spark-submit"), 0o755)
    controller.environment = {"SPARK_HOME": "/tmp/spark", "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                              "KUBERNETES_SERVICE_PORT": str(plane.ports["kube-apiserver"])}
    webhook = Webhook(plane, berth, "spark-webhook", [
        *NO_SERVERS, "--namespaces=default", "--webhook-port={port}",
        "--webhook-cert-dir=/tmp/certificates", f"--webhook-secret-name={SECRET}",
        f"--webhook-secret-namespace={NAMESPACE}"], command=("webhook", "start"),
        program="spark-operator")
    return controller, webhook


class Driver(PlayedOperator):
    """What the program in a driver pod does: it makes its executors."""

    def __init__(self, plane):
        super().__init__(plane, "pods")

    def look(self, item):
        meta = item["metadata"]
        if meta.get("labels", {}).get("spark-role") != "driver" or "deletionTimestamp" in meta:
            return
        if item["status"].get("phase") != "Running":
            return
        stored = self.plane.get("configmap", meta["name"] + "-conf-map", "-n", meta["namespace"])
        if stored is None:
            return
        properties = json.loads(stored["data"]["spark.properties"])
        for number in range(1, int(properties.get("spark.executor.instances", "2")) + 1):
            self.plane.kubectl("create", "-f", "-", check=False,
                               stdin=json.dumps(self.executor(item, properties, number)))

    @staticmethod
    def executor(driver, properties, number):
        def part(prefix):
            return {key.removeprefix(prefix): value for key, value in properties.items()
                    if key.startswith(prefix)}
        meta = driver["metadata"]
        return {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": f"{meta['name'].removesuffix('-driver')}-exec-{number}",
                "namespace": meta["namespace"],
                "labels": {**part("spark.kubernetes.executor.label."), "spark-role": "executor",
                           "spark-exec-id": str(number),
                           "spark-app-selector": meta["labels"]["spark-app-selector"]},
                "annotations": part("spark.kubernetes.executor.annotation."),
                "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": meta["name"],
                                     "uid": meta["uid"], "controller": True}]},
            "spec": {
                "restartPolicy": "Never", "nodeSelector": part("spark.kubernetes.node.selector."),
                "containers": [{
                    "name": "spark-kubernetes-executor",
                    "image": properties["spark.kubernetes.executor.container.image"],
                    "resources": {"requests": {
                        "cpu": properties["spark.kubernetes.executor.request.cores"]}}}]}}
