"""Goal: everybody can use the page: a story by keys alone, with a focus that is seen at every stop and stays at the place
where something is done; no finding of axe at sign-in and while answers are on their way; nothing that moves for readers
who ask for that.

Method: Chromium on a real `berth up`; keys of the keyboard, no script that presses anything; requests that Chromium holds back."""

import json

from page_test import PageTest
from test_dashboard import JOB, QUEUES
from waiting import wait_until

MOST_STOPS = 120  # Tab goes once around a view in fewer
FORM = "document.querySelector('input[type=password]')"
FOCUS = "[document.activeElement.tagName, document.activeElement.innerText.trim()]"
DESCRIPTION = "document.getElementById(document.activeElement.getAttribute('aria-describedby')).innerText"
HITS = "[...document.querySelectorAll('[role=option]')].map(each => each.innerText.replaceAll(/\\s+/g, ' '))"
# Why the element with the focus is not seen; empty: it is seen, or the focus is in no element.
UNSEEN = """(each => {
  if (!each || each === document.body) return '';
  const name = each.outerHTML.slice(0, 120);
  const style = getComputedStyle(each.closest('.cell') ?? each);
  if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2) return 'no outline: ' + name;
  const box = each.getClientRects()[0];
  if (!box) return 'no box: ' + name;
  const [left, right] = [Math.max(0, box.left), Math.min(innerWidth, box.right)];
  const [top, bottom] = [Math.max(0, box.top), Math.min(innerHeight, box.bottom)];
  if (left >= right || top >= bottom) return 'out of sight: ' + name;
  const there = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  return each.contains(there) ? '' : 'below ' + there?.outerHTML.slice(0, 120) + ': ' + name;
})(document.activeElement)"""
# The elements, and what stands before and behind them, that move or fade.
MOVING = """[...document.querySelectorAll('*')].flatMap(each => ['', '::before', '::after'].map(part => [each, getComputedStyle(each, part)]))
  .filter(([, style]) => style.animationName !== 'none' || style.transitionDuration.split(', ').some(each => parseFloat(each) > 0))
  .map(([each]) => each.className)"""


