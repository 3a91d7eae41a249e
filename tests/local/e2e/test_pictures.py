"""Goal: each view looks as its kept picture (docs/pictures/dashboard-VIEW-THEME.png), in both themes; a page without its
style, without its data or in the other theme does not pass as one.

Method: the files of the program before recorded answers (tests/local/e2e/recorded_cluster.json), a fixed clock, zone and size of
the window. Chromium compares: both pictures at half their size, where a pixel differs if a channel differs by more than
FAR; few pixels may differ, as fonts are drawn a little otherwise by other versions.

`tools/pictures` draws the pictures again; `tools/pictures --record` records a new cluster first: ten minutes of a real `berth up` with teams that
share GPUs (busy_cluster), while the page watches, then racks. New pictures are to be looked at before they are kept."""

import base64
import datetime
import json
import os
import urllib.parse

import busy_cluster
from berth_up import ROOT
from fake_read_api import HostileReadApi, RecordedReadApi, key_of
from page_test import PageTest
from test_dashboard import EVIL, JOB, RACKS, TEAM
from waiting import wait_until

RENEW = os.environ.get("RENEW", "")  # "", "pictures" or "record"
FOLDER = os.path.join(ROOT, "docs", "pictures")
RECORDED = os.path.join(ROOT, "tests", "local", "e2e", "recorded_cluster.json")
SIZE = {"width": 1440, "height": 900}
SIZES = {"now-narrow": {"width": 390, "height": 844}, "now-wide": {"width": 2560, "height": 1300}, "workload-narrow": {"width": 390, "height": 844}}
RECORD_SECONDS = float(os.environ.get("RECORD_SECONDS", "600"))
THEMES = ("light", "dark")
FAR = 40  # the least difference of a colour, of 255, that counts
MOST = 0.02  # a share of the pixels
ANY = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
""" + TEAM.replace("NAME-queue", "robotics").replace("NAME", "robotics")
GANG = (JOB % ("gang", "robotics", "2")).replace("suspend: true", "suspend: true\n  parallelism: 3\n  completions: 3").replace(
    "    spec:\n      restartPolicy", "    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: example.com/rack}}\n    spec:\n      restartPolicy")
COMPARE = """(async (pictures, far) => {
  const pixels = await Promise.all(pictures.map(async (text) => {
    const image = new Image();
    image.src = "data:image/png;base64," + text;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width >> 1, image.height >> 1];
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return context.getImageData(0, 0, canvas.width, canvas.height).data;
  }));
  const [a, b] = pixels;
  if (a.length !== b.length) return 1;
  let differ = 0;
  for (let i = 0; i < a.length; i += 4) {
    if ([0, 1, 2].some((channel) => Math.abs(a[i + channel] - b[i + channel]) > far)) ++differ;
  }
  return differ / (a.length / 4);
})(%s, %d)"""
CLOCK = """(() => {
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...words) { super(...(words.length === 0 ? [%d] : words)); }
    static now() { return %d; }
  };
})()"""

SEEN = "; localStorage.setItem('berth.seen', %s)"  # what the page kept while the cluster was recorded


def views_of(addresses):
    """By name: the address, a condition of the whole view, a script that brings it about when the view has its data."""
    now = ("/", "document.querySelectorAll('.queue').length > 2 && document.querySelector('.causes a') && document.querySelectorAll('.chart canvas').length === 3", "")
    workload = (addresses["workload"], "document.body.innerText.includes('Its turns') && document.querySelector('.timeline')", "")
    return {
        "now": now, "now-narrow": now, "now-wide": now,
        "workloads": ("/workloads?sort=waitingSince", "document.querySelectorAll('.table-body [role=row]').length > 3", ""),
        "workload": workload, "workload-narrow": workload,
        "queue": ("/queues/nlp-research", "document.querySelector('.table-body [role=row]') && document.querySelector('input[type=range]')", ""),
        "flows": ("/queues/nlp-research", "document.querySelector('.lending') && document.querySelector('.table-body [role=row]')",
                  "while (!(document.querySelectorAll('.table-body').length === 2 && document.querySelectorAll('.chart canvas').length > 4 && document.querySelector('.lending')))"
                  "await new Promise(done => setTimeout(done, 50)); scrollTo(0, document.body.scrollHeight)"),
        "what-if": ("/queues/nlp-research", "document.querySelector('.headline[role=status]')",
                    "while (!document.querySelector('input[type=range]')) await new Promise(done => setTimeout(done, 50));"
                    "const range = document.querySelector('input[type=range]'); range.value = range.max;"
                    "range.dispatchEvent(new Event('input', {bubbles: true})); await new Promise(done => setTimeout(done, 200));"
                    "[...document.querySelectorAll('button')].find(b => b.innerText.startsWith('Who would gain')).click()"),
        "capacity": ("/capacity", "document.body.innerText.includes('Left in stock')", ""),
        "over-time": ("/capacity", "document.body.innerText.includes('By class')",
                      "while (!(document.querySelector('.table-body [role=row]') && ['Left in stock', 'By class'].every(text => document.body.innerText.includes(text))))"
                      "await new Promise(done => setTimeout(done, 50)); scrollTo(0, document.body.scrollHeight)"),
        "topology": (addresses["topology"], "document.querySelectorAll('.node').length > 7 && document.querySelector('.block-fits, .block-room')", ""),
        "reports": ("/reports?by=namespace&days=1", "document.querySelector('main td')", ""),
    }


class PicturesTest(PageTest):
    def setUp(self):
        super().setUp()
        if RENEW == "record":
            self.record()
        with open(RECORDED, encoding="utf-8") as file:
            self.recorded = json.load(file)
        self.api = RecordedReadApi(self.page_files(), self.recorded["answers"])
        self.addCleanup(self.api.close)

    # Recording -----------------------------------------------------------------------------------
    def record(self):
        cluster = self.cluster
        busy_cluster.start(cluster)
        page = self.open(**SIZE)
        page.wait_for_text("nlp-research")
        busy_cluster.submit(cluster, RECORD_SECONDS)
        cluster.apply(ANY + RACKS + "---" + GANG)
        page.wait_for_text("robotics")
        rows = self.read("workloads?limit=1000")["items"]
        waits = [(row["eta"] is not None, min(len(self.read(f"workloads/{row['id']}/history")["attempts"]), 5), row["id"]) for row in rows if row["waitingSince"]]
        workload = max(waits)[2]  # one with a forecast and some turns
        gang = wait_until(lambda: [row["id"] for row in self.read("workloads?name=gang")["items"]], "the gang")[0]
        addresses = {"workload": f"/workloads/{workload}", "topology": "/topology?" + urllib.parse.urlencode({"gang": f"{gang}/main"})}
        page.run("dispatchEvent(new Event('pagehide'))")
        seen = page.run("localStorage.getItem('berth.seen')")
        posted = {}
        for name, (address, whole, script) in views_of(addresses).items():
            page.go(self.root() + address)
            if name == "what-if":
                posted = self.answer_of_post(page, script)
            page.wait_for(whole, 60)
        asked = {url.split("/api/v1/", 1)[1] for url in page.requests if "/api/v1/" in url}
        answers = {"whatif?": posted, "locations?": {"items": [], "failed": [], "namespacesWithoutPods": []}}
        for each in sorted(asked):
            path, _, query = each.partition("?")
            if path in ("events", "session", "whatif"):
                continue
            if path == "locations":
                known = answers["locations?"]["items"]
                known += [item for item in self.read(each)["items"] if item not in known]
                continue
            answers[key_of(path, dict(urllib.parse.parse_qsl(query)))] = self.read(each)
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        with open(RECORDED, "w", encoding="utf-8") as file:
            json.dump({"now": now, "addresses": addresses, "seen": seen, "answers": answers}, file, indent=1, sort_keys=True)
            file.write("\n")

    def read(self, path):
        answer = self.ask("GET", f"/api/v1/{path}", Authorization=f"Bearer {self.admin}")
        self.assertEqual(answer.status, 200, f"{path}: {answer.text}")
        return json.loads(answer.text)

    def answer_of_post(self, page, script):
        page.run("window.answered = new Promise(done => { const fetches = window.fetch; window.fetch = async (...words) => {"
                 "const answer = await fetches(...words);"
                 "if (words[1]?.method === 'POST') done(await answer.clone().json()); return answer; } }); 0")
        page.run(f"(async () => {{ {script} }})()")
        return page.run("window.answered")

    def views(self):
        return {**views_of(self.recorded["addresses"]), "sign-in": ("/", "document.querySelector('input[type=password]')", "")}

    # Pictures ------------------------------------------------------------------------------------
    def show(self, name, theme):
        address, whole, script = self.views()[name]
        self.api.is_signed_in = name != "sign-in"
        page = self.open("about:blank", dark=theme == "dark", **SIZES.get(name, SIZE))
        now = datetime.datetime.fromisoformat(self.recorded["now"]).timestamp() * 1000
        page.call("Page.addScriptToEvaluateOnNewDocument", source=CLOCK % (now, now) + SEEN % json.dumps(self.recorded["seen"]))
        page.go(self.api.root + address)
        if script:
            page.run(f"(async () => {{ {script} }})()")
        page.wait_for(whole, 60)
        if self.api.is_signed_in:
            page.wait_for("document.querySelector('.connection').innerText === 'live'")
        page.wait_for("!document.querySelector('.skeleton')")
        self.assertEqual(page.problems, [], name)
        return page

    @staticmethod
    def picture_of(page):
        page.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return page.call("Page.captureScreenshot", format="png")["data"]

    def difference(self, *pictures):
        return self.open("about:blank").run(COMPARE % (json.dumps(pictures), FAR))

    @staticmethod
    def path_of(name, theme):
        return os.path.join(FOLDER, f"dashboard-{name}-{theme}.png")

    def kept(self, name, theme):
        with open(self.path_of(name, theme), "rb") as file:
            return base64.b64encode(file.read()).decode()

    def test_each_view_is_as_its_picture(self):
        far_off = []
        for name in self.views():
            for theme in THEMES:
                picture = self.picture_of(self.show(name, theme))
                if RENEW:
                    with open(self.path_of(name, theme), "wb") as file:
                        file.write(base64.b64decode(picture))
                difference = self.difference(picture, self.kept(name, theme))
                if difference > MOST:
                    path = os.path.join(os.environ.get("PICTURES", self.cluster.folder), f"dashboard-{name}-{theme}.png")
                    with open(path, "wb") as file:
                        file.write(base64.b64decode(picture))
                    far_off.append(f"{name} {theme}: {100 * difference:.1f} % of the pixels differ, {path}")
        self.assertEqual(far_off, [], "is the change meant? tools/pictures keeps new pictures")

    def test_texts_of_others_are_no_markup(self):
        """Goal: no text of an answer is markup or a script, nor is an address made of it: names of jobs, queues, nodes, pods, users and resources, messages,
        reasons, times, keys of reports. Method: the recorded answers, with a picture and a script in every text."""
        hostile = HostileReadApi(self.page_files(), self.recorded["answers"], EVIL)
        self.addCleanup(hostile.close)
        page = self.open("about:blank", **SIZE)
        for name, (address, _, script) in views_of(self.recorded["addresses"]).items():
            page.go(hostile.root + address + (urllib.parse.quote(EVIL, safe="") if address.startswith("/queues/") else ""))
            if name == "what-if":
                page.wait_for("document.querySelector('input[type=range]')", 30)
                page.run(f"(async () => {{ {script} }})()")
                page.wait_for_text("would gain")
            page.wait_for("document.querySelector('main h1') && !document.querySelector('.skeleton')")
            page.wait_for("document.querySelector('main').innerText.includes('<img src=x')", 30)
            self.assertNotIn("evil", page.run("document.title.replaceAll(/<.*>/g, '')"), name)
            self.assertEqual(page.run("document.images.length + document.scripts.length"), 1, name)  # the page's own script
            self.assertEqual(page.run("[...document.querySelectorAll('*')].filter(each => [...each.attributes].some(at => at.name.startsWith('on'))).length"), 0, name)
            for link in page.run("[...document.links].map(each => each.href)"):
                self.assertTrue(link.startswith(hostile.root + "/"), f"{name}: {link}")
            self.assertEqual(page.problems, [], name)

    def test_a_broken_page_is_none_of_the_pictures(self):
        for name in ("now", "capacity"):
            kept = self.kept(name, "light")
            page = self.show(name, "light")
            self.assertLess(self.difference(self.picture_of(page), kept), MOST)
            page.theme("dark")
            self.assertGreater(self.difference(self.picture_of(page), kept), MOST, "the other theme")
            page.theme("light")
            page.run("document.querySelector('main').style.opacity = 0; 0")
            self.assertGreater(self.difference(self.picture_of(page), kept), MOST, "without its content")
            page.run("document.querySelector('main').style.opacity = 1; document.styleSheets[0].disabled = true; 0")
            self.assertGreater(self.difference(self.picture_of(page), kept), MOST, "without its style")
