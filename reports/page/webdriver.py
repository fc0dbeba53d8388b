"""A small client of the W3C WebDriver protocol: one headless Chromium, of the standard library alone."""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element in JSON, by the standard
PATIENCE_S = 60  # a limit on what hangs; nothing is measured by it


def missing():
    """What the machine lacks for it, in words; None: nothing."""
    for command, package in (("chromedriver", "chromium-driver"), ("chromium", "chromium")):
        if shutil.which(command) is None:
            return f"no {command} (Debian package {package})"
    return None


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Browser:
    def __init__(self, width=1280, height=900, dark=False):
        self.profile = tempfile.mkdtemp(prefix="attest-chromium-")
        self.session = None
        self.base = f"http://127.0.0.1:{free_port()}"
        self.driver = subprocess.Popen(
            [shutil.which("chromedriver"), "--port=" + self.base.rsplit(":", 1)[1]],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            self.wait_for_driver()
            self.start(width, height, dark)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            if self.session:
                self.call("DELETE", "")
        except OSError:
            pass
        finally:
            os.killpg(self.driver.pid, signal.SIGKILL)  # the browser too, where it did not end
            self.driver.wait()
            shutil.rmtree(self.profile, ignore_errors=True)

    def wait_for_driver(self):
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                if self.request("GET", "/status")["ready"]:
                    return
            except (urllib.error.URLError, ConnectionError):
                if self.driver.poll() is not None or time.monotonic() > until:
                    raise RuntimeError("chromedriver does not start") from None
            time.sleep(0.05)

    def start(self, width, height, dark):
        # Nothing of it may ask a network for anything; as root it has no sandbox.
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--disable-dev-shm-usage", "--hide-scrollbars", f"--window-size={width},{height}",
                 f"--user-data-dir={self.profile}"]
        if dark:
            flags.append("--force-dark-mode")
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": flags, "binary": shutil.which("chromium")},
                  "goog:loggingPrefs": {"browser": "ALL"}}
        answer = self.request("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = answer["sessionId"]

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise RuntimeError(f"{method} {path}: {value['error']}: {value['message']}") from None

    def call(self, method, path, body=None):
        return self.request(method, f"/session/{self.session}{path}", body)

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value of a JavaScript expression; its arguments are `arguments`."""
        return self.call("POST", "/execute/sync", {"script": "return (" + script + ");", "args": list(arguments)})

    def wait(self, script, *arguments):
        """Until the expression is true; what it last was, where it does not get so."""
        until = time.monotonic() + PATIENCE_S
        while True:
            value = self.run(script, *arguments)
            if value or time.monotonic() > until:
                return value
            time.sleep(0.02)

    def find(self, css):
        return self.call("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css):
        self.call("POST", f"/element/{self.find(css)}/click", {})

    def type(self, css, text):
        self.call("POST", f"/element/{self.find(css)}/value", {"text": text})

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width, height):
        # A window has a least width; a device has not.
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=width < 600)

    def console(self):
        """What the browser has logged since it was last asked."""
        return self.call("POST", "/se/log", {"type": "browser"})
