"""One request: prepared before the run, started in it, read when it has ended."""

import hashlib
import time

from commute_driver import polling, seeded

import errors
import library
from engine import NO_CONNECTION

ROOM = 4096  # bytes for a response of unknown length; the shim makes more when needed


class Call(polling.Call):
    in_flight = {}  # by the shim's handle

    def __init__(self, session, step):
        self.session, self.shim, self.id = session, session.shim, step["id"]
        self.given_up = None  # the error's kind, if this driver ended the call
        self.exchange, self.exchange_times, self.decode_error = None, {}, None
        kind = step["step"]
        content_type, accept_encoding, self.body, headers = None, None, b"", {}
        if kind == "call":
            method, path, self.body = b"POST", "/echo", step["body"].encode()
            content_type, self.expected_bytes = b"application/json", len(self.body)
        elif kind == "exchange":
            method, path, self.expected_bytes = b"POST", f"/exchange/{step['kind']}", 0
            content_type, accept_encoding = session.content_type, b"identity"
            self.exchange = session.messages.prepare(step["message"], step["kind"])
        elif kind == "fetch":
            method, path, self.body = step["method"].encode(), step["path"], session.payload_of(step)
            headers = dict(step.get("headers") or {})
            content_type, self.expected_bytes = headers.pop("content-type", "").encode() or None, 0
        elif kind == "put":
            method, path, self.body = b"PUT", "/upload", seeded(step["bytes"])
            content_type, self.expected_bytes = b"application/octet-stream", 0
        else:
            method, path = b"GET", f"/bytes/{step['bytes']}"
            self.expected_bytes = step["bytes"]
        self.origin = session.origin_of(step)
        self.may_go_early = method == b"GET"  # Chromium sends only safe methods as early data
        self.handle = self.shim.call_new(self.id, (self.origin + path).encode(), method,
                                         content_type, accept_encoding, self.expected_bytes or ROOM)
        for name, value in headers.items():
            self.shim.call_add_header(self.handle, name.encode(), value.encode())
        self.shim.call_set_body(self.handle, self.body, len(self.body))

    @classmethod
    def next_ended(cls, shim, timeout_ns):
        """Returns the next call that has ended, or None after the timeout."""
        call = cls.in_flight.pop(shim.call_next_ended(max(0, timeout_ns)), None)
        if call and call.exchange:
            call.decode()
        return call

    def start(self):
        start_ns = time.monotonic_ns()
        self.engine = self.session.engine
        self.engine.enter()
        if self.exchange:
            self.encode()
        Call.in_flight[self.handle] = self
        # Cronet reports a call that cannot be started by its callback, except for bad arguments.
        if self.shim.call_start(self.handle, self.engine.handle):
            raise ValueError(f"Cronet refuses such a request: {self.origin}")
        return start_ns

    def encode(self):
        """Makes the message of an exchange and sets its encoding as the request's body."""
        self.exchange_times["start_ns"] = time.monotonic_ns()
        self.exchange_times["created_ns"] = time.monotonic_ns() if self.exchange.create() else None
        self.body = self.exchange.encode()
        self.exchange_times["encoded_ns"] = time.monotonic_ns()
        self.shim.call_set_body(self.handle, self.body, len(self.body))

    def decode(self):
        """Decodes the answer of an exchange; the call ends with that."""
        facts = self.shim.call_facts(self.handle).contents
        if facts.outcome != library.SUCCEEDED or facts.status >= 400:
            return
        self.exchange_times["received_ns"] = facts.end_ns
        try:
            self.exchange.decode(bytes(library.response_of(facts)))
        except Exception as error:  # a library may raise anything
            self.decode_error = str(error)
        self.exchange_times["end_ns"] = time.monotonic_ns()

    def give_up(self, kind):
        self.given_up = self.given_up or kind
        self.shim.call_cancel(self.handle)
        return False

    def settle(self):
        """Waits until Cronet has finished with the call; its facts are final then."""
        self.connection = NO_CONNECTION
        self.facts = self.shim.call_settle(self.handle).contents
        self.protocol = {"h2": "h2", "h3": "h3", "http/1.1": "h1"}.get(self.facts.protocol.decode())

    def opened_nothing(self):
        """Returns whether the call failed before it had a connection."""
        kind = (self.error() or {}).get("kind")
        return self.facts.opened == -1 and kind in ("dns", "connect", "tls", "other")

    def row(self):
        """Returns the row's fields. The call must be settled."""
        facts, connection = self.facts, self.connection
        return {
            "id": self.id, "connection": connection.number,
            "start_ns": facts.start_ns,
            "first_byte_ns": facts.first_byte_ns or None,
            "end_ns": facts.end_ns,
            "status": facts.status or None,
            "request_bytes": facts.request_bytes,
            "response_bytes": facts.response_bytes,
            "digest": hashlib.sha256(library.response_of(facts)).hexdigest() if facts.first_byte_ns else None,
            "protocol": self.protocol,
            "reused": connection.reused,
            "resumed": connection.resumed,
            "early_data": connection.early_data,
            "attempts": 1 + facts.rewinds if connection.number else 0,
            "error": self.error() or self.difference(),
            **self.exchange_times,
        }

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
        if facts.status == 200 and facts.response_bytes < self.expected_bytes:
            detail = f"{facts.response_bytes} of {self.expected_bytes} bytes, which Cronet accepts"
            return {"kind": "protocol", "detail": detail}
        if self.decode_error is not None:
            return {"kind": "protocol", "detail": self.decode_error}
        return None

    def difference(self):
        if self.exchange and self.exchange.differs():
            return {"kind": "protocol", "detail": "the echo differs"}
        return None

    def free(self):
        """Frees the call and its facts; the engine may close then."""
        self.shim.call_free(self.handle)
        self.handle = self.facts = None
        self.engine.leave()
