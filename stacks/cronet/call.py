"""One request: made before the run, started in it, read after it."""

import functools
import hashlib

import library


class Call:
    under_way = {}

    def __init__(self, session, step):
        self.session, self.shim, self.id = session, session.shim, step["id"]
        self.cancel_reason = None
        kind = step["step"]
        self.safe = kind == "get"
        method, content_type, body = b"POST", None, b""
        if kind == "call":
            path, content_type, body = "/echo", b"application/json", step["body"].encode()
            room = len(body)
        elif kind == "put":
            path, content_type, body = "/upload", b"application/octet-stream", seeded(step["bytes"])
            method, room = b"PUT", 4096
        else:
            path, method, room = f"/bytes/{step['bytes']}", b"GET", step["bytes"]
        self.body = body  # kept: the shim reads it
        self.handle = self.shim.call_new(self.id, (session.setup["url"] + path).encode(), method,
                                         content_type, body, len(body), room + 1)

    @classmethod
    def of(cls, handle):
        return cls.under_way.pop(handle, None)

    def start(self):
        self.engine = self.session.engine
        self.engine.used = True
        self.engine.calls += 1
        Call.under_way[self.handle] = self
        self.shim.call_start(self.handle, self.engine.handle)

    def cancel(self, reason="timeout"):
        self.cancel_reason = reason
        self.shim.call_cancel(self.handle)

    def facts(self):
        return self.shim.call_settle(self.handle).contents

    def row(self):
        facts = self.facts()
        digest = hashlib.sha256(library.response_of(facts)).hexdigest()
        row = {
            "type": "row", "id": self.id, "connection": 1,
            "start_ns": facts.start_ns,
            "first_byte_ns": facts.first_byte_ns or None,
            "end_ns": facts.end_ns,
            "status": facts.status or None,
            "request_bytes": facts.request_bytes,
            "response_bytes": facts.response_bytes,
            "digest": digest if facts.first_byte_ns else None,
            "protocol": facts.protocol.decode(),
            "reused": facts.opened == 0,
            "attempts": 1 + facts.rewinds,
            "error": self.error(facts),
        }
        return row

    def error(self, facts):
        if facts.outcome in (library.FAILED,library.CANCELED):
            return {"kind": "other", "detail": facts.message.decode() + " %d %d %s" % (facts.net_error, facts.quic_error, self.cancel_reason)}
        if facts.status >= 400:
            return {"kind": "status", "detail": f"status {facts.status}"}
        return None

    def free(self):
        self.shim.call_free(self.handle)
        self.handle = None


@functools.lru_cache(maxsize=2)
def seeded(length):
    """The first bytes of the house's file: SplitMix64 from seed 0, little endian."""
    mask, state, words = (1 << 64) - 1, 0, bytearray()
    for _ in range((length + 7) // 8):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        words += (z ^ (z >> 31)).to_bytes(8, "little")
    return bytes(words[:length])
