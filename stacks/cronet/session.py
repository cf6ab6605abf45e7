"""The origins, and the engine that connects to them at present."""

import os

from commute_codecs import media
from commute_driver import Failed, Unsupported, nss, polling

from call import Call
from engine import IDLE_OUT_S, SHORT_IDLE_S, Engine

CALLS = ("call", "get", "put", "exchange", "fetch")

PROTOCOLS = ["h2", "h3", "auto"]

# Without compression: Cronet would decompress by itself.
CODECS = [codec for codec in media.CODECS if "+" not in codec]

SETTINGS = {
    "executor": "one thread, as an app gives one",
    "read buffer": "65536",
    "connection, cold": "a new engine",
    "connection, early data": f"in the same engine, with idle_connection_timeout_seconds="
                              f"{SHORT_IDLE_S} (Cronet ships 30) and {IDLE_OUT_S:g} s to wait",
    "h2": "QUIC off",
    "h3, auto": "QUIC hint for each origin; Cronet opens TCP beside it, and falls back to it",
    "h3, auto by Alt-Svc": "QUIC on, no hint",
    "port migration": "off (Cronet ships on): a debug check of this build aborts in it",
    "silent retries": "as shipped: on, after a kept connection proved dead",
    "cache": "none, as shipped",
    "proxy": "none: the environment's are removed",
    "QUIC stream window": "6291456, as a server saw it run full",
}


class Session(polling.Session):
    def __init__(self, shim, setup):
        refuse(setup)
        nss.trust(setup["ca_file"])
        self.shim, self.setup, self.protocol = shim, setup, setup["protocol"]
        self.timeout_ns = setup["timeout_ns"]
        self.messages = None
        self.content_type = media.headers(setup["codec"])["content-type"].encode()
        if setup.get("schema_file"):
            # Loads the codecs' libraries, which only exchanges need.
            from commute_codecs.exchange import Messages
            self.messages = Messages(setup["codec"], setup["schema_file"], setup.get("values") or {})
        self.payloads = {}  # of fetch steps, by name
        for name, file in (setup.get("payloads") or {}).items():
            with open(file, "rb") as content:
                self.payloads[name] = content.read()
        self.opened = 0
        self.engine = None
        if setup.get("warmup_url"):
            self.warm_up()
        self.renew(early_data=False)

    def warm_up(self):
        """Makes small downloads from another origin, in an engine of their own."""
        setup = {**self.setup, "url": self.setup["warmup_url"], "origins": None, "warmup_url": None,
                 "schema_file": None}
        other = Session(self.shim, setup)
        for _ in range(setup.get("warmup_calls", 1)):
            call = Call(other, {"id": 0, "step": "get", "bytes": 1})
            call.start()
            while not Call.next_ended(self.shim, self.timeout_ns):
                call.give_up("timeout")
            call.settle()
            error = call.error()
            call.free()
            if error:
                raise Failed(f"warm-up: {error['detail']}")
        other.close()

    def prepare(self, steps):
        for step in steps:
            self.refuse_step(step)
        self.early_data = early_data(steps)
        if self.early_data[0] != self.engine.early_data:
            if self.engine.used:
                raise Unsupported("reconnect early_data", "no cold one came before it in this run")
            self.renew(self.early_data[0])
        return [Call(self, step) if step["step"] in CALLS else None for step in steps]

    def origin_of(self, step):
        """Returns the URL that a call goes to."""
        return self.setup["origins"][step["origin"]] if step.get("origin") else self.setup["url"]

    def payload_of(self, step):
        """Returns the body of a fetch."""
        return self.payloads[step["payload"]] if step.get("payload") else b""

    def refuse_step(self, step):
        kind = step["step"]
        if step.get("origin") and step["origin"] not in (self.setup.get("origins") or {}):
            raise Failed(f"setup has no origin {step['origin']!r}")
        if kind == "reconnect":
            if step["mode"] not in ("cold", "early_data"):
                raise Unsupported(f"reconnect {step['mode']}", "Cronet does not report whether it resumed")
            if step["mode"] == "early_data" and self.protocol != "h3":
                raise Unsupported("reconnect early_data", "Chromium has early data over H3 only")
        elif kind == "exchange":
            if self.messages is None:
                raise Failed("setup named no schema_file")
            if not self.messages.knows(step["kind"]):
                raise Unsupported(f"message {step['message']}", f"no codec here knows a {step['kind']}")
        elif kind == "fetch":
            if step.get("payload") and step["payload"] not in self.payloads:
                raise Failed(f"setup has no payload {step['payload']!r}")
            encoding = (step.get("headers") or {}).get("accept-encoding", "identity")
            if encoding != "identity":
                raise Unsupported(f"accept-encoding {encoding}", "Cronet would decompress by itself")
        elif kind not in (*CALLS, "pause"):
            raise Unsupported(f"step {kind}", "Cronet has no messages to stream")

    def reconnect(self, index, mode):
        if mode == "cold":
            self.renew(self.early_data[index])
            return 0
        return int(IDLE_OUT_S * 1e9)

    def renew(self, early_data):
        """Leaves every connection and ticket behind for a new engine."""
        self.close()
        self.engine = Engine(self.shim, self.setup, early_data)

    def wait(self, calls, timeout_ns):
        ended = []
        call = Call.next_ended(self.shim, timeout_ns)
        while call:
            ended.append(call)
            call = Call.next_ended(self.shim, 0)
        return ended

    def close(self):
        if self.engine:
            self.engine.retire()

    def settle(self, calls):
        """Finds the connection of each ended call: openers first, so that the others find theirs.

        Cronet reports nothing about a call that was given up before its answer. If there was a
        connection, the call used it; otherwise the call caused one to be opened.
        """
        for call in calls:
            call.settle()
        for call in sorted(calls, key=lambda call: (call.facts.opened != 1, call.facts.start_ns)):
            if call.opened_nothing():
                continue
            connection = None if call.facts.opened == 1 else call.engine.found(call)
            if not connection:
                self.opened += 1
                connection = call.engine.opened(call, self.opened)
            call.connection = connection


def refuse(setup):
    """Raises Unsupported for what Cronet cannot do and Failed for files that cannot be read."""
    if setup["protocol"] not in PROTOCOLS:
        raise Unsupported(f"protocol {setup['protocol']}", f"this driver knows {', '.join(PROTOCOLS)}")
    if setup.get("discovery") not in (None, "alt_svc"):
        raise Unsupported(f"discovery {setup['discovery']}", "this driver does not know it")
    if setup["codec"] not in CODECS:
        raise Unsupported(f"codec {setup['codec']}", "neither this driver nor stacks/python has it")
    if setup.get("client_cert_file"):
        raise Unsupported("client_cert_file", "Cronet's C API takes no client certificate")
    for key in ("congestion", "observe"):
        if setup.get(key):
            raise Unsupported(f"{key} {setup[key]}", "this driver does not offer it")
    if not os.access(setup["ca_file"], os.R_OK):
        raise Failed(f"cannot read {setup['ca_file']}")


def early_data(steps):
    """Returns for each step whether the engine in use from there to the next cold reconnect is to
    have early data: an engine's options are fixed when it starts."""
    options, early = [], False
    for step in reversed(steps):
        if step["step"] == "reconnect" and step["mode"] == "early_data":
            early = True
        options.append(early)
        if step["step"] == "reconnect" and step["mode"] == "cold":
            early = False
    return options[::-1] or [False]
