"""Drives libcurl by commute's driver protocol, version 2 (docs/driver-protocol.md)."""

import ipaddress
import os
import sys
import time
from urllib.parse import urlsplit

try:
    import pycurl
    from commute_codecs.media import CODECS
    from commute_driver import Failed, Unsupported, polling, serve

    from call import HTTP_VERSIONS, Call, collect
except ImportError as error:
    sys.exit(f"{error}; run: commute stacks install curl")


def main():
    serve(Driver())


class Driver:
    def hello(self):
        versions = dict(part.split("/", 1) for part in pycurl.version.split() if "/" in part)
        engines = ", ".join(f"{name} {versions[name]}" for name in ("nghttp2", "ngtcp2", "nghttp3"))
        return {
            "stack": "libcurl",
            "stack_version": f"{versions['libcurl']}, {engines}",
            "tls": f"OpenSSL {versions['OpenSSL']}",
            "protocols": list(HTTP_VERSIONS), "codecs": list(CODECS),
            "capabilities": ["mtls", "resume", "early_data", "parallel", "cancel", "plaintext", "jwt",
                             "origins", "fetch"],
            "clock": "monotonic", "resolution_ns": 1000,
            "phases": {phase: f"libcurl {counter}" for phase, counter in {
                "dns": "NAMELOOKUP_TIME_T", "connect": "CONNECT_TIME_T", "tls": "APPCONNECT_TIME_T",
                "request_sent": "POSTTRANSFER_TIME_T", "first_byte": "STARTTRANSFER_TIME_T",
                "end": "TOTAL_TIME_T"}.items()},
            "settings": {"tcp_nodelay": "on (libcurl's default)", "h2 windows": "libcurl's own",
                         "idle connections": "kept for 118 s (libcurl's default)",
                         "retries": "libcurl resends on a kept connection that proves dead"},
        }

    def open(self, setup):
        refuse(setup)
        if setup.get("warmup_url"):
            warm_up({key: value for key, value in setup.items() if key not in ("auth", "schema_file")}
                    | {"url": setup["warmup_url"]})
        return Session(setup)

    def close(self):
        pass


def refuse(setup):
    """Raises Unsupported for what libcurl cannot do and Failed for files that cannot be read."""
    if setup["protocol"] not in HTTP_VERSIONS:
        raise Unsupported(f"protocol {setup['protocol']}", "libcurl does not speak it")
    if setup["codec"] not in CODECS:
        raise Unsupported(f"codec {setup['codec']}", "no library in stacks/python has it")
    if is_plaintext(setup) and setup["protocol"] != "h1":
        raise Unsupported("plaintext", f"this driver speaks {setup['protocol']} over TLS only")
    if setup.get("auth") and setup["auth"]["scheme"] != "jwt":
        raise Unsupported(f"auth {setup['auth']['scheme']}", "this driver sends tokens only")
    if setup.get("congestion"):
        raise Unsupported(f"congestion {setup['congestion']}", "libcurl has no option for it")
    if setup.get("discovery"):
        raise Unsupported(f"discovery {setup['discovery']}", "pycurl has no option for it")
    if setup.get("observe"):
        raise Unsupported(f"observe {setup['observe']}", "libcurl has no frames")
    for key in ("ca_file", "client_cert_file", "client_key_file"):
        if setup.get(key) and not os.access(setup[key], os.R_OK):
            raise Failed(f"cannot read {setup[key]}")


def warm_up(setup):
    """Makes small downloads from another origin, with tickets and a connection of their own."""
    session = Session(setup)
    for _ in range(setup.get("warmup_calls", 1)):
        call = Call(session, {"id": 0, "step": "get", "bytes": 1})
        call.start()
        while True:
            session.connections.multi.perform()
            if collect(session.connections.multi):
                break
            session.connections.multi.select(0.01)
        if call.error:
            raise Failed(f"warm-up: {call.error['detail']}")
    session.close()


