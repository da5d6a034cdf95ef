# SPDX-License-Identifier: MIT
"""
A Chromium for tests: opens pages, evaluates JavaScript in them, clicks, types, and takes pictures. It is driven
through the DevTools protocol on two pipes, so nothing else needs to be installed.
"""
import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile

NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium():
    """The path of the browser; None: there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One Chromium with one tab, whose console messages and exceptions are in `messages`."""

    def __init__(self, width=1280, height=900):
        self.profile = tempfile.TemporaryDirectory(prefix="holdtrace-chromium.", ignore_cleanup_errors=True)
        requests, self.to = os.pipe()
        self.answers, replies = os.pipe()
        # Chromium reads requests from descriptor 3 and writes its answers to descriptor 4
        requests, replies = (fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (requests, replies))
        self.process = subprocess.Popen(
            [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             f"--user-data-dir={self.profile.name}", f"--window-size={width},{height}", "--hide-scrollbars",
             "--remote-debugging-pipe", "about:blank"],
            preexec_fn=lambda: (os.dup2(requests, 3), os.dup2(replies, 4)), pass_fds=(3, 4),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(requests)
        os.close(replies)
        self.buffer, self.number, self.session, self.messages = b"", 0, None, []
        tab = next(each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=tab["targetId"], flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(domain + ".enable")
        self.resize(width, height)

    def call(self, method, **parameters):
        """Sends a command and returns its result."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.to, json.dumps(command).encode() + b"\0")
        while True:
            answer = self.next_message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def next_message(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium has ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        method, said = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.messages.append(said["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(each.get("value")) for each in said["args"]))
        elif method == "Log.entryAdded":
            self.messages.append(said["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not said["request"]["url"].startswith(("file:", "data:")):
            self.messages.append("request: " + said["request"]["url"])
        return message

    def open(self, path, state=""):
        """Opens a page, with a state after #, and waits until it is drawn."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url="file://" + os.path.abspath(path) + ("#" + state if state else ""))
        self.settle()

    def settle(self):
        """Waits until the page has drawn what was asked of it."""
        self.eval("""new Promise((done, fail) => {
            const begun = performance.now();
            const look = () => document.readyState === 'complete' && document.documentElement.dataset.drawn
                ? requestAnimationFrame(() => requestAnimationFrame(done))
                : performance.now() - begun > 60000 ? fail(new Error('the page is not drawn')) : setTimeout(look, 10);
            look();
        })""")

    def eval(self, expression):
        """The value of an expression; that of a promise when it is fulfilled."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def click(self, x, y):
        for kind in "mousePressed", "mouseReleased":
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def key(self, name):
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        code = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        for kind in "keyDown", "keyUp":
            self.call("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code.get(name, 0),
                      **({"text": text} if text and kind == "keyDown" else {}))
        self.settle()

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        """Ends it, with all its processes: they write to the profile until then."""
        self.session = None
        self.call("Browser.close")
        self.process.wait()
        os.close(self.to)
        os.close(self.answers)
        self.profile.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
