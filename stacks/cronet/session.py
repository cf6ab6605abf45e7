"""One origin, the engines that reach it and the connections in them."""

import ctypes
import json
import os
import time
from urllib.parse import urlsplit

import library
import trust
from call import Call
from refusals import Failed, Unsupported

# No call of Cronet's closes a connection: a cold one is opened by a new engine. A ticket
# lives and dies with its engine, so to use one the old connection must idle out in it.
SHORT_IDLE_S = 1
IDLE_OUT_S = 2.0  # by then both ends have let go, also after a last late packet

SETTINGS = {
    "executor": "one thread",
    "read_buffer": "65536",
    "cold_connection": "a new engine",
    "early_data_connection": f"idle_connection_timeout_seconds={SHORT_IDLE_S} in the one engine "
                             f"(Cronet ships 30), then {IDLE_OUT_S:g} s of waiting",
    "h2": "QUIC off",
    "h3": "QUIC hint for the origin; Cronet may open TCP beside it",
    "h3_by_alt_svc": "QUIC on, no hint",
    "silent_retries": "on, as shipped: GETs on a kept connection that proves dead",
}


class Session:
    def __init__(self, shim, setup):
        self.shim, self.setup = shim, setup
        self.protocol = setup["protocol"]
        if self.protocol not in ("h2", "h3"):
            raise Unsupported(f"protocol {self.protocol}", "this driver speaks h2 and h3")
        self.discovery = setup.get("discovery")
        if self.discovery not in (None, "alt_svc"):
            raise Unsupported(f"discovery {self.discovery}", "this driver does not know it")
        if setup["codec"] != "json":
            raise Unsupported(f"codec {setup['codec']}", "the HTTP stacks carry JSON")
        if setup.get("client_cert_file"):
            raise Unsupported("mtls", "Cronet's C API takes no client certificate")
        for key in ("congestion", "observe"):
            if setup.get(key):
                raise Unsupported(f"{key} {setup[key]}", "Cronet has no option for it")
        if not os.access(setup["ca_file"], os.R_OK):
            raise Failed(f"cannot read {setup['ca_file']}")
        trust.trust(setup["ca_file"])
        self.connections = 0
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
            while not other.next_ended(setup["timeout_ns"]):
                call.cancel()
            error = call.row()["error"]
            call.free()
            if error:
                raise Failed(f"warm-up: {error['detail']}")
        other.close()

    def renew(self, early_data):
        """Leaves every connection and ticket behind; a new engine for what comes."""
        if self.engine:
            self.engine.retire()
        self.engine = Engine(self, early_data)

    def idle_out(self):
        """When every connection of the engine will have closed for want of use."""
        return time.monotonic_ns() + int(IDLE_OUT_S * 1e9)

    def next_ended(self, timeout_ns):
        return Call.of(self.shim.call_next_ended(max(0, timeout_ns)))

    def close(self):
        self.engine.retire()


class Engine:
    """A Cronet engine and what was seen of its connections."""

    def __init__(self, session, early_data):
        self.shim, self.session, self.early_data = session.shim, session, early_data
        origin = urlsplit(session.setup["url"])
        quic = session.protocol == "h3"
        hint = quic and not session.discovery
        idle = {"QUIC": {"idle_connection_timeout_seconds": SHORT_IDLE_S}}
        self.handle = self.shim.engine_open(ctypes.byref(library.EngineOptions(
            quic=quic,
            hint_host=origin.hostname.encode() if hint else None,
            hint_port=origin.port or 443,
            experimental=json.dumps(idle if early_data else {}).encode(),
            accept_any_certificate=quic)))
        if not self.handle:
            raise Failed("Cronet did not start its engine")
        self.calls = 0  # under way
        self.used = self.retired = False
        self.opened = []  # (start of the call that opened it, protocol, its number)

    def retire(self):
        """No new calls. Closes when those under way have ended: Cronet wants it so."""
        self.retired = True
        self.close_if_done()

    def release(self):
        self.calls -= 1
        self.close_if_done()

    def close_if_done(self):
        if self.retired and not self.calls:
            self.shim.engine_close(self.handle)
            self.handle = None
