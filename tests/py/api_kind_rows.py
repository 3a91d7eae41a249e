"""Rows of api_rows.py about kinds that `berth up` stores and validates: defaults, and the words against frequent
mistakes."""

MERGE, PLAIN = "application/merge-patch+json", "application/json"


def named(group, kind, body, version="v1"):
    return {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": "k"}, **body}


def paths(group, plural, version="v1", namespaced=True):
    return f"/apis/{group}/{version}/" + ("namespaces/default/" if namespaced else "") + plural


INGRESSES = paths("networking.k8s.io", "ingresses")
INGRESS_CLASSES = paths("networking.k8s.io", "ingressclasses", namespaced=False)
POLICIES = paths("networking.k8s.io", "networkpolicies")
AUTOSCALERS = paths("autoscaling", "horizontalpodautoscalers", "v2")
STORAGE_CLASSES = paths("storage.k8s.io", "storageclasses", namespaced=False)
DRIVERS = paths("storage.k8s.io", "csidrivers", namespaced=False)
CSI_NODES = paths("storage.k8s.io", "csinodes", namespaced=False)
CAPACITIES = paths("storage.k8s.io", "csistoragecapacities")
ATTACHMENTS = paths("storage.k8s.io", "volumeattachments", namespaced=False)
ATTRIBUTES = paths("storage.k8s.io", "volumeattributesclasses", namespaced=False)
RUNTIMES = paths("node.k8s.io", "runtimeclasses", namespaced=False)
COLLECTIONS = [INGRESSES, INGRESS_CLASSES, POLICIES, AUTOSCALERS, STORAGE_CLASSES, DRIVERS, CSI_NODES, CAPACITIES,
               ATTACHMENTS, ATTRIBUTES, RUNTIMES]


def created(path, body):
    return ("POST", path, body, PLAIN)


def merged(path, body):
    return ("PATCH", path + "/k", body, MERGE)


def replaced(path, body):
    return ("PUT", path + "/k", body, PLAIN)


def ingress(*path_list, **spec):
    rules = [{"host": "a.example.com", "http": {"paths": list(path_list)}}] if path_list else []
    return named("networking.k8s.io", "Ingress", {"spec": {**({"rules": rules} if rules else {}), **spec}})


def http_path(path="/", **more):
    return {"path": path, "pathType": "Prefix",
            "backend": {"service": {"name": "web", "port": {"number": 80}}}, **more}


def policy(**spec):
    return named("networking.k8s.io", "NetworkPolicy", {"spec": {"podSelector": {}, **spec}})


def autoscaler(**spec):
    return named("autoscaling", "HorizontalPodAutoscaler", {"spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 3, **spec}},
        "v2")


def metric(kind, **source):
    return {"type": kind, kind[0].lower() + kind[1:]: source}


def storage(kind, **body):
    return named("storage.k8s.io", kind, body)


ROWS = {
    "ingresses": ("/spec", [
        created(INGRESSES, ingress()),
        created(INGRESSES, ingress(http_path("a"))),
        created(INGRESSES, ingress(http_path("/a//b"))),
        created(INGRESSES, ingress({"path": "/", "backend": {}})),
        created(INGRESSES, ingress(http_path(pathType="Some", backend={"service": {"name": "web"}}))),
        created(INGRESSES, ingress(http_path(backend={}))),
        created(INGRESSES, ingress(rules=[{"host": "10.0.0.1"}, {"host": "*.a.*"}, {"host": "A"}])),
        created(INGRESSES, ingress(http_path(), tls=[{"hosts": ["b c"], "secretName": "S"}])),
        created(INGRESSES, ingress(http_path(), ingressClassName="nginx", tls=[{"hosts": ["a.example.com"]}])),
        merged(INGRESSES, {"spec": {"rules": None}}),
        merged(INGRESSES, {"spec": {"defaultBackend": {"service": {"name": "web", "port": {
            "name": "http", "number": 80}}}}}),
    ]),
    "classes of ingresses": ("/spec", [
        created(INGRESS_CLASSES, named("networking.k8s.io", "IngressClass", {"spec": {}})),
        created(INGRESS_CLASSES, named("networking.k8s.io", "IngressClass", {"spec": {"controller": "nginx"}})),
        created(INGRESS_CLASSES, named("networking.k8s.io", "IngressClass", {"spec": {
            "controller": "a.io/b", "parameters": {"kind": "C", "name": "c"}}})),
        merged(INGRESS_CLASSES, {"spec": {"controller": "a.io/c"}}),
        merged(INGRESS_CLASSES, {"spec": {"parameters": {"scope": "Namespace"}}}),
    ]),
    "network policies": ("/spec", [
        created(POLICIES, policy(ingress=[{"from": [{}], "ports": [{"port": 0}, {"port": "a--b"}, {
            "protocol": "X", "endPort": 5}]}])),
        created(POLICIES, policy(egress=[{"to": [{"ipBlock": {"cidr": "10.0.0.1"}}, {"ipBlock": {
            "cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}}, {"ipBlock": {"cidr": "10.0.0.0/8"},
                                                                "podSelector": {}}]}])),
        created(POLICIES, policy(policyTypes=["Both"])),
        created(POLICIES, policy(egress=[{"ports": [{"port": 53}]}])),
        merged(POLICIES, {"spec": {"policyTypes": ["Egress"]}}),
    ]),
    "autoscalers": ("/spec", [
        created(AUTOSCALERS, autoscaler(maxReplicas=0)),
        created(AUTOSCALERS, autoscaler(minReplicas=5, scaleTargetRef={"kind": "", "name": "a/b"})),
        created(AUTOSCALERS, autoscaler(metrics=[{"type": "Nope"}, {"type": "Pods"}, metric(
            "Resource", name="cpu", target={"type": "Utilization"})])),
        created(AUTOSCALERS, autoscaler(metrics=[metric("External", metric={"name": ""}, target={
            "type": "Value", "value": "0", "averageValue": "1"})])),
        created(AUTOSCALERS, autoscaler(behavior={"scaleUp": {"policies": [{
            "type": "Some", "value": 0, "periodSeconds": 2000}], "stabilizationWindowSeconds": 4000}})),
        created(AUTOSCALERS, autoscaler(behavior={"scaleDown": {"selectPolicy": "Min"}})),
        ("PATCH", AUTOSCALERS + "/k/status", {"status": {"desiredReplicas": 2, "currentReplicas": 1}}, MERGE),
    ]),
    "classes of storage": ("/volumeBindingMode", [
        created(STORAGE_CLASSES, storage("StorageClass")),
        created(STORAGE_CLASSES, storage("StorageClass", provisioner="a b", reclaimPolicy="Keep")),
        created(STORAGE_CLASSES, storage("StorageClass", provisioner="a.io/b")),
        merged(STORAGE_CLASSES, {"provisioner": "a.io/c", "reclaimPolicy": "Retain", "parameters": {"a": "b"}}),
        merged(STORAGE_CLASSES, {"allowVolumeExpansion": True}),
        created(ATTRIBUTES, storage("VolumeAttributesClass", driverName="a.io")),
        created(ATTRIBUTES, storage("VolumeAttributesClass", driverName="a.io", parameters={"a": "b"})),
        merged(ATTRIBUTES, {"driverName": "b.io"}),
    ]),
    "drivers of storage": ("/spec", [
        created(DRIVERS, storage("CSIDriver", spec={"fsGroupPolicy": "Some", "volumeLifecycleModes": ["Now"]})),
        created(DRIVERS, storage("CSIDriver", spec={"tokenRequests": [{"audience": "", "expirationSeconds": 1},
                                                                      {"audience": ""}]})),
        created(DRIVERS, storage("CSIDriver", spec={})),
        merged(DRIVERS, {"spec": {"volumeLifecycleModes": ["Ephemeral"]}}),
        replaced(DRIVERS, storage("CSIDriver", spec={})),
        created(CSI_NODES, storage("CSINode", spec={"drivers": [{"name": "", "nodeID": ""}]})),
        created(CSI_NODES, storage("CSINode", spec={"drivers": [{"name": "a.io", "nodeID": "n"}]})),
        merged(CSI_NODES, {"spec": {"drivers": [{"name": "a.io", "nodeID": "m"}]}}),
        created(CAPACITIES, storage("CSIStorageCapacity", storageClassName="UP", capacity="-1Gi")),
        created(CAPACITIES, storage("CSIStorageCapacity", storageClassName="c", capacity="1024Mi")),
        merged(CAPACITIES, {"storageClassName": "d"}),
        created(ATTACHMENTS, storage("VolumeAttachment", spec={"attacher": "", "nodeName": "n", "source": {}})),
        created(ATTACHMENTS, storage("VolumeAttachment", spec={"attacher": "a.io", "nodeName": "n", "source": {
            "persistentVolumeName": "v"}})),
        merged(ATTACHMENTS, {"spec": {"nodeName": "m"}}),
        ("PATCH", ATTACHMENTS + "/k/status", {"status": {"attached": True}}, MERGE),
    ]),
    "classes of runtimes": ("/handler", [
        created(RUNTIMES, named("node.k8s.io", "RuntimeClass", {})),
        created(RUNTIMES, named("node.k8s.io", "RuntimeClass", {"handler": "UP"})),
        created(RUNTIMES, named("node.k8s.io", "RuntimeClass", {"handler": "runc"})),
        merged(RUNTIMES, {"handler": "other"}),
    ]),
}
