"""One origin: the browser, the page that asks it, and the calls under way."""

import json
import os
import tempfile
import time
from urllib.parse import urlsplit

import trust
from call import Call
from devtools import Browser
from page import Page
from refusals import Failed, Unsupported

CALLS = ("call", "get", "put")

SETTINGS = {
    "connection, cold": "a new browser context with a page of the origin, which DevTools served",
    "h2": "--disable-quic",
    "h3": "--origin-to-force-quic-on",
    "fetch": "no-store, credentials omitted, redirects manual",
    "silent retries": "as shipped: on",
    "sandbox": "off only when run as root, which Chromium demands",
}


class Session:
    def __init__(self, setup):
        refuse(setup)
        trust.trust(setup["ca_file"])
        self.origin, self.timeout_ns = setup["url"], setup["timeout_ns"]
        self.setup = setup
        self.calls = {}  # by the number of the command that asked
        self.requests = {}  # by DevTools' name of the request
        self.numbered = 0
        self.profile = tempfile.TemporaryDirectory(prefix="profile.", ignore_cleanup_errors=True)
        predict_nothing(self.profile.name)
        self.browser = Browser(["chromium", *flags(setup, self.profile.name)])
        self.page = None
        if setup.get("warmup_url"):
            self.warm_up()
        self.page = Page(self.browser, self.origin)

    def warm_up(self):
        self.page = Page(self.browser, self.setup["warmup_url"])
        for _ in range(self.setup.get("warmup_calls", 1)):
            call = Call({"id": 0, "step": "get", "bytes": 1})
            call.session = self
            call.start()
            while not self.next_ended(self.timeout_ns):
                call.give_up("timeout")
            self.settle([call])
            if call.error():
                raise Failed(f"warm-up: {call.error()['detail']}")
            call.free()
        self.page.retire()
        self.numbered = 0

    def prepare(self, steps):
        """The calls of a run, made but not started; None for steps that are none."""
        for step in steps:
            refuse_step(step)
        self.prepared = [Call(step) if step["step"] in CALLS else None for step in steps]
        self.steps = steps
        self.give_bodies(0)
        return self.prepared

    def give_bodies(self, place):
        """To the page at hand, of the calls from here to the next reconnect."""
        for step, call in zip(self.steps[place:], self.prepared[place:]):
            if step["step"] == "reconnect":
                break
            if call:
                call.session = self
                call.give_body(self.page)

    def reconnect(self, place, mode):
        self.page.retire()
        self.page = Page(self.browser, self.origin)
        self.give_bodies(place + 1)
        return 0

    def next_ended(self, timeout_ns):
        until_ns = time.monotonic_ns() + max(0, timeout_ns)
        while True:
            message = self.browser.next(max(0, until_ns - time.monotonic_ns()))
            if message is None:
                return None
            call = self.concerned(message)
            if call and call.is_over():
                # Events may trail behind; they concern nobody.
                self.requests[call.started["requestId"]] = None
                return call

    def concerned(self, message):
        """The call a message is about, which has heard it."""
        if "id" in message:
            call = self.calls.pop(message["id"], None)
            if call:
                call.answered = True
            return call
        event, parameters = message["method"], message["params"]
        name = parameters.get("requestId")
        if event == "Network.requestWillBeSent" and name not in self.requests:
            headers = {key.lower(): value for key, value in parameters["request"]["headers"].items()}
            number = headers.get("x-commute-id")
            asked = (call for call in self.calls.values() if str(call.id) == number)
            self.requests[name] = next(asked, None)
        call = self.requests.get(name)
        if call:
            call.hear(event, parameters)
        return call

    def settle(self, calls):
        for call in calls:
            call.settle()

    def new_number(self):
        self.numbered += 1
        return self.numbered

    def close(self):
        self.browser.close()
        self.profile.cleanup()


def flags(setup, profile):
    origins = [urlsplit(setup[key]).netloc for key in ("url", "warmup_url") if setup.get(key)]
    quic = "--origin-to-force-quic-on=" + ",".join(origins)
    return ["--headless", "--disable-gpu", "--no-first-run", "--no-proxy-server",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={profile}",
            quic if setup["protocol"] == "h3" else "--disable-quic",
            *(["--no-sandbox"] if os.geteuid() == 0 else [])]


def predict_nothing(profile):
    """Keeps Chromium from opening connections that nobody has asked for."""
    os.mkdir(os.path.join(profile, "Default"))
    with open(os.path.join(profile, "Default", "Preferences"), "w", encoding="ascii") as file:
        json.dump({"net": {"network_prediction_options": 2}}, file)


def refuse(setup):
    """What this driver cannot do, and what is not there."""
    if setup["protocol"] not in ("h2", "h3"):
        raise Unsupported(f"protocol {setup['protocol']}", "this driver does h2 and h3")
    if setup["codec"] != "json":
        raise Unsupported(f"codec {setup['codec']}", "the HTTP stacks carry JSON")
    if setup.get("client_cert_file"):
        raise Unsupported("client_cert_file", "Chromium asks the user which to show")
    for key in ("discovery", "congestion", "observe"):
        if setup.get(key):
            raise Unsupported(f"{key} {setup[key]}", "this driver has no way to it")
    if not os.access(setup["ca_file"], os.R_OK):
        raise Failed(f"cannot read {setup['ca_file']}")


def refuse_step(step):
    kind = step["step"]
    if kind == "reconnect":
        if step["mode"] != "cold":
            raise Unsupported(f"reconnect {step['mode']}", "Chromium does not tell if it resumed")
    elif kind not in CALLS + ("pause",):
        raise Unsupported(f"step {kind}", "fetch() has no messages to stream")
