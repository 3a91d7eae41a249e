"""Goal: `berth up --dashboard` prints an address that signs a browser in, once; each view shows the cluster as it changes,
with a keyboard, at 360 pixels, in both themes, without a finding of axe, without a request to elsewhere; words of manifests
stand there as text; a tenant's page has no name of others; other sites and other pages get nothing.

A list of 100,000 workloads has few rows in the document, scrolls to its end and follows changes.

Method: Chromium on a real `berth up`; real HTTPS, tokens of ServiceAccounts, RBAC of the embedded API; for the large cluster
the files of the program before a read API of the test."""

import json
import os
import stat
import urllib.parse

from fake_read_api import FakeReadApi
from large_cluster import COHORTS as MANY_COHORTS, NODES as MANY_NODES, QUEUES as MANY_QUEUES, VIEWS as MANY_VIEWS, WORKLOADS as MANY, workload
from openapi_forms import Forms
from page_test import PageTest
from waiting import wait_until

BUDGET_BYTES = 300_000  # the sum of all files of the page, compressed
SHOWN_COHORTS = 31  # a wide tree shows the one at the top, and 30 below it
MOST_ANSWER_BYTES = 300_000  # the sum of all answers that one view asks for, compressed
EVIL = "<img src=x onerror=\"document.title='evil'\"><script>document.title='evil'</script>"
TEAM = """
apiVersion: v1
kind: Namespace
metadata: {name: NAME}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: NAME-queue}
spec:
  cohortName: company
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: "4"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: NAME}
spec: {clusterQueue: NAME-queue}
---
"""
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
""" + TEAM.replace("NAME", "team-a") + TEAM.replace("NAME", "team-b")
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: %s, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: "none:1", resources: {requests: {cpu: "%s"}}}]
---
"""
REQUEST = """
apiVersion: v1
kind: PodTemplate
metadata: {name: one, namespace: team-a}
template: {spec: {containers: [{name: c, image: "none:1"}]}}
---
apiVersion: autoscaling.x-k8s.io/v1
kind: ProvisioningRequest
metadata: {name: asked, namespace: team-a}
spec: {provisioningClassName: nobody.example.com, podSets: [{count: 1, podTemplateRef: {name: one}}]}
"""
RACKS = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks}
spec: {levels: [{nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]}
""" + "".join(f"""---
apiVersion: v1
kind: Node
metadata: {{name: node-{i}, labels: {{kubernetes.io/hostname: node-{i}, example.com/rack: rack-{i // 4}}}}}
status:
  allocatable: {{nvidia.com/gpu: "8", cpu: "64"}}
  conditions: [{{type: Ready, status: "True", reason: KubeletReady, message: fine}}]
""" for i in range(8))
SIDEWAYS = "document.documentElement.scrollWidth"
# A window that has just become narrow still has canvases of its former width.
WIDE_CANVASES = "document.querySelectorAll('.uplot').forEach(each => each.style.width = '9000px')"


class DashboardTest(PageTest):
    def setUp(self):
        super().setUp()
        self.cluster.apply(QUEUES)

    def test_sign_in_once_and_watch(self):
        page = self.open(width=1100, height=760)
        page.wait_for_text("Nothing waits.")
        self.assertEqual(page.run("location.href"), self.root() + "/")
        self.assertEqual(page.run("document.cookie"), "")
        again = self.open()
        again.wait_for_text("has been used")
        # What happens is seen without a reload.
        self.cluster.apply(JOB % ("large", "team-a", 100) + JOB % ("small", "team-b", 1))
        page.wait_for_text("team-a/large")
        page.wait_for("[...document.querySelectorAll('.causes a')].some(a => a.innerText === 'asks for too much')")
        page.wait_for("document.querySelector('[aria-label=\"cpu: 1 of 4 used\"]')")
        self.assertIn("company (cohort)", page.text())
        # The keyboard leads from the list to the workload, and to its queue.
        page.run("document.querySelector('nav a[href=\"/workloads\"]').focus()")
        page.press("Enter", text="\r")
        page.wait_for("document.querySelectorAll('.table-body [role=row]').length === 2")
        page.choose("team-a/large", most=30)
        page.wait_for_text("It would start if")
        self.assertRegex(page.run("location.pathname"), r"^/workloads/team-a/job-large-\w+$")
        self.assertIn("berth why workload/job-large", page.text())
        page.wait_for_text("Number 1 in team-a-queue")
        page.wait_for_text("CreatedWorkload")
        page.run("[...document.querySelectorAll('summary')].find(each => each.innerText === 'Job large').click()")
        page.wait_for_text("kind: Job")
        page.run("[...document.querySelectorAll('main a')].find(a => a.innerText === 'team-a-queue').click()")
        page.wait_for("document.querySelector('.table-body [role=row]')")
        page.run("history.back()")
        page.wait_for_text("It would start if")
        self.cluster.kubectl("delete", "job", "large", "-n", "team-a")
        page.wait_for_text("it has been deleted")
        self.assert_accessible(page, "a deleted workload")
        page.run("history.back()")
        page.wait_for("document.querySelectorAll('.table-body [role=row]').length === 1")
        self.assertEqual([each for each in page.problems if "404" not in each], [])
        # A new life of the server knows the session, by files that give nothing without the cookie.
        port = urllib.parse.urlsplit(self.root()).port
        self.cluster.kill()
        page.wait_for_text("The connection is lost")
        self.assert_accessible_in_each_look(page, "the connection is lost")
        folder = os.path.join(self.cluster.folder, "data", "page-sessions")
        (file,) = os.listdir(folder)
        self.assertEqual([stat.S_IMODE(os.stat(each).st_mode) for each in (folder, os.path.join(folder, file))], [0o700, 0o600])
        with open(os.path.join(folder, file), encoding="ascii") as text:
            self.assertNotIn(self.admin, text.read())
        self.cluster.flags += ["--read-api-listen", f"127.0.0.1:{port}"]
        self.cluster.start()
        page.wait_for("document.querySelector('.connection')?.innerText === 'live'")
        page.wait_for_text("team-b/small")
        # Without its file there is no session: no old row is shown as if it were new.
        self.cluster.kill()
        page.wait_for_text("The connection is lost")
        os.remove(os.path.join(folder, file))
        self.cluster.start()
        page.wait_for_text("The session has ended")
        self.assertNotIn("team-b/small", page.text())
        self.assert_accessible_in_each_look(page, "the session has ended")
        # Signing out ends the session for good.
        _, cookie = self.sign_in(token=self.admin)
        self.assertEqual(len(os.listdir(folder)), 1)
        secret = json.loads(self.ask("GET", "/api/v1/session", Cookie=cookie).text)["csrf"]
        self.assertEqual(self.ask("DELETE", "/api/v1/session", Cookie=cookie, X_Berth_CSRF=secret).status, 200)
        self.assertEqual(os.listdir(folder), [])

    def test_behind_a_proxy_a_page_follows_a_new_life_of_the_server(self):
        """The token comes with every request: the page connects again by itself, and shows no row of before."""
        self.cluster.apply(JOB % ("gone", "team-a", 100) + JOB % ("kept", "team-b", 100))
        port = urllib.parse.urlsplit(self.root()).port
        page = self.browser.open("about:blank")
        page.call("Network.setExtraHTTPHeaders", headers={"Authorization": f"Bearer {self.admin}"})
        page.go(self.root() + "/workloads")
        page.wait_for_text("team-a/gone")
        self.cluster.kill()
        page.wait_for_text("The connection is lost")
        # Other ports than that of the page stay closed to it until the job is gone.
        self.cluster.start()
        self.cluster.kubectl("delete", "job", "gone", "-n", "team-a")
        self.cluster.stop()
        self.cluster.flags += ["--read-api-listen", f"127.0.0.1:{port}"]
        self.cluster.start()
        page.wait_for("document.querySelector('.connection').innerText === 'live'")
        page.wait_for("!document.body.innerText.includes('team-a/gone')")
        self.assertIn("team-b/kept", page.text())

    def test_every_view_in_every_width_and_theme(self):
        self.cluster.apply(JOB % ("large", "team-a", 100) + JOB % ("small", "team-b", 1) + JOB % ("train", "team-b", 5)
                           + JOB % ("noted", "team-b", 100) + JOB % ("twin", "team-a", 100) + REQUEST)
        self.cluster.patch_status("/apis/autoscaling.x-k8s.io/v1/namespaces/team-a/provisioningrequests/asked", {"conditions": [
            {"type": "Accepted", "status": "True", "reason": "Waits", "message": EVIL, "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
        self.cluster.apply(RACKS)
        name = wait_until(lambda: [each["metadata"]["name"] for each in self.cluster.items("workloads", "-n", "team-a")], "a Workload")[0]
        noted = wait_until(lambda: [each["metadata"]["name"] for each in self.cluster.items("workloads", "-n", "team-b")
                                    if each["metadata"]["name"].startswith("job-noted-")], "another Workload")[0]
        # Whoever may write a Workload writes what Berth notes there, too.
        for note in ({"berth.dev/explanation": json.dumps({"message": EVIL, "victims": [{"workload": EVIL, "because": EVIL}]})}, {"berth.dev/eta": EVIL}):
            self.cluster.kubectl("annotate", "workload", noted, "-n", "team-b", "--overwrite", *(f"{key}={value}" for key, value in note.items()))
        views = {"/": "Why workloads wait", "/workloads?state=waiting": "team-a/large", f"/workloads/team-a/{name}": "It would start if",
                 f"/workloads/team-b/{noted}": "Why nothing was preempted for it", "/queues/team-a-queue": "Waiting, next first", "/capacity?state=Accepted": "team-a/asked",
                 "/workloads?clusterQueue=team-a-queue": "behind large (same request), 2nd of 2", "/queues/team-b-queue": "borrows 2, uses 6 of 4",
                 "/workloads?state=running": "1 pod starting", "/capacity": "No class has a history yet", "/topology": "Topology racks",
                 "/reports?by=namespace&days=1": "team-b",
                 "/queues/" + urllib.parse.quote(EVIL, safe=""): "no such queue",
                 "/workloads?" + urllib.parse.urlencode({"state": EVIL, "cause": EVIL, "clusterQueue": EVIL}): "No workload"}
        page = self.open()
        page.wait_for_text(EVIL)  # the message, as text
        for path, text in views.items():
            page.go(self.root() + path)
            page.wait_for_text(text)
            for theme, width in (("light", 360), ("dark", 360), ("dark", 1280), ("light", 1280), ("dark", 3840)):
                page.size(width, 900)
                page.theme(theme)
                page.wait_for(f"innerWidth === {width}")
                self.assertLessEqual(page.run(SIDEWAYS), width, path)
                if width < 2000:
                    self.assert_accessible(page, f"{path} {theme} {width}")
            page.run(WIDE_CANVASES)
            self.assertLessEqual(page.run(SIDEWAYS), width, path)
            self.assertNotIn("evil", page.run("document.title.replaceAll(/<.*>/g, '')"))
            self.assertEqual(page.run("document.images.length"), 0)
        page.go(self.root() + "/topology")
        page.wait_for("document.querySelectorAll('.node').length === 8")
        page.run("document.querySelector('.node').click()")
        page.wait_for_text("Node node-0")
        page.wait_for("document.querySelector('main .bullets').innerText.match(/^team-b\\/(small|train): 1 pod$/m)")
        page.size(1100, 760)
        self.assert_quiet(page)
        wide, narrow = (self.open_with(self.admin, "/", width=width, dark=width > 1000) for width in (1280, 360))
        colors = [each.run("getComputedStyle(document.documentElement).backgroundColor") for each in (wide, narrow)]
        self.assertEqual(colors, ["rgb(15, 19, 25)", "rgb(245, 247, 250)"])

    def test_quota_is_tried_and_a_queue_is_stopped(self):
        self.cluster.apply(JOB % ("large", "team-a", 9))
        page = self.open(width=1100, height=760)
        page.wait_for_text("team-a/large")
        page.go(self.root() + "/queues/team-a-queue")
        page.wait_for("document.querySelector('input[type=range]')")
        # The keyboard reaches the slider, then the button behind it.
        page.run("document.querySelector('input[type=range]').focus()")
        page.press("End", windowsVirtualKeyCode=35)
        page.wait_for_text("8 (now 4)")
        page.choose("Who would gain and lose?")
        page.wait_for_text("1 job would gain, 0 would lose")
        self.assert_accessible(page, "the answer of a what-if")
        page.wait_for("document.querySelector('.table-body').innerText.includes('▲')")  # in the order of the queue, too
        self.assertIn('nominalQuota: "8"', page.text())
        page.choose("Stop")
        page.wait_for_text("What runs goes on.")
        self.assert_accessible(page, "the question before a stop")
        page.choose("Yes: Stop")
        page.wait_for_text("stopped: Hold")
        self.assertEqual(self.cluster.kubectl("get", "clusterqueue", "team-a-queue", "-o", "jsonpath={.spec.stopPolicy}").stdout, "Hold")
        page.choose("Resume")
        page.wait_for("!document.body.innerText.includes('stopped: Hold')")
        self.assertEqual(page.problems, [])

    def test_a_tenant_sees_own_namespaces(self):
        self.cluster.kubectl("create", "role", "reader", "-n", "team-a", "--verb=list",
                             "--resource=workloads.kueue.x-k8s.io,localqueues.kueue.x-k8s.io,provisioningrequests.autoscaling.x-k8s.io")
        self.cluster.kubectl("create", "serviceaccount", "robot", "-n", "team-a")
        self.cluster.kubectl("create", "rolebinding", "robot", "-n", "team-a", "--role", "reader", "--serviceaccount", "team-a:robot")
        tenant = self.cluster.token("robot", "team-a")
        self.cluster.apply(JOB % ("mine", "team-a", 100) + JOB % ("unseen", "team-b", 100))
        page = self.open_with(tenant, "/workloads")
        page.wait_for_text("name namespaces")
        page.wait_for_text("no live changes")
        self.assert_accessible_in_each_look(page, "a reader without rights")
        page.size(1280, 900)
        page.run("document.querySelector('.bar input[type=text]').focus()")
        page.type("team-a")
        page.press("Enter", text="\r")
        page.wait_for_text("team-a/mine")
        page.wait_for("document.querySelector('.connection-live')")
        for path in ("/", "/queues/team-b-queue", "/workloads?clusterQueue=team-b-queue"):
            page.go(self.root() + path)
            page.wait_for("document.querySelector('main h1')")
            page.wait_for("!document.querySelector('.skeleton')")
            self.assertNotIn("unseen", page.run("document.documentElement.outerHTML"))
        _, cookie = self.sign_in(token=tenant)
        for path in ("capacity", "topology", "topology?namespace=team-b", "workloads/team-b/job-unseen/cost", "workloads", "workloads?countBy=namespace", "workloads?namespace=team-b", "events", "queues",
                     "workloads?namespace=team-b&countBy=state", "workloads/team-b/job-unseen", "reports", "reports?namespace=team-b",
                     "reports?namespace="):
            answer = self.ask("GET", f"/api/v1/{path}", Cookie=cookie)
            self.assertEqual(answer.status, 403, path)
            self.assertNotIn(b"unseen", answer.text)

    def test_other_sites_get_nothing(self):
        answer, cookie = self.sign_in(token=self.admin)
        self.assertEqual(answer.status, 200)
        self.assertRegex(answer.headers["Set-Cookie"], r"^__Host-berth-\d+=\S+; Path=/; Secure; HttpOnly; SameSite=Strict; ")
        self.assertNotIn(self.admin.encode(), answer.text)
        csrf = json.loads(answer.text)["csrf"]
        self.assertEqual(self.ask("GET", "/api/v1/workloads", Cookie=cookie).status, 200)
        for foreign in ({"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}, {"Origin": "https://localhost:1"}):
            for path in ("/api/v1/workloads", "/api/v1/events"):
                self.assertIn(self.ask("GET", path, Cookie=cookie, **foreign).status, (401, 403))
            self.assertEqual(self.ask("DELETE", "/api/v1/session", Cookie=cookie, X_Berth_CSRF=csrf, **foreign).status, 403)
        self.assertEqual(self.ask("DELETE", "/api/v1/session", Cookie=cookie).status, 403)
        self.assertEqual(self.ask("POST", "/api/v1/session", {"token": self.admin}, Content_Type="text/plain").status, 415)
        self.assertEqual(self.ask("POST", "/api/v1/workloads", {}, Cookie=cookie).status, 405)
        for path in (f"/?token={self.admin}", f"/workloads?access_token={self.admin}", f"/api/v1/workloads?token={self.admin}"):
            self.assertEqual(self.ask("GET", path).status, 403)
        self.assertEqual(self.ask("POST", "/api/v1/session", {"token": "x" * 40_000}, Content_Type="application/json").status, 413)
        self.assertEqual(self.ask("DELETE", "/api/v1/session", Cookie=cookie, X_Berth_CSRF=csrf).status, 200)
        self.assertEqual(self.ask("GET", "/api/v1/workloads", Cookie=cookie).status, 401)
        # The files: small, typed, known again by their tags.
        document = self.ask("GET", "/", Accept_Encoding="gzip")
        self.assertNotIn("unsafe", document.headers["Content-Security-Policy"])
        sizes = len(document.text)
        for path, kind in (("/assets/page.js", "text/javascript"), ("/assets/page.css", "text/css"), ("/assets/icon.svg", "image/svg+xml")):
            answer = self.ask("GET", path, Accept_Encoding="gzip")
            self.assertEqual((answer.status, answer.headers["Content-Encoding"]), (200, "gzip"))
            self.assertTrue(answer.headers["Content-Type"].startswith(kind))
            self.assertEqual(self.ask("GET", path, Accept_Encoding="gzip", If_None_Match=answer.headers["ETag"]).status, 304)
            sizes += len(answer.text)
        self.assertLess(sizes, BUDGET_BYTES)

    def fake(self):
        """The large cluster, whose answers have the forms of the real server's document."""
        fake = FakeReadApi(self.page_files())
        self.addCleanup(fake.close)
        forms = Forms(json.loads(self.ask("GET", "/api/v1/openapi.json").text))
        for path in ("workloads", "queues", "capacityrequests", "cohorts", "capacity", "capacity/history", "topology", "workloads/team-0/job-0",
                     "workloads/team-0/job-0/cost", "workloads/team-0/job-0/objects", "workloads/team-0/job-0/log", "workloads/team-0/job-0/history", "history", "history/cohort", "history/workloads", "reports"):
            forms.check(path, fake.answer(path, {"limit": "3", "clusterQueue": "queue-0", "cohort": "company"} if "/" in path or path == "history" else {}))
        return fake

    def test_a_busy_server_is_asked_again(self):
        fake = self.fake()
        for row in fake.rows["capacityrequests"][:36:12]:
            row["state"] = "Pending"
        fake.rows["queues"][3]["inactive"] = "ResourceFlavor t4 is missing"
        fake.busy = {"workloads": 3, "queues": 1, "cohorts": 1, "capacity": 1, "topology": 2}
        page = self.open(fake.root + "/")
        page.wait_for(f"document.querySelectorAll('.queue.cohort').length === {SHOWN_COHORTS}")
        page.wait_for("document.querySelector('.causes')?.innerText.includes('100,000')")
        page.wait_for_text("3 jobs wait for a class that nobody serves: class-0, since")
        page.wait_for_text("queue-3 admits nothing: ResourceFlavor t4 is missing")
        page.go(fake.root + "/topology")
        page.wait_for("document.querySelector('.node')")
        self.assertEqual(fake.busy, {"workloads": 0, "queues": 0, "cohorts": 0, "capacity": 0, "topology": 0})
        # Changes of workloads do not ask for all nodes, nor for the cost of one, again.
        asked = fake.asked["topology"]
        page.go(fake.root + "/workloads/team-0/job-0")
        page.wait_for_text("Its turns")
        before = {path: fake.asked[path] for path in ("workloads/team-0/job-0", "workloads/team-0/job-0/history", "workloads/team-0/job-0/cost")}
        fake.tell([{"resource": "workloads", "set": {"id": "team-0/job-50", "remark": "of another"}}])
        fake.tell([{"resource": "workloads", "set": {"id": "team-0/job-0", "remark": "of this one"}}])
        wait_until(lambda: fake.asked["workloads/team-0/job-0"] > before["workloads/team-0/job-0"], "the story is asked for again")
        self.assertEqual(fake.asked["workloads/team-0/job-0"], before["workloads/team-0/job-0"] + 1)
        self.assertEqual(fake.asked["workloads/team-0/job-0/cost"], before["workloads/team-0/job-0/cost"])
        self.assertEqual(fake.asked["topology"], asked)

    def test_changes_before_the_stream_begins_are_shown(self):
        fake = self.fake()
        fake.opening.clear()
        page = self.open(fake.root + "/workloads?name=job-1234")
        page.wait_for("document.querySelector('.table-body [role=row]')")
        late = {**fake.rows["workloads"][1234], "id": "team-34/job-1234-late", "name": "job-1234-late", "state": "stopping"}
        fake.rows["workloads"].append(late)
        fake.tell([{"resource": "workloads", "row": late}])  # no stream has begun
        fake.opening.set()
        page.wait_for_text("team-34/job-1234-late")
        page.wait_for_text("stopping (1)")

    def test_changes_before_the_answer_are_shown(self):
        fake = self.fake()
        counted = []

        def is_held(path, query):
            is_of_view = path == "workloads" and query.get("name") == "job-12"
            if is_of_view and "countBy" in query:
                counted.append(query)
            return is_of_view and "fields" in query
        fake.is_held = is_held
        page = self.open(fake.root + "/workloads?name=job-12")
        wait_until(lambda: fake.streams and fake.held.is_set() and counted, "the stream stands, and the view has asked")
        fake.tell([{"resource": "workloads", "set": {"id": fake.rows["workloads"][12]["id"], "remark": "told early"}}])
        wait_until(lambda: len(counted) > 1, "the page has the change: it counts again")
        fake.answering.set()
        page.wait_for_text("told early")

    def test_addresses_lines_and_keys(self):
        """What a narrow page shows, what an address carries, and what the keyboard reaches."""
        fake = self.fake()
        page = self.open(fake.root + "/workloads?name=job-12", width=360, height=900)
        page.wait_for_text("team-12/job-12")
        shown = page.run("""[...document.querySelectorAll('.table-body [role=row]:first-child [role=cell]')]
          .filter(cell => getComputedStyle(cell).display !== 'none')
          .map(cell => [cell.dataset.title, cell.getBoundingClientRect().bottom <= cell.parentElement.getBoundingClientRect().bottom + 1])""")
        self.assertLessEqual({"Workload", "State", "Queue", "Age", "ETA", "What it waits for, or where it runs"}, {title for title, _ in shown})
        self.assertNotIn(False, [fits for _, fits in shown])
        self.assertFalse(page.run("document.body.innerText.includes('team-11/job-11')"))
        # The namespaces of the page are in each address and link, and come with an address.
        page.size(1100, 760)
        page.go(fake.root + "/workloads?namespace=team-1,team-2")
        page.wait_for("document.querySelector('.bar input[type=text]').value === 'team-1,team-2'")
        self.assertIn("namespace=team-1,team-2", page.run("document.querySelector('nav a[href^=\"/topology\"]').href"))
        page.go(fake.root + "/queues/queue-7?days=7")
        page.wait_for_text("Waiting, next first")
        self.assertIn("namespace=team-1,team-2", page.run("location.search"))
        page.wait_for("document.querySelector('label select').value === '7'")
        # A place that counts rows of some namespaces alone would be a wrong one.
        page.wait_for("document.querySelector('.table-body [role=row]')")
        self.assertFalse(page.run("[...document.querySelectorAll('[role=columnheader]')].some(head => head.innerText === 'Next')"))
        page.go(fake.root + "/queues/queue-7?namespace=")
        page.wait_for("[...document.querySelectorAll('[role=columnheader]')].some(head => head.innerText === 'Next')")
        self.assertNotIn("namespace", page.run("location.search"))
        page.wait_for("document.querySelector('details')")
        page.run("document.querySelector('details summary').click()")
        page.wait_for("document.querySelectorAll('details table tbody tr').length === 24")
        # 2,000 nodes are one stop of the tabulator; the arrow keys go on from there.
        page.go(fake.root + "/topology?node=node-3")
        page.wait_for_text("Node node-3")
        self.assertEqual(page.run("document.querySelectorAll('.node[tabindex=\"0\"]').length"), 1)
        page.run("document.querySelector('.node[tabindex=\"0\"]').focus()")
        page.press("ArrowRight", windowsVirtualKeyCode=39)
        page.wait_for("document.activeElement.getAttribute('aria-label').startsWith('node-4,')")
        page.press("Enter", text="\r")
        page.wait_for_text("Node node-4")
        self.assertIn("node=node-4", page.run("location.search"))
        page.run("document.querySelector('[aria-label=\"Show the rooms for team-0/gang-0\"]').click()")
        page.wait_for_text("Who is in block-0 › rack-1")
        page.wait_for("document.querySelector('.block-room')?.innerText.includes('room for 20 of 64')")
        self.assertIn("150 further gangs", page.text())
        self.assert_accessible(page, "a chosen gang")
        # A report as it is printed: the accounts without the bar and the filters.
        page.go(fake.root + "/reports?by=clusterqueue")
        page.wait_for_text("Show all 1,000 lines")
        # Over time: GPU hours at first, another measure by choice.
        page.wait_for_text("988 others")
        self.assertEqual(page.run("[...document.querySelector('.panel select').options].map(each => each.text)"),
                         ["GPU hours used", "CPU hours used", "GPU hours destroyed", "hours waited", "node hours charged", "USD"])
        page.run("(select => { select.value = 'cost'; select.dispatchEvent(new Event('change', { bubbles: true })); })(document.querySelector('.panel select'))")
        page.wait_for_text("44.50")
        self.assertIn("12 cost 21 h, claimed 6 h", page.run("document.querySelector('tbody tr').innerText"))
        page.call("Emulation.setEmulatedMedia", media="print")
        self.assertEqual(page.run("['.bar', '.filters'].map(each => getComputedStyle(document.querySelector(each)).display)"), ["none", "none"])
        self.assertEqual(page.run("getComputedStyle(document.querySelector('.panel .scroll')).overflow"), "visible")
        self.assertTrue(page.call("Page.printToPDF", landscape=True)["data"].startswith("JVBERi0"))
        page.call("Emulation.setEmulatedMedia", media="")
        self.assertEqual(page.problems, [])

    def test_the_frame_by_keyboard(self):
        """The search, the navigation that folds, the menu of a narrow screen, theme and density: by keys alone, kept over a reload, without a finding of axe."""
        fake = self.fake()
        page = self.open(fake.root + "/reports", width=1280, height=800)
        page.wait_for_text("Show all 1,000 lines")
        hits = "[...document.querySelectorAll('[role=option]')].map(each => each.innerText.replaceAll(/\\s+/g, ' '))"
        # "/" leads to the search, and stands in no field; the arrow keys choose, Enter goes there.
        page.press("/", text="/")
        page.wait_for("document.activeElement.getAttribute('role') === 'combobox'")
        self.assertEqual(page.run("document.activeElement.value"), "")
        page.type("queue-77")
        page.wait_for(f"{hits}.length === 6")
        self.assertEqual(page.run(hits)[0], "queue-77 queue · cohort cohort-37")
        page.press("ArrowDown", windowsVirtualKeyCode=40)
        page.wait_for("document.querySelector('[aria-selected=true]').innerText.startsWith('queue-770')")
        self.assertEqual(page.run("document.activeElement.getAttribute('aria-activedescendant')"), page.run("document.querySelector('[aria-selected=true]').id"))
        self.assert_accessible(page, "the search")
        page.press("Enter", text="\r")
        page.wait_for("location.pathname === '/queues/queue-770'")
        # Jobs by the beginning of their name, with or without the namespace, and nodes by a part of theirs.
        for typed, wanted, address in (("job-4711", "team-11/job-4711 job", "/workloads/team-11/job-4711"), ("team-7/job-57", "team-7/job-57 job", "/workloads/team-7/job-57"),
                                       ("node-1999", "node-1999 node", "/topology"), ("capac", "Capacity view", "/capacity")):
            page.run("document.activeElement.blur()")
            page.press("/", text="/")
            page.wait_for("document.activeElement.getAttribute('role') === 'combobox'")
            page.type(typed)
            page.wait_for(f"{hits}[0]?.startsWith({json.dumps(wanted)})")
            page.press("Enter", text="\r")
            page.wait_for(f"location.pathname === {json.dumps(address)}")
        page.press("/", text="/")
        page.type("no such thing")
        page.wait_for_text("Nothing has this name")
        page.press("Escape")
        page.wait_for("document.querySelector('.found').hidden")
        # The navigation folds to icons, which keep their names; theme and density are the reader's, also after a reload.
        page.run("document.querySelector('.side-fold').focus()")
        page.press("Enter", text="\r")
        page.wait_for("document.querySelector('.side').offsetWidth < 80")
        page.run("document.querySelector('[aria-label=Display]').focus()")
        page.press("Enter", text="\r")
        for label in ("dark", "compact"):
            page.wait_for("document.querySelector('#settings')")
            page.run(f"[...document.querySelectorAll('#settings button')].find(each => each.innerText.trim() === '{label}').focus()")
            page.press("Enter", text="\r")
        page.wait_for("getComputedStyle(document.documentElement).backgroundColor === 'rgb(15, 19, 25)'")
        self.assert_accessible(page, "folded, dark and compact")
        page.press("Escape")
        page.wait_for("!document.querySelector('#settings') && document.activeElement.getAttribute('aria-label') === 'Display'")
        page.go(fake.root + "/")
        page.wait_for("document.querySelector('.side')?.offsetWidth < 80 && document.documentElement.dataset.density === 'compact'")
        self.assertEqual(page.run("getComputedStyle(document.documentElement).backgroundColor"), "rgb(15, 19, 25)")
        self.assertEqual(page.run("[...document.querySelectorAll('.side-views a')].map(each => each.textContent.trim())"), ["Now", "Workloads", "Capacity", "Topology", "Reports"])
        # On a narrow screen a menu has the navigation; Escape gives the focus back to its button.
        page.size(360, 800)
        page.wait_for("getComputedStyle(document.querySelector('.side')).display === 'none'")
        page.run("document.querySelector('.bar-menu').focus()")
        page.press("Enter", text="\r")
        page.wait_for("getComputedStyle(document.querySelector('.side')).display === 'flex'")
        self.assert_accessible(page, "the menu of a narrow screen")
        page.press("Escape")
        page.wait_for("getComputedStyle(document.querySelector('.side')).display === 'none' && document.activeElement.className === 'bar-menu'")
        self.assertEqual(page.problems, [])

    def test_curves_are_chosen_by_dragging_and_by_keys(self):
        """What the page has seen is drawn, kept over a reload, and left out of what others see; a part of the time is chosen by dragging over a curve."""
        fake = self.fake()
        page = self.open(fake.root + "/", width=1400, height=900)
        page.wait_for("document.querySelectorAll('.chart canvas').length === 3")
        waits = "[...document.querySelectorAll('.chart-legend')].map(each => each.innerText.replaceAll(/\\s+/g, ' '))"
        page.wait_for(f"{waits}[0] === 'waiting 100,000 running 0'")
        page.wait_for(f"{waits}[2].includes('on ready nodes')")  # in the next sample after the answer on capacity
        self.assertEqual(page.run(waits)[1:], ["quota in use 100,000", "in use 8000 quota 8000 on ready nodes 39,000"])
        page.run("dispatchEvent(new Event('pagehide'))")
        kept = page.run("localStorage.getItem('berth.seen')")
        self.assertTrue(kept.startswith("reader \n["), kept[:40])
        self.assertNotIn("job-", kept)
        # Dragging over one curve chooses the time of all.
        page.run("document.querySelector('.chart .u-over').scrollIntoView({block: 'center'})")
        box = page.run("(r => [r.x, r.y, r.width, r.height])(document.querySelector('.chart .u-over').getBoundingClientRect())")
        y = box[1] + box[3] / 2
        for kind, share, buttons in (("mousePressed", 0.3, 1), ("mouseMoved", 0.5, 1), ("mouseMoved", 0.7, 1), ("mouseReleased", 0.7, 0)):
            page.call("Input.dispatchMouseEvent", type=kind, x=box[0] + share * box[2], y=y, button="left", buttons=buttons, clickCount=1)
        whole = "[...document.querySelectorAll('.chart button')].filter(each => each.innerText.trim() === 'Whole time')"
        page.wait_for(f"{whole}.length === 3")
        page.run(f"{whole}[0].focus()")
        page.press("Enter", text="\r")
        page.wait_for(f"{whole}.length === 0")
        # Without a mouse: buttons choose the time, and a table has the values.
        page.run("[...document.querySelectorAll('.segments button')].find(each => each.innerText.trim() === '6 h').focus()")
        page.press("Enter", text="\r")
        page.wait_for("location.search === '?span=21600'")
        page.run("document.querySelector('.chart summary').click()")
        page.wait_for("document.querySelector('.chart tbody td')?.innerText")
        page.run("scrollTo(0, 0)")  # axe counts what the bar at the top covers as too small
        self.assert_accessible(page, "curves and their values")
        # Nothing moves for a reader who asked for that.
        moves = "getComputedStyle(document.querySelector('.bar-used')).transitionDuration"
        self.assertEqual(page.run(moves), "0.3s")
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
        page.wait_for(f"{moves} === '0s'")
        # A view that was seen before is whole at once: what was known is shown until the new answers come.
        view = "[...document.querySelectorAll('.side-views a')].find(each => each.innerText.trim() === '%s').click()"
        page.run(view % "Workloads")
        page.wait_for("document.querySelector('.table-body [role=row]')")
        shown = page.run("(async () => {" + view % "Now" + "; for (let i = 0; i < 2; ++i) await new Promise(requestAnimationFrame);"
                         "return [document.querySelectorAll('.skeleton').length, document.querySelectorAll('.queue.cohort').length]; })()")
        self.assertEqual(shown, [0, SHOWN_COHORTS])
        self.assertEqual(page.problems, [])

    def test_a_hundred_thousand_workloads(self):
        fake = self.fake()
        page = self.open(fake.root + "/workloads")
        page.wait_for("document.querySelector('.table-body [role=row]')")
        page.run("""(async () => {
          const box = document.querySelector('.table');
          while (box.getAttribute('aria-rowcount') !== '100001') {
            box.scrollTop = box.scrollHeight;
            await new Promise(requestAnimationFrame);
          }
          box.scrollTop = box.scrollHeight;
        })()""")
        self.assertEqual(page.run("document.querySelector('.filters output').innerText.trim()"), "100,000 workloads")
        last = workload(MANY - 1)["id"]
        page.wait_for_text(last)
        self.assertLess(page.run("document.querySelectorAll('.table-body [role=row]').length"), 60)
        self.assertEqual(page.run("document.querySelector('.table').getAttribute('aria-rowcount')"), str(MANY + 1))
        # 2,000 changes at once, of rows in sight and of others.
        fake.tell([{"resource": "workloads", "set": {"id": workload(MANY - 1 - i)["id"], "remark": f"changed {i}"}} for i in range(2_000)])
        page.wait_for_text("changed 0")
        fake.tell([{"resource": "workloads", "removed": {"id": last}}])
        page.wait_for(f"!document.body.innerText.includes({json.dumps(last)})")
        page.go(fake.root + "/")
        page.wait_for(f"document.querySelectorAll('.queue.cohort').length === {SHOWN_COHORTS}")
        page.wait_for("document.querySelector('.causes').innerText.includes('100,000')")
        # A wide branch shows the cohorts in which most waits; a closed cohort draws no queue until it is opened.
        self.assertEqual(page.run("document.querySelectorAll('.queue:not(.cohort)').length"), 0)
        page.run("document.querySelectorAll('.tree summary')[1].click()")
        page.wait_for(f"document.querySelectorAll('.queue:not(.cohort)').length === {MANY_QUEUES // MANY_COHORTS}")
        page.run("[...document.querySelectorAll('button')].find(each => each.innerText.startsWith('Show all 40,')).click()")
        page.wait_for("document.querySelectorAll('.queue.cohort').length === 41")
        painted = page.run("performance.getEntriesByType('paint').map(entry => entry.name)")
        self.assertIn("first-contentful-paint", painted)  # tools/bench-readapi paint tells when
        self.assert_no_foreign_load(page, fake)

    def test_each_view_of_a_large_cluster(self):
        """Each view is whole, has few elements for what is scrolled, nothing on the console, and no finding of axe."""
        fake = self.fake()
        page = self.open(fake.root + "/")
        most = {"/": 17_000, "/workloads": 4_000, "/workloads/team-0/job-0": 4_000, "/queues/queue-7": 4_000, "/capacity": 14_000, "/topology": 17_000,
                "/reports?by=clusterqueue": 15_000}
        for path, text in MANY_VIEWS.items():
            fake.sent.clear()
            page.go(fake.root + path)
            page.wait_for_text(text)
            page.wait_for("!document.querySelector('.skeleton')")
            answers = {asked: sent for asked, sent in fake.sent.items() if asked.startswith("/api/v1/")}
            self.assertLess(sum(answers.values()), MOST_ANSWER_BYTES, answers)
            self.assertLess(page.run("document.querySelectorAll('*').length"), most[path], path)
            self.assertLessEqual(page.run(SIDEWAYS), page.run("innerWidth"), path)
            self.assert_accessible(page, path)
            self.assertEqual(page.problems, [], path)
            if path == "/topology":
                self.assertEqual(page.run("document.querySelectorAll('.node').length"), MANY_NODES)
        self.assert_no_foreign_load(page, fake)

    def assert_no_foreign_load(self, page, fake):
        self.assertEqual([url for url in page.requests if not url.startswith((fake.root + "/", "about:"))], [])
