#!/usr/bin/env python3
"""First paint of the page on loopback: tools/bench-readapi paint [ROUNDS].

Each view is opened in a browser context of its own (nothing is cached), on a real `berth up` over HTTPS and before a large
cluster (tests/py/large_cluster.py) over HTTP: milliseconds from the navigation to the first paint with content, as the
browser measures it, and to the rows of the view.

Environment: BERTH (the program), KUBECTL. Needs Debian's chromium-headless-shell."""

import http.client
import json
import os
import ssl
import statistics
import sys
import time
import urllib.parse

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "py"))
from berth_up import BerthUp  # noqa: E402 (the folder is known only now)
from waiting import wait_until  # noqa: E402
from browser import Browser  # noqa: E402
from fake_read_api import FakeReadApi  # noqa: E402
from large_cluster import VIEWS  # noqa: E402

PAINT = "(performance.getEntriesByName('first-contentful-paint')[0] || {}).startTime || 0"
SMALL = {"/": "Why workloads wait", "/workloads": "No workload is of this kind", "/capacity": "There is no request for capacity", "/reports": "Of the last"}


def files_of(root):
    """The files of the page, for FakeReadApi; the certificate is that of the program just started."""
    tls = ssl._create_unverified_context()  # noqa: SLF001 (loopback, our own process)
    files = {}
    for path in ("/", "/assets/page.js", "/assets/page.css", "/assets/icon.svg"):
        connection = http.client.HTTPSConnection(urllib.parse.urlsplit(root).netloc, context=tls, timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        files[path] = (answer.headers["Content-Type"], answer.read())
        connection.close()
    return files


def measure(browser, address, text, headers):
    page = browser.open("about:blank")
    page.call("Network.setExtraHTTPHeaders", headers=headers)
    begun = time.monotonic()
    page.go(address)
    page.wait_for_text(text)
    whole = (time.monotonic() - begun) * 1000
    wait_until(lambda: page.run(PAINT) > 0, "the browser knows its first paint", 60)
    painted = page.run(PAINT)
    page.call("Page.close")
    return painted, whole


def report(title, browser, root, views, rounds, headers):
    print(f"{title}: first paint, whole view; ms, median (greatest) of {rounds}")
    for path, text in views.items():
        found = [measure(browser, root + path, text, headers) for _ in range(rounds)]
        paint, whole = ([round(each) for each in column] for column in zip(*found))
        print(f"  {path:28} {statistics.median(paint):6.0f} ({max(paint)})   {statistics.median(whole):6.0f} ({max(whole)})")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    cluster = BerthUp(flags=["--dashboard"])
    try:
        cluster.start()
        root = cluster.log().rpartition("dashboard: ")[2].split("/sign-in")[0]
        token = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json").stdout)["users"][0]["user"]["token"]
        fake = FakeReadApi(files_of(root))
        with Browser(cluster.folder) as browser:
            report("berth up, an empty cluster, HTTPS", browser, root, SMALL, rounds, {"Authorization": f"Bearer {token}"})
            report("100,000 workloads, 1,000 queues, 2,000 nodes, HTTP", browser, fake.root, VIEWS, rounds, {})
        fake.close()
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