class Session(polling.Session):
    """All origins, with their connections and tickets in common. libcurl itself enforces `timeout_ns`."""

    def __init__(self, setup):
        self.setup = setup
        self.protocol = setup["protocol"]
        self.is_plaintext = is_plaintext(setup)
        self.headers = []  # of every request
        if setup.get("auth"):
            with open(setup["auth"]["token_file"]) as token:
                self.headers.append(f"authorization: Bearer {token.read().strip()}")
        self.host_is_address = is_address(urlsplit(setup["url"]).hostname)
        self.payloads = {}  # of fetch steps, by name
        for name, file in (setup.get("payloads") or {}).items():
            with open(file, "rb") as content:
                self.payloads[name] = content.read()
        self.messages = None
        if setup.get("schema_file"):
            # Loads the codecs' libraries, which only exchanges need.
            from commute_codecs.exchange import Messages
            self.messages = Messages(setup["codec"], setup["schema_file"], setup.get("values") or {})
        self.resumed = {}  # by our number of the connection
        self.opened = 0
        self.connections = None
        self.reconnect(0, "cold")

    def prepare(self, steps):
        for step in steps:
            self.refuse_step(step)
        return [Call(self, step, early) if is_call(step) else None
                for step, early in zip(steps, early_data(steps))]

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
        if step.get("payload") and step["payload"] not in self.payloads:
            raise Failed(f"setup has no payload {step['payload']!r}")
        if kind == "exchange":
            if self.messages is None:
                raise Failed("setup named no schema_file")
            if not self.messages.knows(step["kind"]):
                raise Unsupported(f"message {step['message']}", f"no codec here knows a {step['kind']}")
        elif kind == "reconnect":
            mode = step["mode"]
            if mode not in ("cold", "resume", "early_data"):
                raise Unsupported(f"reconnect {mode}", "this driver does not know it")
            if mode == "early_data" and self.protocol != "h3":
                raise Unsupported("reconnect early_data", "libcurl's early data was seen on H3 only")
        elif not is_call(step) and kind != "pause":
            raise Unsupported(f"step {kind}", "libcurl has no messages to stream")

    def reconnect(self, index, mode):
        if self.connections is not None:
            self.connections.retire()
        self.connections = Connections()
        if mode == "cold":
            self.share = pycurl.CurlShare()
            self.share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)
        return 0

    def wait(self, calls, timeout_ns):
        wait_s = timeout_ns / 1e9
        if not calls:
            time.sleep(max(0.0, wait_s))
            return []
        ended = []
        for multi in {call.connections.multi for call in calls}:
            multi.perform()
            ended += collect(multi)
            if not ended:
                timeout_ms = multi.timeout()
                if timeout_ms >= 0:
                    wait_s = min(wait_s, timeout_ms / 1000)
                if wait_s > 0 and multi.select(wait_s) == -1:
                    time.sleep(min(wait_s, 0.001))
        return ended

    def number(self, connections, conn_id):
        """Returns our number of a connection; libcurl starts again with each multi handle."""
        if conn_id not in connections.numbers:
            self.opened += 1
            connections.numbers[conn_id] = self.opened
        return connections.numbers[conn_id]

    def close(self):
        self.connections.retire()


class Connections:
    """The connections opened between two reconnects."""

    def __init__(self):
        self.multi = pycurl.CurlMulti()
        self.numbers = {}  # by libcurl's id
        self.calls = 0  # in flight
        self.retired = False

    def release(self):
        self.calls -= 1
        self.close_if_done()

    def retire(self):
        """Takes no more calls. Connections that still carry some close with the last of them."""
        self.retired = True
        self.close_if_done()

    def close_if_done(self):
        if self.retired and self.calls == 0:
            self.multi.close()


def early_data(steps):
    """Returns for each step whether its transfer gets the early data option.

    libcurl keeps the tickets of transfers with and without that option apart, so it must be set
    where the ticket is received, not only where it is used: on all between two cold reconnects.
    """
    options, begin, modes = [], 0, set()
    for index, step in enumerate([*steps, {"step": "reconnect", "mode": "cold"}]):
        if step["step"] != "reconnect":
            continue
        if step["mode"] != "cold":
            modes.add(step["mode"])
            continue
        if len(modes) > 1:
            raise Unsupported("reconnect resume and early_data without a cold one between",
                              "libcurl would use one's ticket for neither")
        options += ["early_data" in modes] * (index - begin)
        begin, modes = index, set()
    return options


def is_call(step):
    return step["step"] in ("call", "get", "put", "exchange", "fetch")


def is_plaintext(setup):
    return setup["url"].startswith("http:")


def is_address(host):
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return False


if __name__ == "__main__":
    main()
