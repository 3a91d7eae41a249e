"""Debian's headless Chromium through the DevTools protocol, on a pair of pipes: no port, no package.

    with Browser(folder) as browser:
        page = browser.open("https://localhost:…/", width=360, height=800)
        page.wait_for("document.querySelector('h1')")
        page.problems        # console errors, uncaught exceptions, failed requests
        page.requests        # every address that the page asked for

The certificate is not checked: the test's server is the only one the page talks to, which `requests` shows.
"""

import itertools
import json
import os
import queue
import subprocess
import threading
import time

from scratch import die_with_parent

PROGRAM = "chromium-headless-shell"
SECONDS = 180


class Browser:
    def __init__(self, folder):
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def take_pipes():  # takes the pipes as 3 and 4; the duplicates cannot be 3 or 4
            die_with_parent()
            first, second = os.dup(to_read), os.dup(to_write)
            while min(first, second) <= 4:
                first, second = os.dup(first), os.dup(second)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            [PROGRAM, "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--ignore-certificate-errors",
             "--hide-scrollbars", "--disable-background-networking", f"--user-data-dir={folder}/browser"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=take_pipes, env={"PATH": os.environ["PATH"], "HOME": folder, "TZ": "UTC"})
        os.close(to_read)
        os.close(to_write)
        self._numbers = itertools.count(1)
        self._answers = {}
        self._pages = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._process.kill()
        self._process.wait(timeout=SECONDS)
        os.close(self._write)

    def _listen(self):
        rest = b""
        while piece := os.read(self._read, 1 << 20):
            *messages, rest = (rest + piece).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self._answers[message["id"]].put(message)
                elif message.get("sessionId") in self._pages:
                    self._pages[message["sessionId"]].take(message["method"], message["params"])
        os.close(self._read)

    def call(self, method, session=None, **parameters):
        number = next(self._numbers)
        self._answers[number] = queue.Queue()
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        with self._lock:
            os.write(self._write, json.dumps(message).encode() + b"\0")
        answer = self._answers[number].get(timeout=SECONDS)
        del self._answers[number]
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, url, width=1280, height=900, dark=False):
        """A page of its own, with cookies of its own."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.size(width, height)
        page.theme("dark" if dark else "light")
        page.go(url)
        return page


class Page:
    def __init__(self, browser, session):
        self.browser = browser
        self.session = session
        self.problems = []
        self.requests = []

    def take(self, method, parameters):
        if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.problems.append(f"console: {parameters['args']}")
        elif method == "Runtime.exceptionThrown":
            self.problems.append(f"exception: {parameters['exceptionDetails']}")
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"log: {parameters['entry']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def go(self, url):
        self.call("Page.navigate", url=url)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def theme(self, name, motion="no-preference"):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name},
                                                          {"name": "prefers-reduced-motion", "value": motion}])

    def run(self, script):
        """The value of an expression, promises awaited."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise AssertionError(f"{script[:200]}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def text(self):
        return self.run("document.body ? document.body.innerText : ''")

    def wait_for(self, condition, seconds=SECONDS):
        """Polls the page, another process, until the expression is true."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                if self.run(f"Boolean({condition})"):
                    return
            except AssertionError:
                pass  # between two documents
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {seconds} s: {condition}\n{self.text()}\n{self.problems}")
            time.sleep(0.05)

    def wait_for_text(self, text):
        self.wait_for(f"document.body.innerText.includes({json.dumps(text)})")

    def press(self, key, **more):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, **more)

    def choose(self, words, most=80):
        """Presses the link or button that has these words, by the keyboard alone, from where the focus is."""
        for _ in range(most):
            if self.run("document.activeElement.innerText.trim()") == words:
                return self.press("Enter", windowsVirtualKeyCode=13, text="\r")
            self.press("Tab", windowsVirtualKeyCode=9)
        raise AssertionError(f"the keyboard reaches nothing that says {words!r}\n{self.text()}")

    def type(self, text):
        self.call("Input.insertText", text=text)
