"""Roles of manifests/rbac as sets of single rights, and the rights that an HTTP request needs.

The rules are those of Kubernetes: verbs from method and path, subresources as "resource/sub", names
for requests of one object, a Role in its namespace alone; and with OwnerReferencesPermissionEnforcement
(an admission plugin that many clusters have on) `update` of the owner's `finalizers` for a reference
with blockOwnerDeletion, and `delete` of an object whose references are changed.
"""

import base64
import collections
import json
import os
import re
import urllib.parse

# A right is one verb on one resource (name "": any), or on a path where `resource` is "". `namespace`
# "" is the whole cluster.
Right = collections.namedtuple("Right", "role namespace group resource name path verb")
Need = collections.namedtuple("Need", "namespace group resource name path verb")


def text_of(right):
    """The text of a right or a need."""
    resource = right.path or ".".join(part for part in (right.resource, right.group) if part)
    return " ".join(part for part in (right.verb, resource, right.name) if part)


# Rights that RBAC gives to every user (system:public-info-viewer, system:discovery).
OPEN_PATHS = re.compile(r"/(version|healthz|livez|readyz|openapi(/.*)?|api(/[^/]+)?|apis(/[^/]+){0,2})")
# Owners of the objects that controllers make: kind -> group and plural.
OWNERS = {"Job": ("batch", "jobs"), "Workload": ("kueue.x-k8s.io", "workloads"),
          "ProvisioningRequest": ("autoscaling.x-k8s.io", "provisioningrequests")}


def decode(text):
    return base64.b64decode(text).decode()


class Rights:
    def __init__(self, rights):
        self.all = sorted(set(rights))
        self.by_object = collections.defaultdict(list)
        for right in self.all:
            self.by_object[right.group, right.resource, right.path, right.verb].append(right)

    def find(self, need):
        """The first right that allows it, or None: a redundant right is never found."""
        for right in self.by_object[need.group, need.resource, need.path, need.verb]:
            if right.namespace in ("", need.namespace) and right.name in ("", need.name):
                return right
        return None


def documents(path):
    """The documents of a manifest as lists of (indent, text) lines, without comments."""
    with open(path, encoding="utf-8") as file:
        for text in file.read().split("\n---\n"):
            lines = [line.split(" #")[0].rstrip() for line in text.splitlines()]
            yield [line for line in lines if line and not line.startswith("#")]


def read_roles(path):
    """name -> rights of every Role and ClusterRole in the file. An unknown line fails."""
    roles = {}
    for lines in documents(path):
        top = dict(line.split(": ", 1) for line in lines if re.match(r"\w+: ", line))
        if top.get("kind") not in ("Role", "ClusterRole"):
            continue
        meta = dict(line.strip().split(": ", 1) for line in lines if re.match(r"  \w+: ", line)
                    and line.strip().split(": ")[0] in ("name", "namespace"))
        rules = []
        for line in lines[lines.index("rules:") + 1:] if "rules:" in lines else []:
            match = re.fullmatch(r"(- |  )(\w+): \[(.*)\]", line)
            if match is None:
                raise ValueError(f"{path}: cannot read {line!r}: write each list of a rule in one line")
            if match.group(1) == "- ":
                rules.append({})
            rules[-1][match.group(2)] = [word.strip(' "') for word in match.group(3).split(",")]
        roles[meta["name"]] = [right for rule in rules
                               for right in expand(meta["name"], meta.get("namespace", ""), rule)]
    return roles


def roles_of(account, path):
    """Names of the roles that bindings of the file give to the ServiceAccount."""
    names = set()
    for lines in documents(path):
        if not any(line in ("kind: ClusterRoleBinding", "kind: RoleBinding") for line in lines):
            continue
        role, subjects = lines.index("roleRef:"), lines.index("subjects:")
        end = subjects if subjects > role else len(lines)
        if f"  name: {account}" in lines[subjects:]:
            names.update(line.split(": ")[1] for line in lines[role:end] if line.startswith("  name: "))
    return names


def installed_rights(account, folder):
    """The rights that the manifests of a folder give to the ServiceAccount."""
    roles, bound = {}, set()
    for name in sorted(set(os.listdir(folder)) - {"kustomization.yaml"}):
        roles.update(read_roles(os.path.join(folder, name)))
        bound |= roles_of(account, os.path.join(folder, name))
    return [right for role in bound for right in roles[role]]


def expand(role, namespace, rule):
    known = {"apiGroups", "resources", "resourceNames", "nonResourceURLs", "verbs"}
    if set(rule) - known or "*" in sum(rule.values(), []):
        raise ValueError(f"{role}: {rule}: a field that is not known, or a star")
    for verb in rule["verbs"]:
        for path in rule.get("nonResourceURLs", []):
            yield Right(role, namespace, "", "", "", path, verb)
        for group in rule.get("apiGroups", []):
            for resource in rule["resources"]:
                for name in rule.get("resourceNames", [""]):
                    yield Right(role, namespace, group, resource, name, "", verb)


def needs(method, target, body, status):
    """The rights that a request needs; `status` is that of the answer."""
    url = urllib.parse.urlsplit(target)
    query = urllib.parse.parse_qs(url.query)
    match = re.fullmatch(r"/(?:api|apis/([^/]+))/[^/]+(?:/namespaces/([^/]+)(?=/))?/([^/]+)"
                         r"(?:/([^/]+))?(?:/([^/]+))?", url.path)
    if OPEN_PATHS.fullmatch(url.path):
        return
    if match is None:
        yield Need("", "", "", "", url.path, method.lower())
        return
    group, namespace, plural, name, sub = (part or "" for part in match.groups())
    resource = plural + "/" + sub if sub else plural
    watch = query.get("watch", [""])[0] in ("1", "true")
    verb = {"POST": "create", "PUT": "update", "PATCH": "patch",
            "DELETE": "delete" if name else "deletecollection",
            "GET": "get" if name else "watch" if watch else "list"}[method]
    # A list or watch of one object by its name needs the right to that object.
    chosen = re.fullmatch(r"metadata\.name=([^,]+)", query.get("fieldSelector", [""])[0])
    if verb in ("list", "watch") and chosen:
        name = chosen.group(1)
    yield Need(namespace, group, resource, name, "", verb)
    if method == "PATCH" and status == 201:
        yield Need(namespace, group, resource, "", "", "create")
    if method not in ("POST", "PUT", "PATCH") or sub:
        return
    metadata = (json.loads(body or "{}").get("metadata") or {})
    if method == "PATCH" and "ownerReferences" in metadata:
        yield Need(namespace, group, plural, name, "", "delete")
    for owner in metadata.get("ownerReferences") or []:
        if owner.get("blockOwnerDeletion"):
            owner_group, owners = OWNERS[owner["kind"]]
            yield Need(namespace, owner_group, owners + "/finalizers", owner["name"], "", "update")
