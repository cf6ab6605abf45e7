"""One fetch(): called in the page, timed by DevTools' events."""

import base64
import json
import time

from commute_driver import polling, seeded

# Error kinds of the driver protocol by the beginning of net::ERR_...
KINDS = {
    "dns": ("NAME_NOT_RESOLVED", "NAME_RESOLUTION_FAILED"),
    "connect": ("CONNECTION_REFUSED", "CONNECTION_FAILED", "ADDRESS_UNREACHABLE",
                "CONNECTION_TIMED_OUT", "INTERNET_DISCONNECTED", "ADDRESS_INVALID"),
    "tls": ("CERT_", "SSL_", "BAD_SSL_CLIENT_AUTH_CERT", "QUIC_CERT_ROOT_NOT_KNOWN"),
    "reset": ("CONNECTION_CLOSED", "CONNECTION_RESET", "CONNECTION_ABORTED", "EMPTY_RESPONSE",
              "CONTENT_LENGTH_MISMATCH", "INCOMPLETE_CHUNKED_ENCODING", "SOCKET_NOT_CONNECTED"),
    "protocol": ("HTTP2_", "QUIC_", "INVALID_", "RESPONSE_HEADERS_"),
}


class Call(polling.Call):
    def __init__(self, session, step):
        self.session, self.id = session, step["id"]
        self.headers, self.body, self.expected_bytes = {}, b"", 0
        kind = step["step"]
        if kind == "call":
            self.method, self.path, self.body = "POST", "/echo", step["body"].encode()
            self.headers, self.expected_bytes = {"content-type": "application/json"}, len(self.body)
        elif kind == "put":
            self.method, self.path, self.body = "PUT", "/upload", seeded(step["bytes"])
            self.headers = {"content-type": "application/octet-stream"}
        elif kind == "fetch":
            self.method, self.path, self.headers = step["method"], step["path"], step.get("headers", {})
            self.body = session.payloads.get(step.get("payload"), b"")
        else:
            self.method, self.path = "GET", f"/bytes/{step['bytes']}"
            self.expected_bytes = step["bytes"]
        self.started = self.response = self.finished = self.failed = None  # events
        self.sent, self.received_bytes = False, 0
        self.redirected = False
        self.given_up = None  # the error's kind, if this driver ended the call
        self.answered = False  # the page has its response

    def set_body(self, page):
        if self.body:
            page.evaluate(f"setBody({self.id}, {json.dumps(base64.b64encode(self.body).decode())})")

    def start(self):
        start_ns = time.monotonic_ns()
        self.page = self.session.page
        self.page.enter()
        arguments = json.dumps([self.id, self.method, self.path, self.headers])
        self.session.calls[self.page.start(f"send(...{arguments})")] = self
        return start_ns

    def give_up(self, kind):
        self.given_up = self.given_up or kind
        self.page.start(f"giveUp({self.id})")
        return False

    def note(self, event, parameters):
        """Keeps what an event reports of this call."""
        if "redirectResponse" in parameters:  # DevTools announces another request, which is not sent
            self.response, self.redirected = parameters["redirectResponse"], True
        elif event == "Network.requestWillBeSent":
            self.started = parameters
        elif event == "Network.requestWillBeSentExtraInfo":
            self.sent = True
        elif event == "Network.responseReceived":
            self.response = parameters["response"]
        elif event == "Network.dataReceived":
            self.received_bytes += parameters["dataLength"]
        elif event == "Network.loadingFinished":
            self.finished = parameters
        elif event == "Network.loadingFailed":
            self.failed = parameters

    def has_ended(self):
        """Returns whether the page has its response and DevTools has reported the end."""
        return self.answered and (self.finished or self.failed)

    def settle(self):
        """Takes the body's digest from the page and finds the connection's number.

        DevTools names the connection with the response. A request that was sent but had no response
        used the connection seen last; if there was none, it caused one to be opened, which later
        calls find.
        """
        self.response_bytes, self.digest = self.page.evaluate(f"digest({self.id})")
        page, self.number, self.reused = self.page, 0, False
        if self.response:
            chromiums, self.reused = self.response["connectionId"], self.response["connectionReused"]
            if chromiums not in page.numbers:
                page.numbers[chromiums] = (self.reused and page.unnamed) or self.session.new_number()
            self.number = page.latest = page.numbers[chromiums]
        elif self.sent:
            self.reused = page.latest > 0
            page.latest = self.number = page.latest or self.session.new_number()
            page.unnamed = self.number

    def row(self):
        row = {
            "id": self.id, "connection": self.number,
            "start_ns": ns(self.started["timestamp"]),
            "end_ns": ns((self.finished or self.failed)["timestamp"]),
            "request_bytes": len(self.body) if self.response else 0,
            "response_bytes": self.response_bytes or self.received_bytes,
            "reused": self.reused, "attempts": 1 if self.number else 0, "error": self.error(),
        }
        if self.response:
            timing = self.response["timing"]

            def at(phase):
                ms = timing.get(phase, -1)
                return ns(timing["requestTime"] + ms / 1000) if ms >= 0 else None

            row |= {"status": self.response["status"], "protocol": self.response["protocol"],
                    "first_byte_ns": at("receiveHeadersStart") or at("receiveHeadersEnd"),
                    "digest": None if self.error() and self.failed else self.digest}
            if not self.body:
                row["request_sent_ns"] = at("sendEnd")
            if not self.reused:
                row |= {"dns_ns": at("dnsEnd"), "tls_ns": at("sslEnd"),
                        "connect_ns": at("sslStart") if row["protocol"] == "h2" else None}
        return row

    def error(self):
        if self.redirected:
            return None
        if self.failed and self.given_up:
            return {"kind": self.given_up, "detail": f"aborted: {self.given_up}"}
        if self.failed:
            text = self.failed["errorText"]
            if "CERTIFICATE" in text:
                return {"kind": "tls", "detail": text}
            if "QUIC" in text and not self.response:
                return {"kind": "reset", "detail": text}  # the peer closed it; the reason is not reported
            name = text.removeprefix("net::ERR_")
            kinds = [kind for kind, names in KINDS.items() if name.startswith(names)]
            return {"kind": kinds[0] if kinds else "other", "detail": text}
        if self.response["status"] >= 400:
            return {"kind": "status", "detail": f"status {self.response['status']}"}
        if self.response["status"] == 200 and self.response_bytes < self.expected_bytes:
            detail = f"{self.response_bytes} of {self.expected_bytes} bytes, which Chromium accepts"
            return {"kind": "protocol", "detail": detail}
        return None

    def free(self):
        self.page.leave()


def ns(seconds):
    return round(seconds * 1e9)
