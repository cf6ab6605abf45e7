"""One origin, and the engine that reaches it at the time."""

import os

import trust
from call import Call
from engine import IDLE_OUT_S, NOWHERE, SHORT_IDLE_S, Engine
from refusals import Failed, Unsupported

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
    "cache": "none",
}


class Session:
    def __init__(self, shim, setup):
        refuse(setup)
        trust.trust(setup["ca_file"])
        self.shim, self.setup, self.protocol = shim, setup, setup["protocol"]
        self.numbered = 0
        self.engine = None
        if setup.get("warmup_url"):
            self.warm_up()
        self.reconnect(early_data=False)

    def warm_up(self):
        """Small downloads from another origin, in an engine of their own."""
        setup = {**self.setup, "url": self.setup["warmup_url"], "warmup_url": None}
        other = Session(self.shim, setup)
        for _ in range(setup.get("warmup_calls", 1)):
            call = Call(other, {"id": 0, "step": "get", "bytes": 1})
            call.start()
            while not Call.ended(self.shim, setup["timeout_ns"]):
                call.give_up("timeout")
            call.settle()
            error = call.error()
            call.free()
            if error:
                raise Failed(f"warm-up: {error['detail']}")
        other.close()

    def reconnect(self, early_data):
        """Leaves every connection and ticket behind for a new engine."""
        self.close()
        self.engine = Engine(self.shim, self.setup, early_data)

    def close(self):
        if self.engine:
            self.engine.retire()

    def wires(self, calls):
        """What each settled call travelled on: openers first, so that the others find theirs.

        Of a call given up before its answer Cronet tells nothing. It was on the connection
        that there was; else it was the one that had it opened.
        """
        wires = {}
        for call in sorted(calls, key=lambda call: (call.facts.opened != 1, call.facts.start_ns)):
            wire = None
            if not call.opened_nothing():
                wire = call.facts.opened != 1 and call.engine.found(call)
                if not wire:
                    self.numbered += 1
                    wire = call.engine.opened(call, self.numbered)
            wires[call] = wire or NOWHERE
        return wires


def refuse(setup):
    """What Cronet cannot do, and what is not there."""
    if setup["protocol"] not in ("h2", "h3"):
        raise Unsupported(f"protocol {setup['protocol']}", "this driver drives Cronet's h2 and h3")
    if setup.get("discovery") not in (None, "alt_svc"):
        raise Unsupported(f"discovery {setup['discovery']}", "this driver does not know it")
    if setup["codec"] != "json":
        raise Unsupported(f"codec {setup['codec']}", "the HTTP stacks carry JSON")
    if setup.get("client_cert_file"):
        raise Unsupported("client_cert_file", "Cronet's C API takes no client certificate")
    for key in ("congestion", "observe"):
        if setup.get(key):
            raise Unsupported(f"{key} {setup[key]}", "this driver has no way to it")
    if not os.access(setup["ca_file"], os.R_OK):
        raise Failed(f"cannot read {setup['ca_file']}")
