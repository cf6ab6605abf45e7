"""One libcurl transfer: made before the run, started in it, read after it."""

import functools
import hashlib
import sys
import time
from io import BytesIO
from pathlib import Path

missing = None
try:
    import pycurl
except ImportError as error:
    pycurl, missing = None, error

# Exchanges are of the codecs of stacks/python; this driver can do without.
sys.path.append(str(Path(__file__).resolve().parent.parent / "python"))
try:
    import exchange
except ImportError:
    exchange = None

CHUNKS_PER_HASH = 1024  # chunks joined at a time when a body is digested


class Call:
    def __init__(self, session, step, early_data=False):
        self.id, self.session = step["id"], session
        self.exchange = None
        self.chunks, self.error = [], None
        curl = self.curl = pycurl.Curl()
        setup, kind = session.setup, step["step"]
        headers = [f"x-commute-id: {self.id}"]
        if kind == "call":
            path, body = "/echo", step["body"].encode()
            headers.append("content-type: application/json")
            curl.setopt(curl.POST, 1)
            curl.setopt(curl.POSTFIELDS, body)
        elif kind == "exchange":
            path, self.exchange = f"/exchange/{step['kind']}", session.messages.prepare(step["message"], step["kind"])
            headers += [f"{name}: {value}" for name, value in exchange.media(setup["codec"]).items()]
            curl.setopt(curl.POST, 1)
        elif kind == "get":
            path = f"/bytes/{step['bytes']}"
        elif kind == "put":
            path, body = "/upload", seeded(step["bytes"])
            headers.append("content-type: application/octet-stream")
            curl.setopt(curl.UPLOAD, 1)
            curl.setopt(curl.INFILESIZE_LARGE, len(body))
            curl.setopt(curl.READFUNCTION, BytesIO(body).read)
        curl.setopt(curl.URL, setup["url"] + path)
        curl.setopt(curl.HTTPHEADER, headers)
        curl.setopt(curl.USERAGENT, "")
        curl.setopt(curl.CAINFO, setup["ca_file"])
        if setup.get("client_cert_file"):
            curl.setopt(curl.SSLCERT, setup["client_cert_file"])
            curl.setopt(curl.SSLKEY, setup["client_key_file"])
        curl.setopt(curl.HTTP_VERSION, VERSIONS[session.protocol]())
        curl.setopt(curl.PIPEWAIT, session.protocol != "h1")
        curl.setopt(curl.TIMEOUT_MS, max(1, setup["timeout_ns"] // 1_000_000))
        curl.setopt(curl.NOSIGNAL, 1)
        curl.setopt(curl.OPT_CERTINFO, 1)
        if early_data:
            curl.setopt(curl.SSL_OPTIONS, curl.SSLOPT_EARLYDATA)
        curl.setopt(curl.WRITEFUNCTION, self.chunks.append)
        curl.call = self

    def start(self):
        session, curl = self.session, self.curl
        curl.setopt(curl.SHARE, session.share)
        self.wires = session.wires
        self.wires.calls += 1
        self.start_ns = now_ns()
        self.made = self.make() if self.exchange else {}
        self.wires.multi.add_handle(curl)
        # libcurl's counters start when it first looks at a transfer: let it, now.
        self.wires.multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self.looked_ns = now_ns()

    def make(self):
        """An exchange begins with its message and the body made of it."""
        created_ns = now_ns() if self.exchange.create() else None
        body = self.exchange.encode()
        encoded_ns = now_ns()
        self.curl.setopt(pycurl.POSTFIELDS, body)
        return {"created_ns": created_ns, "encoded_ns": encoded_ns}

    def take(self):
        """It ends with the answer decoded."""
        self.row["received_ns"] = self.row["end_ns"]
        try:
            self.exchange.decode(b"".join(self.chunks))
        except Exception as error:  # whatever a library raises
            self.error = {"kind": "protocol", "detail": str(error)}
        self.row["end_ns"] = now_ns()

    def cancel(self, after_ns):
        """The application gives the call up."""
        self.end(None, f"given up after {after_ns // 1_000_000} ms")

    def end(self, code, detail):
        """libcurl is done with it; reads the counters while they are there."""
        curl, info = self.curl, self.curl.getinfo
        # Of a transfer cut off libcurl has counted no end.
        counted_ns = info(pycurl.TOTAL_TIME_T) * 1000
        total_ns = now_ns() - self.looked_ns if code is None else counted_ns
        # The counters started before libcurl had looked, and ended before now: the earlier
        # of both bounds is some tens of µs late, and no phase ends before it did.
        base_ns = min(self.looked_ns, now_ns() - total_ns)
        early = info(pycurl.EARLYDATA_SENT_T)
        connects, conn_id = info(pycurl.NUM_CONNECTS), info(pycurl.CONN_ID)
        port, status = info(pycurl.LOCAL_PORT), info(pycurl.RESPONSE_CODE)
        spoken = SPOKEN.get(info(pycurl.INFO_HTTP_VERSION))
        quic = (spoken or self.session.protocol) == "h3"
        opener = connects > 0

        def at(counter):
            us = info(counter)
            return base_ns + us * 1000 if us > 0 else None

        # An attempt to connect has an id too; one that failed is no connection.
        handshake = info(pycurl.APPCONNECT_TIME_T) > 0 or status > 0
        connected = conn_id >= 0 and port > 0 and (handshake or not opener)
        number = self.session.number(self.wires, conn_id) if connected else 0
        self.row = {
            "type": "row", "id": self.id, "connection": number,
            "local_port": port if port > 0 else None,
            "start_ns": self.start_ns,
            **self.made,
            "dns_ns": at(pycurl.NAMELOOKUP_TIME_T) if opener and not self.session.literal else None,
            "connect_ns": at(pycurl.CONNECT_TIME_T) if opener and not quic else None,
            "tls_ns": at(pycurl.APPCONNECT_TIME_T) if opener else None,
            "request_sent_ns": at(pycurl.POSTTRANSFER_TIME_T) if status or code == 0 else None,
            "first_byte_ns": at(pycurl.STARTTRANSFER_TIME_T) if status else None,
            "end_ns": base_ns + total_ns,
            "status": status or None,
            "request_bytes": info(pycurl.SIZE_UPLOAD_T) if connected else 0,
            "protocol": spoken,
            "reused": not opener and number > 0,
            "early_data": early > 0,
            "attempts": (2 if early < 0 else 1) if connected else 0,
        }
        if opener and status:
            self.session.resumed[number] = not info(pycurl.INFO_CERTINFO)
        if code is None:
            self.error = {"kind": "cancelled", "detail": detail}
        elif code:
            kind = KINDS.get(code, "other")
            if kind == "reset" and not connected:
                kind = "connect"
            self.error = {"kind": kind, "detail": detail or f"curl error {code}"}
        elif status >= 400:
            self.error = {"kind": "status", "detail": f"status {status}"}
        elif self.exchange:
            self.take()
        self.wires.multi.remove_handle(curl)
        curl.close()
        self.wires.release()

    def report(self, send):
        """Digests the body, which is no part of the call, and sends the row."""
        digest, size = hashlib.sha256(), 0
        for at in range(0, len(self.chunks), CHUNKS_PER_HASH):
            part = b"".join(self.chunks[at:at + CHUNKS_PER_HASH])
            digest.update(part)
            size += len(part)
        if self.exchange and not self.error and self.exchange.differs():
            self.error = {"kind": "protocol", "detail": "the echo differs"}
        resumed = self.session.resumed.get(self.row["connection"], False)
        row = {**self.row, "resumed": resumed, "response_bytes": size, "error": self.error}
        if row["first_byte_ns"]:
            row["digest"] = digest.hexdigest()
        send({key: value for key, value in row.items() if value is not None})


def collect(multi):
    """Ends every transfer that libcurl has finished; returns their calls."""
    ended, more = [], 1
    while more:
        more, well, ill = multi.info_read()
        for curl in well:
            curl.call.end(0, None)
            ended.append(curl.call)
        for curl, code, detail in ill:
            curl.call.end(code, detail)
            ended.append(curl.call)
    return ended


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


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


# Looked up late, so that `hello` can say that pycurl is missing.
VERSIONS = {
    "h1": lambda: pycurl.CURL_HTTP_VERSION_1_1,
    "h2": lambda: pycurl.CURL_HTTP_VERSION_2TLS,
    "h3": lambda: pycurl.CURL_HTTP_VERSION_3ONLY,
}

# CURLINFO_HTTP_VERSION's values (curl.h).
SPOKEN = {1: "h1", 2: "h1", 3: "h2", 30: "h3"}

# CURLE_* (curl.h) in the protocol's words.
KINDS = {
    6: "dns", 7: "connect", 28: "timeout",
    35: "tls", 58: "tls", 59: "tls", 60: "tls", 77: "tls", 83: "tls", 98: "tls",
    18: "reset", 52: "reset", 55: "reset", 56: "reset",
    1: "protocol", 8: "protocol", 16: "protocol", 61: "protocol", 92: "protocol", 95: "protocol",
}
