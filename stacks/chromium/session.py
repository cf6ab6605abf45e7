"""One origin: the browser, the page that fetches from it, and the calls in flight."""

import json
import os
import tempfile
import time
from urllib.parse import urlsplit

from commute_driver import Failed, Unsupported, nss, polling

from call import Call
from devtools import Browser
from page import Page

CALLS = ("call", "get", "put", "fetch")

# What a page cannot set (https://fetch.spec.whatwg.org/#forbidden-request-header).
FORBIDDEN = {
    "accept-charset", "accept-encoding", "access-control-request-headers", "access-control-request-method",
    "access-control-request-private-network", "connection", "content-length", "cookie", "cookie2", "date", "dnt",
    "expect", "host", "keep-alive", "origin", "referer", "set-cookie", "te", "trailer", "transfer-encoding",
    "upgrade", "via"}

SETTINGS = {
    "connection, cold": "a new browser context with a page of the origin, which DevTools served",
    "h2": "--disable-quic",
    "h3": "--origin-to-force-quic-on",
    "fetch": "no-store, credentials omitted, redirects manual",
    "silent retries": "as shipped: on",
    "sandbox": "off: drivers may create no user namespace; the lab confines them",
}


class Session(polling.Session):
    def __init__(self, setup):
        refuse(setup)
        nss.trust(setup["ca_file"])
        self.origin, self.timeout_ns = setup["url"], setup["timeout_ns"]
        self.setup = setup
        self.payloads = {}  # of fetch steps, by name
        for name, file in (setup.get("payloads") or {}).items():
            with open(file, "rb") as content:
                self.payloads[name] = content.read()
        self.calls = {}  # by the number of the command that sent them
        self.requests = {}  # calls by DevTools' id of the request
        self.opened = 0
        self.profile = tempfile.TemporaryDirectory(prefix="profile.", ignore_cleanup_errors=True)
        disable_prediction(self.profile.name)
        self.browser = Browser(["chromium", *flags(setup, self.profile.name)])
        self.page = None
        if setup.get("warmup_url"):
            self.warm_up()
        self.page = Page(self.browser, self.origin)

    def warm_up(self):
        """Makes small downloads from another origin, on a page of their own."""
        self.page = Page(self.browser, self.setup["warmup_url"])
        for _ in range(self.setup.get("warmup_calls", 1)):
            call = Call(self, {"id": 0, "step": "get", "bytes": 1})
            call.start()
            while not self.next_ended(self.timeout_ns):
                call.give_up("timeout")
            self.settle([call])
            if call.error():
                raise Failed(f"warm-up: {call.error()['detail']}")
            call.free()
        self.page.retire()
        self.opened = 0

    def prepare(self, steps):
        for step in steps:
            refuse_step(step, self.payloads)
        self.prepared = [Call(self, step) if step["step"] in CALLS else None for step in steps]
        self.steps = steps
        self.set_bodies(0)
        return self.prepared

    def set_bodies(self, index):
        """Gives the present page the bodies of the calls from here to the next reconnect."""
        for step, call in zip(self.steps[index:], self.prepared[index:]):
            if step["step"] == "reconnect":
                break
            if call:
                call.set_body(self.page)

    def reconnect(self, index, mode):
        self.page.retire()
        self.page = Page(self.browser, self.origin)
        self.set_bodies(index + 1)
        return 0

    def wait(self, calls, timeout_ns):
        ended = []
        call = self.next_ended(timeout_ns)
        while call:
            ended.append(call)
            call = self.next_ended(0)
        return ended

    def next_ended(self, timeout_ns):
        """Returns the next call that has ended, or None after the timeout."""
        deadline_ns = time.monotonic_ns() + max(0, timeout_ns)
        while True:
            message = self.browser.next(max(0, deadline_ns - time.monotonic_ns()))
            if message is None:
                return None
            call = self.dispatch(message)
            if call and call.has_ended():
                # Ignore the events that may still follow.
                self.requests[call.started["requestId"]] = None
                return call

    def dispatch(self, message):
        """Gives a message to the call that it is about, and returns the call."""
        if "id" in message:
            call = self.calls.pop(message["id"], None)
            if call:
                call.answered = True
            return call
        event, parameters = message["method"], message["params"]
        request = parameters.get("requestId")
        if event == "Network.requestWillBeSent" and request not in self.requests:
            headers = {key.lower(): value for key, value in parameters["request"]["headers"].items()}
            number = headers.get("x-commute-id")
            matching = (call for call in self.calls.values() if str(call.id) == number)
            self.requests[request] = next(matching, None)
        call = self.requests.get(request)
        if call:
            call.note(event, parameters)
        return call

    def settle(self, calls):
        for call in calls:
            call.settle()

    def new_number(self):
        self.opened += 1
        return self.opened

    def close(self):
        self.browser.close()
        self.profile.cleanup()


def flags(setup, profile):
    origins = [urlsplit(setup[key]).netloc for key in ("url", "warmup_url") if setup.get(key)]
    quic = "--origin-to-force-quic-on=" + ",".join(origins)
    return ["--headless", "--disable-gpu", "--no-first-run", "--no-proxy-server",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={profile}",
            quic if setup["protocol"] == "h3" else "--disable-quic", "--no-sandbox"]


def disable_prediction(profile):
    """Keeps Chromium from opening connections that no call needs."""
    os.mkdir(os.path.join(profile, "Default"))
    with open(os.path.join(profile, "Default", "Preferences"), "w", encoding="ascii") as file:
        json.dump({"net": {"network_prediction_options": 2}}, file)


def refuse(setup):
    """Raises Unsupported for what this driver cannot do and Failed for files that cannot be read."""
    if setup["protocol"] not in ("h2", "h3"):
        raise Unsupported(f"protocol {setup['protocol']}", "this driver does h2 and h3")
    if setup["codec"] != "json":
        raise Unsupported(f"codec {setup['codec']}", "the HTTP stacks carry JSON")
    if setup.get("client_cert_file"):
        raise Unsupported("client_cert_file", "Chromium asks the user which to show")
    for key in ("discovery", "congestion", "observe"):
        if setup.get(key):
            raise Unsupported(f"{key} {setup[key]}", "this driver does not offer it")
    if not os.access(setup["ca_file"], os.R_OK):
        raise Failed(f"cannot read {setup['ca_file']}")


def refuse_step(step, payloads):
    kind = step["step"]
    if kind == "fetch":
        forbidden = [name for name in step.get("headers", {}) if is_forbidden(name)]
        if forbidden:
            raise Unsupported(f"header field {forbidden[0]}", "fetch() leaves it to the browser")
        if step.get("payload") and step["payload"] not in payloads:
            raise Failed(f"setup has no payload {step['payload']}")
    if kind == "reconnect":
        if step["mode"] != "cold":
            raise Unsupported(f"reconnect {step['mode']}", "Chromium does not report whether it resumed")
    elif kind not in (*CALLS, "pause"):
        raise Unsupported(f"step {kind}", "fetch() has no messages to stream")


def is_forbidden(name):
    return name in FORBIDDEN or name.startswith(("proxy-", "sec-"))