class DashboardAccessTest(PageTest):
    def setUp(self):
        super().setUp()
        self.cluster.apply(QUEUES + JOB % ("small", "team-a", 2) + JOB % ("large", "team-a", 9))

    # Keys ----------------------------------------------------------------------------------------
    def tab_to(self, page, condition):
        """Presses Tab until the expression is true; the focus is seen at each stop on the way."""
        for _ in range(MOST_STOPS):
            page.press("Tab", windowsVirtualKeyCode=9)
            unseen, is_there = page.run(f"[{UNSEEN}, Boolean({condition})]")
            self.assertEqual(unseen, "", f"on the way to {condition}")
            if is_there:
                return
        self.fail(f"Tab reaches nothing with {condition}\n{page.text()}")

    def choose(self, page, words):
        self.tab_to(page, f"document.activeElement.innerText?.trim() === {json.dumps(words)}")
        self.press_enter(page)

    def press_enter(self, page, **more):
        page.press("Enter", windowsVirtualKeyCode=13, text="\r", **more)

    def wait_for_focus(self, page, words):
        """Something is done by a key: the focus goes to the element that has these words, where it is seen."""
        page.wait_for(f"document.activeElement !== document.body && document.activeElement.innerText.trim() === {json.dumps(words)}")
        self.assertEqual(page.run(UNSEEN), "", words)

    def wait_for_told(self, page, words):
        self.wait_for_focus(page, words)
        self.assertEqual(page.run("document.activeElement.getAttribute('role')"), "status")

    def sign_in_by_keys(self, page, token):
        page.wait_for(FORM)
        self.tab_to(page, f"document.activeElement === {FORM}")
        page.type(token)
        page.press("Enter", windowsVirtualKeyCode=13, text="\r")

    def test_a_story_by_keys_alone(self):
        page = self.open(self.root() + "/", width=1280, height=800)
        self.sign_in_by_keys(page, self.admin)
        page.wait_for_text("team-a/large")
        # My job, by the beginning of its name.
        page.press("/", text="/")
        page.wait_for("document.activeElement.getAttribute('role') === 'combobox'")
        page.type("l")
        page.wait_for(f"{HITS}.some(each => each.startsWith('team-a/large job'))")
        page.type("arge")
        page.wait_for(f"{HITS}.length === 1")
        page.press("ArrowDown", windowsVirtualKeyCode=40)
        page.press("Enter", windowsVirtualKeyCode=13, text="\r")
        # Why it waits, and its queue.
        page.wait_for_text("It would start if")
        page.wait_for_text("Number 1 in team-a-queue")
        page.wait_for("!document.querySelector('.skeleton')")
        self.assertRegex(page.run("location.pathname"), r"^/workloads/team-a/job-large-\w+$")
        self.assertRegex(page.run("document.querySelector('main .headline').innerText"), "waiting.* for .*: asks for too much")
        self.choose(page, "team-a-queue")
        # Another quota: who would gain and lose.
        page.wait_for("location.pathname === '/queues/team-a-queue' && document.querySelector('input[type=range]')")
        page.wait_for("!document.querySelector('.skeleton')")
        self.tab_to(page, "document.activeElement.type === 'range'")
        page.press("End", windowsVirtualKeyCode=35)
        page.wait_for_text("8 (now 4)")
        self.choose(page, "Who would gain and lose?")
        self.wait_for_told(page, "1 job would gain, 0 would lose.")
        self.stop_and_resume(page)
        self.choose(page, "Sign out")
        page.wait_for(FORM)
        self.assert_quiet(page)

    def stop_and_resume(self, page):
        self.choose(page, "Stop")
        self.wait_for_focus(page, "Yes: Stop")
        self.assertEqual(page.run(DESCRIPTION), "Nothing new starts in this queue. What runs goes on.")
        self.press_enter(page, autoRepeat=True)  # Enter is held down longer than the question takes
        self.assertEqual(page.run(f"{FOCUS}.concat(document.activeElement.ariaDisabled)"), ["BUTTON", "Yes: Stop", "false"])
        self.choose(page, "No")
        self.wait_for_focus(page, "Stop")
        self.assertEqual(self.stop_policy(), "None")
        self.press_enter(page)
        self.wait_for_focus(page, "Yes: Stop")
        self.press_enter(page)
        self.wait_for_told(page, "ClusterQueue team-a-queue: stopped; running workloads continue")
        page.wait_for_text("stopped: Hold")
        self.assertEqual(self.stop_policy(), "Hold")
        self.choose(page, "Resume")
        self.wait_for_told(page, "ClusterQueue team-a-queue: resumed")
        page.wait_for("!document.body.innerText.includes('stopped: Hold')")
        self.assertEqual(self.stop_policy(), "None")

    def stop_policy(self):
        return self.cluster.get("clusterqueue", "team-a-queue")["spec"]["stopPolicy"]

    def test_the_place_is_kept_after_writes_to_a_workload(self):
        name = wait_until(lambda: [each["metadata"]["name"] for each in self.cluster.items("workloads", "-n", "team-a")
                                   if each["metadata"]["name"].startswith("job-large-")], "the Workload of the large job")[0]
        page = self.open_with(self.admin, f"/workloads/team-a/{name}")
        page.wait_for_text("It would start if")
        page.wait_for("document.querySelector('.action input')")
        self.tab_to(page, "document.activeElement.type === 'number'")
        page.run("document.activeElement.select()")
        page.type("7")
        self.press_enter(page)
        page.wait_for_text(f"Workload team-a/{name}: priority 7")
        self.assertEqual(page.run("document.activeElement.value"), "7")  # a field keeps the focus
        page.run("document.activeElement.select()")
        page.type("8")
        self.choose(page, "Set")
        self.wait_for_told(page, f"Workload team-a/{name}: priority 8")
        self.choose(page, "Deactivate")
        self.wait_for_focus(page, "Yes: Deactivate")
        self.press_enter(page)
        self.wait_for_told(page, f"Workload team-a/{name}: deactivated")
        page.wait_for_text("Queue it again")
        self.assertEqual(page.run(f"{FOCUS}[0]"), "SPAN")  # the message stays where the button was replaced
        self.choose(page, "Queue it again")
        self.wait_for_told(page, f"Workload team-a/{name}: queued again")
        page.wait_for_text("It would start if")
        self.assert_accessible_in_each_look(page, "a workload after writes")
        self.assert_quiet(page)

    # States --------------------------------------------------------------------------------------
    def test_sign_in_and_answers_on_their_way(self):
        page = self.open("about:blank")
        page.call("Network.setBlockedURLs", urls=["*/api/v1/session"])
        page.go(self.root() + "/")
        page.wait_for_text("Try again")
        self.assert_accessible_in_each_look(page, "no answer")
        page.call("Network.setBlockedURLs", urls=[])
        self.choose(page, "Try again")
        page.wait_for(FORM)
        self.assert_accessible_in_each_look(page, "sign-in")
        self.sign_in_by_keys(page, "of-nobody")
        page.wait_for("document.querySelector('[role=alert]').innerText !== ''")
        self.assert_accessible_in_each_look(page, "a refused token")
        # Answers that do not come.
        page.call("Fetch.enable", patterns=[{"urlPattern": f"*/api/v1/{path}*"} for path in ("workloads", "queues", "cohorts", "capacity")])
        page.run(f"{FORM}.select()")
        page.type(self.admin)
        page.press("Enter", windowsVirtualKeyCode=13, text="\r")
        page.wait_for("document.querySelectorAll('.skeleton').length > 1")
        self.assert_accessible_in_each_look(page, "answers on their way")
        self.assert_nothing_moves(page, "answers on their way")
        page.call("Fetch.disable")
        page.wait_for_text("team-a/large")
        self.assert_nothing_moves(page, "now")
        self.assert_nothing_moves_in_other_views(page)
        page.go(self.root() + "/")
        page.wait_for_text("team-a/large")
        self.choose_display(page)
        self.assert_accessible_in_each_look(page, "the choice of the display")

    def choose_display(self, page):
        self.tab_to(page, "document.activeElement.getAttribute('aria-label') === 'Display'")
        page.press("Enter", windowsVirtualKeyCode=13, text="\r")
        page.wait_for("document.querySelector('#settings')")

    def assert_nothing_moves(self, page, what):
        """For readers who ask for that; for others something does."""
        page.theme("light", motion="no-preference")
        self.assertNotEqual(page.run(MOVING), [], what)
        page.theme("light", motion="reduce")
        self.assertEqual(page.run(MOVING), [], what)
        page.theme("light")

    def assert_nothing_moves_in_other_views(self, page):
        workload = self.cluster.items("workloads", "-n", "team-a")[0]["metadata"]["name"]
        page.theme("light", motion="reduce")
        for path in ("/workloads", f"/workloads/team-a/{workload}", "/queues/team-a-queue", "/capacity", "/topology", "/reports"):
            page.go(self.root() + path)
            page.wait_for("document.querySelector('main h1')")
            page.wait_for("!document.querySelector('.skeleton')")
            self.assertEqual(page.run(MOVING), [], path)
        page.theme("light")
