"""One libcurl transfer: prepared before the run, started in it, read when it has ended."""

import hashlib
import time
from io import BytesIO

import pycurl
from commute_codecs import media
from commute_driver import polling, seeded

CHUNKS_PER_HASH = 1024  # chunks of a body that are joined for one update of the digest

HTTP_VERSIONS = {
    "h1": pycurl.CURL_HTTP_VERSION_1_1,
    "h2": pycurl.CURL_HTTP_VERSION_2TLS,
    "h3": pycurl.CURL_HTTP_VERSION_3ONLY,
}

# By CURLINFO_HTTP_VERSION (curl.h).
PROTOCOLS = {1: "h1", 2: "h1", 3: "h2", 30: "h3"}

# Error kinds of the driver protocol by CURLE_* (curl.h).
KINDS = {
    6: "dns", 7: "connect", 28: "timeout",
    35: "tls", 58: "tls", 59: "tls", 60: "tls", 77: "tls", 83: "tls", 98: "tls",
    18: "reset", 52: "reset", 55: "reset", 56: "reset",
    1: "protocol", 8: "protocol", 16: "protocol", 61: "protocol", 92: "protocol", 95: "protocol",
}


class Call(polling.Call):
    def __init__(self, session, step, early_data=False):
        self.id, self.session = step["id"], session
        self.cancel_after_ns = step.get("cancel_after_ns")
        self.exchange, self.exchange_times = None, {}
        self.chunks, self.error = [], None
        self.sendings = 0  # how often libcurl began to send the request
        self.opened_ns = None  # when libcurl made its first socket for the transfer
        curl = self.curl = pycurl.Curl()
        setup, kind = session.setup, step["step"]
        headers = [f"x-commute-id: {self.id}", *session.headers]
        if kind == "call":
            path, body = "/echo", step["body"].encode()
            headers.append("content-type: application/json")
            curl.setopt(curl.POST, 1)
            curl.setopt(curl.POSTFIELDS, body)
        elif kind == "exchange":
            path, self.exchange = f"/exchange/{step['kind']}", session.messages.prepare(step["message"], step["kind"])
            headers += [f"{name}: {value}" for name, value in media.headers(setup["codec"]).items()]
            curl.setopt(curl.POST, 1)
        elif kind == "fetch":
            path = step["path"]
            headers += [f"{name}: {value}" for name, value in step.get("headers", {}).items()]
            curl.setopt(curl.PATH_AS_IS, 1)
            if step["method"] in ("POST", "PUT", "PATCH"):
                curl.setopt(curl.POST, 1)
                curl.setopt(curl.POSTFIELDS, session.payload_of(step))
                if not step.get("payload"):
                    headers.append("content-type:")  # libcurl would name a form's
            curl.setopt(curl.CUSTOMREQUEST, step["method"])
        elif kind == "get":
            path = f"/bytes/{step['bytes']}"
        elif kind == "put":
            path, body = "/upload", seeded(step["bytes"])
            headers.append("content-type: application/octet-stream")
            curl.setopt(curl.UPLOAD, 1)
            curl.setopt(curl.INFILESIZE_LARGE, len(body))
            curl.setopt(curl.READFUNCTION, BytesIO(body).read)
        curl.setopt(curl.URL, session.origin_of(step) + path)
        curl.setopt(curl.HTTPHEADER, headers)
        curl.setopt(curl.USERAGENT, "")
        curl.setopt(curl.CAINFO, setup["ca_file"])
        if setup.get("client_cert_file"):
            curl.setopt(curl.SSLCERT, setup["client_cert_file"])
            curl.setopt(curl.SSLKEY, setup["client_key_file"])
        curl.setopt(curl.HTTP_VERSION, HTTP_VERSIONS[session.protocol])
        curl.setopt(curl.PIPEWAIT, session.protocol != "h1")
        curl.setopt(curl.TIMEOUT_MS, max(1, setup["timeout_ns"] // 1_000_000))
        curl.setopt(curl.NOSIGNAL, 1)
        curl.setopt(curl.SOCKOPTFUNCTION, self.opening)
        curl.setopt(curl.PREREQFUNCTION, self.sending)
        curl.setopt(curl.OPT_CERTINFO, 1)
        if early_data:
            curl.setopt(curl.SSL_OPTIONS, curl.SSLOPT_EARLYDATA)
        curl.setopt(curl.WRITEFUNCTION, self.chunks.append)
        curl.call = self

    def start(self):
        session, curl = self.session, self.curl
        curl.setopt(curl.SHARE, session.share)
        self.connections = session.connections
        self.connections.calls += 1
        self.start_ns = now_ns()
        if self.exchange:
            self.exchange_times = self.encode()
        self.connections.multi.add_handle(curl)
        # libcurl's counters start when it first looks at a transfer; this makes it look now.
        self.connections.multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self.first_look_ns = now_ns()
        return self.start_ns

    def opening(self, _socket, _purpose):
        self.opened_ns = self.opened_ns or now_ns()
        return pycurl.SOCKOPT_OK

    def sending(self, *_addresses):
        self.sendings += 1
        return pycurl.PREREQFUNC_OK

    def encode(self):
        """Makes the message of an exchange and sets its encoding as the request's body."""
        created_ns = now_ns() if self.exchange.create() else None
        body = self.exchange.encode()
        encoded_ns = now_ns()
        self.curl.setopt(pycurl.POSTFIELDS, body)
        return {"created_ns": created_ns, "encoded_ns": encoded_ns}

    def decode(self):
        """Decodes the answer of an exchange; the call ends with that."""
        self.fields["received_ns"] = self.fields["end_ns"]
        try:
            self.exchange.decode(b"".join(self.chunks))
        except Exception as error:  # a library may raise anything
            self.error = {"kind": "protocol", "detail": str(error)}
        self.fields["end_ns"] = now_ns()

    def give_up(self, kind):
        self.end(None, f"given up after {self.cancel_after_ns // 1_000_000} ms")
        return True

    def end(self, code, detail):
        """Reads libcurl's counters, which go with the transfer. `code` is None if it was cancelled."""
        curl, info = self.curl, self.curl.getinfo
        # libcurl has not counted the end of a transfer that was cut off.
        counted_ns = info(pycurl.TOTAL_TIME_T) * 1000
        total_ns = now_ns() - self.first_look_ns if code is None else counted_ns
        # The counters started before libcurl's first look was over and ended before now. The
        # earlier of the two bounds is some tens of µs late; no phase ends before it really did.
        base_ns = min(self.first_look_ns, now_ns() - total_ns)
        early = info(pycurl.EARLYDATA_SENT_T)
        connects, conn_id = info(pycurl.NUM_CONNECTS), info(pycurl.CONN_ID)
        port, status = info(pycurl.LOCAL_PORT), info(pycurl.RESPONSE_CODE)
        retried, phases_ns, end_ns = self.sendings > 1, base_ns, base_ns + total_ns
        if retried and self.opened_ns:
            # Where a kept connection has failed, libcurl sends the request again over a new one and counts phases
            # from then. It makes a socket as soon as the name is resolved.
            phases_ns = max(base_ns, self.opened_ns - info(pycurl.NAMELOOKUP_TIME_T) * 1000)
        protocol = PROTOCOLS.get(info(pycurl.INFO_HTTP_VERSION))
        quic = (protocol or self.session.protocol) == "h3"
        opener = connects > 0

        def at(counter):
            us = info(counter)
            return min(phases_ns + us * 1000, end_ns) if us > 0 else None

        # A failed attempt to connect has an id too.
        handshake = info(pycurl.APPCONNECT_TIME_T) > 0 or status > 0
        connected = conn_id >= 0 and port > 0 and (handshake or not opener)
        number = self.session.number(self.connections, conn_id) if connected else 0
        self.fields = {
            "id": self.id, "connection": number,
            "local_port": port if port > 0 else None,
            "start_ns": self.start_ns,
            **self.exchange_times,
            "dns_ns": at(pycurl.NAMELOOKUP_TIME_T) if opener and not self.session.host_is_address else None,
            "connect_ns": at(pycurl.CONNECT_TIME_T) if opener and not quic else None,
            "tls_ns": at(pycurl.APPCONNECT_TIME_T) if opener else None,
            "request_sent_ns": at(pycurl.POSTTRANSFER_TIME_T) if status or code == 0 else None,
            "first_byte_ns": at(pycurl.STARTTRANSFER_TIME_T) if status else None,
            "end_ns": end_ns,
            "status": status or None,
            "request_bytes": info(pycurl.SIZE_UPLOAD_T) if connected else 0,
            "protocol": protocol,
            "reused": not opener and number > 0,
            "early_data": early > 0,
            "attempts": (2 if early < 0 or retried else 1) if connected else 0,
        }
        if opener and status:
            # A server that resumes a session sends no certificate.
            self.session.resumed[number] = not self.session.is_plaintext and not info(pycurl.INFO_CERTINFO)
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
            self.decode()
        self.connections.multi.remove_handle(curl)
        curl.close()
        self.connections.release()

    def row(self):
        """Returns the row's fields, with the body's digest, which is not part of the timed call."""
        digest, size = hashlib.sha256(), 0
        for begin in range(0, len(self.chunks), CHUNKS_PER_HASH):
            part = b"".join(self.chunks[begin:begin + CHUNKS_PER_HASH])
            digest.update(part)
            size += len(part)
        if self.exchange and not self.error and self.exchange.differs():
            self.error = {"kind": "protocol", "detail": "the echo differs"}
        return {
            **self.fields,
            "resumed": self.session.resumed.get(self.fields["connection"], False),
            "response_bytes": size,
            "error": self.error,
            "digest": digest.hexdigest() if self.fields["first_byte_ns"] else None,
        }


def collect(multi):
    """Ends every transfer that libcurl has finished; returns their calls."""
    ended, queued = [], 1
    while queued:
        queued, succeeded, failed = multi.info_read()
        for curl in succeeded:
            curl.call.end(0, None)
            ended.append(curl.call)
        for curl, code, detail in failed:
            curl.call.end(code, detail)
            ended.append(curl.call)
    return ended


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
