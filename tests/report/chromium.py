"""A headless Chromium, driven over a pair of pipes with the DevTools protocol. Only the standard library."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

#: Under these names distributions install it.
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Long enough for a starved machine.
PATIENCE = 120


def found():
    """The browser's program; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a browser. What happened in it is in `requests`, `errors` and `dialogs`."""

    def __init__(self):
        self._folder = tempfile.mkdtemp(prefix="agentjob-chromium-")
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run"]
        flags += ["--disable-background-networking", "--disable-component-update", "--hide-scrollbars", f"--user-data-dir={self._folder}"]

        def pipes():
            # Chromium reads 3 and writes 4. Both may be among ours: first away from there.
            one, two = os.dup2(to_read, 20), os.dup2(to_write, 21)
            os.dup2(one, 3)
            os.dup2(two, 4)

        self._process = subprocess.Popen(
            [found(), *flags, "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=pipes,
        )
        os.close(to_read)
        os.close(to_write)
        self._number, self._rest, self._responses, self._events = 0, b"", {}, []
        self.requests, self.errors, self.dialogs, self._runs_scripts = [], [], [], True
        try:
            self._open_page()
        except BaseException:
            self.__exit__()
            raise

    def _open_page(self):
        target = self.call("Target.createTarget", url="about:blank", session=False)["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True, session=False)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "DOM", "Accessibility"):
            self.call(f"{domain}.enable")
        self.call("Performance.enable", timeDomain="threadTicks")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        finally:
            os.close(self._in)
            os.close(self._out)
            shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, method, session=True, **parameters):
        """Calls a method and waits for its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        number = self._number
        self._read_until(lambda: number in self._responses)
        response = self._responses.pop(number)
        assert "error" not in response, f"{method}: {response['error']}"
        return response["result"]

    def open(self, page):
        """Opens a file, or an address, and waits until it is loaded and drawn. Returns the milliseconds that took."""
        self._events.clear()
        began = time.monotonic()
        self.call("Page.navigate", url=page if str(page).startswith("http:") else pathlib.Path(page).resolve().as_uri())
        self._read_until(lambda: "Page.loadEventFired" in self._events)
        # Two frames: the layout of the first is drawn by the second.
        if self._runs_scripts:
            self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        return (time.monotonic() - began) * 1000

    def computed(self):
        """The milliseconds that the page's thread has computed so far, which other processes don't make more."""
        metrics = self.call("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration") * 1000

    def run(self, script):
        """The value of a script in the page."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def size(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, scheme="light", kind=""):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=kind, features=features)

    def scripts(self, allowed):
        self._runs_scripts = allowed
        self.call("Emulation.setScriptExecutionDisabled", value=not allowed)

    def press(self, key, code=0):
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def picture(self):
        """A PNG of the top of the page."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def _read_until(self, is_done):
        end = time.monotonic() + PATIENCE
        while not is_done():
            readable, _, _ = select.select([self._in], [], [], max(0, end - time.monotonic()))
            assert readable, "the browser does not respond"
            read = os.read(self._in, 1 << 20)
            assert read, "the browser has ended"
            *messages, self._rest = (self._rest + read).split(b"\0")
            for message in map(json.loads, messages):
                self._take(message)

    def _take(self, message):
        if "id" in message:
            self._responses[message["id"]] = message
            return
        method, facts = message["method"], message.get("params", {})
        self._events.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(facts["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(facts["exceptionDetails"]["text"])
        elif method == "Log.entryAdded" and facts["entry"]["level"] == "error":
            self.errors.append(facts["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(facts["message"])
