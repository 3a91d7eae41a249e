"""For the operator's process alone: this machine has no DNS of a cluster, so the names of schedulers'
Services lead to loopback, where the test plays them."""

import re
import socket

SCHEDULER = re.compile(r"[a-z0-9-]+-scheduler\.[a-z0-9-]+")
resolve = socket.getaddrinfo


def getaddrinfo(host, *arguments, **options):
    if isinstance(host, str) and SCHEDULER.fullmatch(host):
        host = "127.0.0.1"
    return resolve(host, *arguments, **options)


socket.getaddrinfo = getaddrinfo
