"""A headless Chromium, driven through chromedriver by the W3C WebDriver protocol, which is HTTP and
JSON: nothing but the standard library is needed."""

import base64
import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
START_S = 30
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # W3C WebDriver, section 11
KEYS = {"left": "\ue012", "up": "\ue013", "right": "\ue014", "down": "\ue015", "home": "\ue011",
        "enter": "\ue007", "tab": "\ue004", "escape": "\ue00c"}


def installed():
    return bool(CHROMIUM and DRIVER)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    """One session with an empty profile. Use as a context manager."""

    def __init__(self):
        self.closing = contextlib.ExitStack()
        profile = self.closing.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        driver = subprocess.Popen([DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.closing.callback(driver.wait)
        self.closing.callback(driver.terminate)
        try:
            self.await_driver()
            self.session = self.start_session(profile)
        except BaseException:
            self.closing.close()
            raise
        self.closing.callback(self.call, "DELETE", "")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.close()

    def await_driver(self):
        until = time.monotonic() + START_S
        while True:
            try:
                if self.http("GET", "/status")["ready"]:
                    return
            except OSError:
                if time.monotonic() > until:
                    raise
            time.sleep(0.05)

    def start_session(self, profile):
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--hide-scrollbars", "--force-device-scale-factor=1", f"--user-data-dir={profile}"]
        wanted = {"browserName": "chrome",
                  "goog:chromeOptions": {"binary": CHROMIUM, "args": flags},
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        reply = self.http("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        return reply["sessionId"]

    def http(self, method, path, body=None):
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Content-Type": "application/json"},
            data=json.dumps(body).encode() if body is not None else None)
        # A proxy of the environment must not see what is said to this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from error

    def call(self, method, path, body=None):
        if method == "POST" and body is None:
            body = {}
        return self.http(method, f"/session/{self.session}{path}", body)

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=False)

    def media(self, **features):
        """media(print=True) or media(scheme="dark")."""
        scheme = features.get("scheme", "light")
        self.devtools("Emulation.setEmulatedMedia", media="print" if features.get("print") else "",
                      features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path):
        self.call("POST", "/url", {"url": path.resolve().as_uri()})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """The script calls its last argument with the result."""
        return self.call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def find(self, selector):
        reply = self.call("POST", "/element", {"using": "css selector", "value": selector})
        return reply[ELEMENT]

    def click(self, selector):
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center', "
                 "behavior: 'instant'})", selector)
        self.call("POST", f"/element/{self.find(selector)}/click")

    def type(self, selector, text):
        self.call("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def keys(self, text):
        """To what has the focus."""
        actions = []
        for key in text:
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.act({"type": "key", "id": "keyboard", "actions": actions})

    def mouse(self, *steps):
        """Steps: ("move", x, y), ("down",), ("up",), in pixels of the window."""
        actions = []
        for kind, *at in steps:
            if kind == "move":
                actions.append({"type": "pointerMove", "duration": 20, "x": int(at[0]), "y": int(at[1])})
            else:
                actions.append({"type": "pointer" + kind.capitalize(), "button": 0})
        self.act({"type": "pointer", "id": "mouse", "actions": actions})

    def wheel(self, x, y, amount):
        self.act({"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": int(x), "y": int(y), "deltaX": 0, "deltaY": amount}]})

    def act(self, source):
        self.call("POST", "/actions", {"actions": [source]})

    def log(self, kind):
        """What was logged since the last call: "browser" (the console) or "performance"."""
        return self.call("POST", "/se/log", {"type": kind})

    def requests(self):
        """Addresses that were asked for since the last call, but those of data and of the browser."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        urls = [m["params"]["request"]["url"] for m in messages
                if m["method"] == "Network.requestWillBeSent"]
        return [u for u in urls if not u.startswith(("data:", "chrome:"))]

    def screenshot(self, path, whole_page=False):
        if whole_page:
            shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        else:
            shot = self.call("GET", "/screenshot")
        path.write_bytes(base64.b64decode(shot))
