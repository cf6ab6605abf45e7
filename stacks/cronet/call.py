"""One request: made before the run, started in it, read after it."""

import hashlib
import time

import errors
import library
from bodies import seeded
from engine import NOWHERE

ROOM = 4096  # bytes for a response of unknown length; the shim makes more when needed


class Call:
    under_way = {}  # by the shim's handle

    def __init__(self, session, step):
        self.session, self.shim, self.id = session, session.shim, step["id"]
        self.given_up = None  # the error's kind, if this driver ended the call
        self.exchange, self.work, self.undecodable = None, {}, None
        kind = step["step"]
        content_type, accept_encoding, self.body = None, None, b""
        if kind == "call":
            method, path, self.body = b"POST", "/echo", step["body"].encode()
            content_type, self.awaited_bytes = b"application/json", len(self.body)
        elif kind == "exchange":
            method, path, self.awaited_bytes = b"POST", f"/exchange/{step['kind']}", 0
            content_type, accept_encoding = session.content_type, b"identity"
            self.exchange = session.messages.prepare(step["message"], step["kind"])
        elif kind == "put":
            method, path, self.body = b"PUT", "/upload", seeded(step["bytes"])
            content_type, self.awaited_bytes = b"application/octet-stream", 0
        else:
            method, path = b"GET", f"/bytes/{step['bytes']}"
            self.awaited_bytes = step["bytes"]
        self.may_go_early = method == b"GET"  # Chromium sends safe methods only before it is sure
        self.handle = self.shim.call_new(self.id, (session.setup["url"] + path).encode(), method,
                                         content_type, accept_encoding, self.awaited_bytes or ROOM)
        self.shim.call_give(self.handle, self.body, len(self.body))

    @classmethod
    def ended(cls, shim, timeout_ns):
        """The next call that has ended, or None when the time has passed."""
        call = cls.under_way.pop(shim.call_next_ended(max(0, timeout_ns)), None)
        if call and call.exchange:
            call.take()
        return call

    def start(self):
        self.engine = self.session.engine
        self.engine.enter()
        if self.exchange:
            self.make()
        Call.under_way[self.handle] = self
        # Cronet refuses what cannot be started by its own callback, except for bad arguments.
        if self.shim.call_start(self.handle, self.engine.handle):
            raise ValueError(f"Cronet takes no such request: {self.session.setup['url']}")

    def make(self):
        """An exchange begins with its message and the body made of it."""
        self.work["start_ns"] = time.monotonic_ns()
        self.work["created_ns"] = time.monotonic_ns() if self.exchange.create() else None
        self.body = self.exchange.encode()
        self.work["encoded_ns"] = time.monotonic_ns()
        self.shim.call_give(self.handle, self.body, len(self.body))

    def take(self):
        """It ends with the answer decoded."""
        facts = self.shim.call_facts(self.handle).contents
        if facts.outcome != library.SUCCEEDED or facts.status >= 400:
            return
        self.work["received_ns"] = facts.end_ns
        try:
            self.exchange.decode(bytes(library.response_of(facts)))
        except Exception as error:  # whatever a library raises
            self.undecodable = str(error)
        self.work["end_ns"] = time.monotonic_ns()

    def give_up(self, kind):
        self.given_up = self.given_up or kind
        self.shim.call_cancel(self.handle)

    def settle(self):
        """Nothing of it is under way in Cronet any more; its facts are final."""
        self.wire = NOWHERE
        self.facts = self.shim.call_settle(self.handle).contents
        self.protocol = {"h2": "h2", "h3": "h3", "http/1.1": "h1"}.get(self.facts.protocol.decode())

    def opened_nothing(self):
        """Whether it failed before it had a connection."""
        kind = (self.error() or {}).get("kind")
        return self.facts.opened == -1 and kind in ("dns", "connect", "tls", "other")

    def row(self):
        """What the lab is told, once settled."""
        facts, wire = self.facts, self.wire
        row = {
            "type": "row", "id": self.id, "connection": wire.number,
            "start_ns": facts.start_ns,
            "first_byte_ns": facts.first_byte_ns or None,
            "end_ns": facts.end_ns,
            "status": facts.status or None,
            "request_bytes": facts.request_bytes,
            "response_bytes": facts.response_bytes,
            "protocol": self.protocol,
            "reused": wire.reused,
            "resumed": wire.resumed,
            "early_data": wire.early_data,
            "attempts": 1 + facts.rewinds if wire.number else 0,
            "error": self.error() or self.difference(),
            **self.work,
        }
        if facts.first_byte_ns:
            row["digest"] = hashlib.sha256(library.response_of(facts)).hexdigest()
        return {key: value for key, value in row.items() if value is not None}

    def error(self):
        facts = self.facts
        if facts.outcome == library.CANCELED:
            return {"kind": self.given_up, "detail": f"cancelled by the driver: {self.given_up}"}
        if facts.outcome == library.FAILED:
            detail = facts.message.decode(errors="replace")
            if facts.quic_error:
                detail += f" (QUIC {facts.quic_error})"
            return {"kind": errors.kind_of(facts.net_error), "detail": detail}
        if facts.status >= 400:
            return {"kind": "status", "detail": f"status {facts.status}"}
        if facts.status == 200 and facts.response_bytes < self.awaited_bytes:
            detail = f"{facts.response_bytes} of {self.awaited_bytes} bytes, which Cronet lets pass"
            return {"kind": "protocol", "detail": detail}
        if self.undecodable is not None:
            return {"kind": "protocol", "detail": self.undecodable}
        return None

    def difference(self):
        if self.exchange and self.exchange.differs():
            return {"kind": "protocol", "detail": "the echo differs"}
        return None

    def free(self):
        """Call and facts are gone; the engine may close."""
        self.shim.call_free(self.handle)
        self.handle = self.facts = None
        self.engine.leave()
