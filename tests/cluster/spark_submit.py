#!/usr/bin/env python3
"""Plays `spark-submit` in cluster mode, as Spark's documentation describes it: it makes the driver pod out of
the properties and the pod template that it is given, and a ConfigMap with the properties for the driver."""

import base64
import json
import ssl
import sys
import urllib.request
import uuid

import yaml

CONTAINER = "spark-kubernetes-driver"


def properties_of(words):
    """The values of all `--conf NAME=VALUE`."""
    return dict(value.split("=", 1) for flag, value in zip(words, words[1:]) if flag == "--conf")


def part(properties, prefix):
    return {key.removeprefix(prefix): value for key, value in properties.items()
            if key.startswith(prefix)}


def driver_of(properties):
    with open(properties["spark.kubernetes.driver.podTemplateFile"], encoding="utf-8") as file:
        pod = yaml.safe_load(file)
    pod.pop("status", None)
    meta, spec = pod.setdefault("metadata", {}), pod.setdefault("spec", {})
    meta["name"] = properties["spark.kubernetes.driver.pod.name"]
    meta["namespace"] = properties["spark.kubernetes.namespace"]
    meta["labels"] = {**(meta.get("labels") or {}),
                      **part(properties, "spark.kubernetes.driver.label."),
                      "spark-role": "driver", "spark-app-selector": "spark-" + uuid.uuid4().hex}
    meta["annotations"] = {**(meta.get("annotations") or {}),
                           **part(properties, "spark.kubernetes.driver.annotation.")}
    spec["restartPolicy"] = "Never"
    spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}),
                            **part(properties, "spark.kubernetes.node.selector.")}
    containers = spec.get("containers") or []
    own = next((each for each in containers if each["name"] == CONTAINER), {"name": CONTAINER})
    own["image"] = properties["spark.kubernetes.driver.container.image"]
    own["resources"] = {"requests": {
        "cpu": properties.get("spark.kubernetes.driver.request.cores", "1")}}
    spec["containers"] = [own, *[each for each in containers if each["name"] != CONTAINER]]
    return {"apiVersion": "v1", "kind": "Pod", **pod}


class Server:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            loaded = yaml.safe_load(file)
        cluster = loaded["clusters"][0]["cluster"]
        self.url, self.token = cluster["server"], loaded["users"][0]["user"]["token"]
        self.trust = ssl.create_default_context(
            cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())

    def create(self, resource, thing):
        request = urllib.request.Request(
            f"{self.url}/api/v1/namespaces/{thing['metadata']['namespace']}/{resource}",
            data=json.dumps(thing).encode(), method="POST",
            headers={"Authorization": "Bearer " + self.token, "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30, context=self.trust) as answer:
            return json.load(answer)


def main():
    properties = properties_of(sys.argv[1:])
    server = Server("/tmp/kubeconfig")
    driver = server.create("pods", driver_of(properties))["metadata"]
    server.create("configmaps", {
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": driver["name"] + "-conf-map", "namespace": driver["namespace"],
                     "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": driver["name"],
                                          "uid": driver["uid"], "controller": True}]},
        "data": {"spark.properties": json.dumps(properties)}})


main()
