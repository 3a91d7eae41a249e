"""Reads objects of a cluster over one connection, for tests that look at a state again and again: a `kubectl get` takes
60 ms of processor time, a look of this reader one or two.

The words are those of `kubectl get … -o json`, and so are the answers. A question that the reader does not understand
raises NotUnderstood: kubectl answers it."""

import base64
import http.client
import json
import os
import ssl
import threading
import urllib.parse
from typing import NamedTuple

import yaml

DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
SECONDS = 150  # longest wait for an answer


class NotUnderstood(Exception):
    """The question needs kubectl."""


class Refused(Exception):
    """The server is not there, or answers with another status than 200."""


class Access(NamedTuple):
    """What a kubeconfig says: the address of the server, the authority that it trusts, the token of its user (or None)."""

    server: str
    trust: ssl.SSLContext
    token: str


def access_of(kubeconfig):
    with open(kubeconfig, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    cluster = config["clusters"][0]["cluster"]
    inline = cluster.get("certificate-authority-data")
    trust = ssl.create_default_context(cadata=base64.b64decode(inline).decode() if inline else None,
                                       cafile=None if inline else cluster["certificate-authority"])
    return Access(cluster["server"], trust, config["users"][0]["user"].get("token"))


def versions_of(root, discovery):
    """(name of the group, path of the version, its resources) of each version, in the order of the server; `root` is /api or /apis."""
    for group in discovery["items"]:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            yield name, "/".join(part for part in (root, name, version["version"]) if part), version.get("resources", [])


class Question:
    """The words behind `kubectl get`: resources, at most one name, -n NAMESPACE, -A, -l SELECTOR."""

    def __init__(self, words):
        self.namespace, self.everywhere, self.selector = "default", False, None
        plain, words = [], list(words)
        while words:
            word = words.pop(0)
            if word in ("-n", "--namespace"):
                self.namespace = words.pop(0)
            elif word in ("-l", "--selector"):
                self.selector = words.pop(0)
            elif word == "-A":
                self.everywhere = True
            elif word.startswith("-") or "/" in word:
                raise NotUnderstood(word)
            else:
                plain.append(word)
        self.resources = plain[0].split(",") if plain else []
        self.name = plain[1] if len(plain) == 2 else None
        if not 1 <= len(plain) <= 2 or self.name and len(self.resources) > 1:
            raise NotUnderstood(" ".join(plain))


class ObjectReader:
    """Threads: any, each with its own connection."""

    def __init__(self, kubeconfig):
        self.kubeconfig = kubeconfig
        self.local = threading.local()
        self.resources = {}  # {word: (path of the version, plural, whether namespaced)}

    def get(self, *words):
        """The object, or a list of all that match; None where kubectl would fail."""
        question = Question(words)
        try:
            lists = [self.read(resource, question) for resource in question.resources]
        except Refused:
            return None
        if question.name:
            return lists[0]
        return {"apiVersion": "v1", "kind": "List", "items": [item for each in lists for item in each]}

    def read(self, word, question):
        """One object, or the objects of one resource."""
        base, plural, namespaced = self.resource(word)
        path = f"{base}/namespaces/{question.namespace}/{plural}" if namespaced and not question.everywhere else f"{base}/{plural}"
        if question.name:
            return self.ask(f"{path}/{urllib.parse.quote(question.name)}")
        query = "?" + urllib.parse.urlencode({"labelSelector": question.selector}) if question.selector else ""
        answer = self.ask(path + query)
        kind = {"apiVersion": answer["apiVersion"], "kind": answer["kind"].removesuffix("List")}
        return [{**kind, **item} for item in answer["items"]]  # a list names the kind once

    def resource(self, word):
        """As kubectl finds it: the first group that knows the word, in the version that the server lists first."""
        if word not in self.resources:
            self.resources = {}
            for root in ("/api", "/apis"):
                self.learn(root, self.ask(root, DISCOVERY))
        if word not in self.resources:
            raise NotUnderstood(word)
        return self.resources[word]

    def learn(self, root, discovery):
        for group, base, resources in versions_of(root, discovery):
            for resource in resources:
                plural = resource["resource"]
                found = (base, plural, resource["scope"] == "Namespaced")
                words = {plural, resource.get("singularResource"), resource["responseKind"]["kind"].lower(), *resource.get("shortNames", [])}
                for word in filter(None, words):
                    self.resources.setdefault(word, found)
                    self.resources.setdefault(f"{word}.{group}", found)

    def ask(self, path, accept="application/json"):
        """The answer to a GET. A connection that the server has closed meanwhile is made again."""
        for attempt in range(2):
            kept = self.connection(anew=attempt > 0)
            try:
                kept.request("GET", path, headers={"Authorization": self.local.authorization, "Accept": accept})
                answer = kept.getresponse()
                body = answer.read()
            except ssl.SSLCertVerificationError as error:
                raise NotUnderstood(str(error)) from error  # a wrong clock, say
            except (OSError, http.client.HTTPException) as error:
                kept.close()
                if attempt or isinstance(error, TimeoutError):
                    raise Refused(str(error)) from error
                continue
            if answer.status != http.client.OK:
                raise Refused(f"{path}: {answer.status}")
            return json.loads(body)
        raise AssertionError("unreachable")

    def connection(self, anew):
        """That of this thread, to the server that the kubeconfig names now."""
        try:
            written = os.stat(self.kubeconfig).st_mtime_ns
        except FileNotFoundError as error:
            raise Refused(self.kubeconfig) from error
        if anew or getattr(self.local, "written", None) != written:
            self.local.kept, self.local.authorization = self.connect()
            self.local.written = written
        return self.local.kept

    def connect(self):
        """(connection, value of the header Authorization)"""
        access = access_of(self.kubeconfig)
        if access.token is None:
            raise NotUnderstood("a user without a token")
        place = urllib.parse.urlsplit(access.server).netloc
        return http.client.HTTPSConnection(place, timeout=SECONDS, context=access.trust), f"Bearer {access.token}"
