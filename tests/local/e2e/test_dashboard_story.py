"""Goal: the DWS story can be watched in a browser while it happens: every view follows it without a reload, without a
problem on the console, without a request to elsewhere, without a finding of axe.

Method: the samples of tools/demo on a real `berth up --dashboard`, one open page a view, Chromium."""

import json

from berth_up import read_sample
from page_test import PageTest
from waiting import wait_until


class DashboardStoryTest(PageTest):
    def test_each_view_follows_the_story(self):
        cluster = self.cluster
        cluster.apply_dws(boot_seconds=1, idle_seconds=1)
        now = self.open()
        now.wait_for_text("dws-cluster-queue")
        self.assert_accessible(now, "now, empty")
        for name in ("t4", "a100", "h100"):
            cluster.apply(read_sample("dws", f"job-{name}.yaml").replace("120s", "1s"))
        now.wait_for_text("default/sample-job-h100")
        now.wait_for("[...document.querySelectorAll('.causes a')].some(a => a.innerText === 'capacity asked for')")
        rows = wait_until(lambda: [row for row in json.loads(self.ask("GET", "/api/v1/workloads", Authorization=f"Bearer {self.admin}").text)["items"]
                                   if row["name"] == "sample-job-h100"], "the row of the H100 job")
        views = {"workload": (f"/workloads/{rows[0]['id']}", "the cloud says"), "workloads": ("/workloads", "default/sample-job-h100"),
                 "queue": ("/queues/dws-cluster-queue", "default/sample-job-h100"), "capacity": ("/capacity", "0: out of stock"),
                 "topology": ("/topology", "Topology"), "reports": ("/reports?by=queue&days=1", "dws-local-queue")}
        pages = {name: self.open_with(self.admin, path) for name, (path, _) in views.items()}
        for job in ("sample-job", "sample-job-a100"):
            cluster.wait_complete(job)
        for name, (_, text) in views.items():
            pages[name].wait_for_text(text)
            self.assert_accessible(pages[name], f"{name}, while the H100 is out of stock")
        pages["workload"].wait_for_text("stockout")
        capacity = pages["capacity"]
        capacity.run("document.querySelector('[aria-label^=\\'Machines of dws-h100-nodepool\\']').focus()")
        capacity.run("document.activeElement.select()")
        capacity.type("1")
        capacity.press("Enter", text="\r")
        capacity.wait_for_text("NodePool dws-h100-nodepool: stock 1")
        self.assertEqual(cluster.get("nodepool", "dws-h100-nodepool")["spec"]["stock"], 1)
        pages["workload"].wait_for("document.querySelector('main').innerText.includes('succeeded')")
        pages["workloads"].wait_for("[...document.querySelectorAll('.table-body [role=row]')]"
                                    ".some(row => row.innerText.includes('sample-job-h100') && row.innerText.includes('succeeded'))")
        pages["queue"].wait_for("!document.body.innerText.includes('sample-job-h100')")
        pages["capacity"].wait_for_text("There is no request for capacity.")
        now.wait_for_text("Nothing waits.")
        for name, page in {"now": now, **pages}.items():
            self.assert_accessible(page, f"{name}, at the end")
            self.assert_quiet(page)
