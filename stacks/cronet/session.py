"""One origin, and the engine that reaches it at the time."""

import os

try:
    import exchange
except ImportError:
    exchange = None  # stacks/python is not installed

import trust
from call import Call
from engine import IDLE_OUT_S, SHORT_IDLE_S, Engine
from refusals import Failed, Unsupported

CALLS = ("call", "get", "put", "exchange")

SETTINGS = {
    "executor": "one thread, as an app gives one",
    "read buffer": "65536",
    "connection, cold": "a new engine",
    "connection, early data": f"in the same engine, with idle_connection_timeout_seconds="
                              f"{SHORT_IDLE_S} (Cronet ships 30) and {IDLE_OUT_S:g} s to wait",
    "h2": "QUIC off",
    "h3": "QUIC hint for the origin; Cronet opens TCP beside it, and falls back to it",
    "h3 by Alt-Svc": "QUIC on, no hint",
    "silent retries": "as shipped: on, after a kept connection proved dead",
    "cache": "none, as shipped",
    "proxy": "none: the environment's are removed",
    "QUIC stream window": "6291456, as a server saw it run full",
}


class Session:
    def __init__(self, shim, setup):
        refuse(setup)
        trust.trust(setup["ca_file"])
        self.shim, self.setup, self.protocol = shim, setup, setup["protocol"]
        self.messages, self.content_type = None, None
        if exchange:
            self.messages = exchange.Source(setup["codec"], setup.get("schema_file"), setup.get("values") or {})
            self.content_type = exchange.media(setup["codec"])["content-type"].encode()
        self.numbered = 0
        self.engine = None
        if setup.get("warmup_url"):
            self.warm_up()
        self.renew(early_data=False)

    def warm_up(self):
        """Small downloads from another origin, in an engine of their own."""
        setup = {**self.setup, "url": self.setup["warmup_url"], "warmup_url": None}
        other = Session(self.shim, setup)
        for _ in range(setup.get("warmup_calls", 1)):
            call = Call(other, {"id": 0, "step": "get", "bytes": 1})
            call.start()
            while not self.next_ended(setup["timeout_ns"]):
                call.give_up("timeout")
            call.settle()
            error = call.error()
            call.free()
            if error:
                raise Failed(f"warm-up: {error['detail']}")
        other.close()

    def prepare(self, steps):
        """The calls of a run, made but not started; None for steps that are none."""
        for step in steps:
            refuse_step(step, self.protocol)
        self.plan = early_data_plan(steps)
        if self.plan[0] != self.engine.early_data:
            if self.engine.used:
                raise Unsupported("reconnect early_data", "no cold one came before it in this run")
            self.renew(self.plan[0])
        return [Call(self, step) if step["step"] in CALLS else None for step in steps]

    def reconnect(self, place, mode):
        """Closes every connection; for how many ns that will take."""
        if mode == "cold":
            self.renew(self.plan[place])
            return 0
        return int(IDLE_OUT_S * 1e9)

    def renew(self, early_data):
        """Leaves every connection and ticket behind for a new engine."""
        self.close()
        self.engine = Engine(self.shim, self.setup, early_data)

    def next_ended(self, timeout_ns):
        return Call.ended(self.shim, timeout_ns)

    def close(self):
        if self.engine:
            self.engine.retire()

    def settle(self, calls):
        """Says what each ended call travelled on: openers first, so that the others find theirs.

        Of a call given up before its answer Cronet tells nothing. It was on the connection
        that there was; else it was the one that had it opened.
        """
        for call in calls:
            call.settle()
        for call in sorted(calls, key=lambda call: (call.facts.opened != 1, call.facts.start_ns)):
            if call.opened_nothing():
                continue
            wire = None if call.facts.opened == 1 else call.engine.found(call)
            if not wire:
                self.numbered += 1
                wire = call.engine.opened(call, self.numbered)
            call.wire = wire


def codecs():
    """Those of exchanges: without compression, which Cronet would take off by itself."""
    return [name for name in exchange.codecs() if "+" not in name] if exchange else []


def refuse(setup):
    """What Cronet cannot do, and what is not there."""
    if setup["protocol"] not in ("h2", "h3"):
        raise Unsupported(f"protocol {setup['protocol']}", "this driver drives Cronet's h2 and h3")
    if setup.get("discovery") not in (None, "alt_svc"):
        raise Unsupported(f"discovery {setup['discovery']}", "this driver does not know it")
    if setup["codec"] not in ("json", *codecs()):
        raise Unsupported(f"codec {setup['codec']}", "neither this driver nor stacks/python has it")
    if setup.get("client_cert_file"):
        raise Unsupported("client_cert_file", "Cronet's C API takes no client certificate")
    for key in ("congestion", "observe"):
        if setup.get(key):
            raise Unsupported(f"{key} {setup[key]}", "this driver has no way to it")
    if not os.access(setup["ca_file"], os.R_OK):
        raise Failed(f"cannot read {setup['ca_file']}")


def refuse_step(step, protocol):
    kind = step["step"]
    if kind == "reconnect":
        if step["mode"] not in ("cold", "early_data"):
            raise Unsupported(f"reconnect {step['mode']}", "Cronet does not tell whether it resumed")
        if step["mode"] == "early_data" and protocol != "h3":
            raise Unsupported("reconnect early_data", "Chromium has early data over H3 only")
    elif kind == "exchange" and not exchange:
        raise Unsupported(f"step {kind}", "it needs the codecs of stacks/python")
    elif kind == "exchange" and not exchange.knows(step["kind"]):
        raise Unsupported(f"message {step['message']}", f"no codec here knows a {step['kind']}")
    elif kind not in CALLS + ("pause",):
        raise Unsupported(f"step {kind}", "Cronet has no messages to stream")


def early_data_plan(steps):
    """For each place, whether the engine in use from there to the next cold reconnect is to have
    early data: an engine's options are fixed when it starts."""
    plan, early = [], False
    for step in reversed(steps):
        if step["step"] == "reconnect" and step["mode"] == "early_data":
            early = True
        plan.append(early)
        if step["step"] == "reconnect" and step["mode"] == "cold":
            early = False
    return plan[::-1] or [False]
