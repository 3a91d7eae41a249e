"""The rights that the controller used on a control plane, by kube-apiserver's audit log, against those of a component.

`update` of `…/finalizers` is no request: OwnerReferencesPermissionEnforcement asks for it when an owner is named."""

import json
import os

from control_plane import ROOT
from rbac import installed_rights, read_roles, text_of

ACCOUNT = "kueue-controller-manager"
# (group, resource, verb) that no test of the component reaches.
NOT_REACHED = {("apps", "deployments", "get"): "read again after a deletion without an answer",
               ("kubernetes.dask.org", "daskworkergroups", "get"): "read again after a write without an answer"}
RBAC = os.path.join(ROOT, "manifests", "rbac")


def used(log_path):
    """(group, resource, verb) of the controller's requests; raises where one was refused for lack of a right."""
    rights = set()
    with open(log_path, encoding="utf-8") as log:
        for line in log:
            event = json.loads(line)
            about = event.get("objectRef", {})
            resource = "/".join(part for part in (about.get("resource"), about.get("subresource")) if part)
            rights.add((about.get("apiGroup", ""), resource, event["verb"]))
            if event.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid":
                raise AssertionError(f"not allowed: {event['verb']} {event['requestURI']}")
    return rights


def unused(log_path, component):
    """Texts of the rights of the component's role that no request used, and of those that all installations have."""
    roles = read_roles(os.path.join(ROOT, "manifests", "components", component, "role.yaml"))
    seen = used(log_path) | set(NOT_REACHED)
    known = {(right.group, right.resource, right.verb) for right in installed_rights(ACCOUNT, RBAC)}
    return sorted(text_of(right) for role in roles.values() for right in role
                  if (right.group, right.resource, right.verb) in known or
                  (not right.resource.endswith("/finalizers") or right.verb != "update") and
                  (right.group, right.resource, right.verb) not in seen)
