"""A small but complete driver by docs/driver-protocol.md: Python's http.client, one call at a time."""
import hashlib, http.client, json, os, platform, select, signal, socket, ssl, time
from pathlib import Path
from urllib.parse import urlsplit

HELLO = {"type": "hello", "version": 2, "stack": "http.client", "stack_version": platform.python_version(),
         "tls": ssl.OPENSSL_VERSION, "protocols": ["h1"], "capabilities": ["fetch"], "clock": "monotonic",
         "resolution_ns": 1, "phases": {"tls": "connect()", "request_sent": "request()",
                                        "first_byte": "getresponse()", "end": "read() returned"}}
SUPPORTED = {"protocol": "h1", "codec": "json", "client_cert_file": None, "warmup_url": None,
             "congestion": None, "discovery": None, "observe": None}  # what a setup may ask for
KINDS = {"timeout": TimeoutError, "dns": socket.gaierror, "connect": ConnectionRefusedError,
         "reset": (ConnectionError, ssl.SSLEOFError, http.client.IncompleteRead), "tls": ssl.SSLError,
         "protocol": http.client.HTTPException, "other": OSError}  # the first match

def main():
    signal.signal(signal.SIGALRM, on_timeout)
    with open(os.environ["COMMUTE_IN"]) as requests, open(os.environ["COMMUTE_OUT"], "w", 1) as replies:
        for request in map(json.loads, requests):
            if request["type"] == "close":
                break
            elif request["type"] == "hello":
                answers = [HELLO]
            elif what := find_unsupported(request):
                answers = [{"type": "unsupported", "what": what, "reason": "the example does not do it"}]
            elif request["type"] == "setup":
                origin, answers = Origin(request), [{"type": "ready"}]
            else:
                answers = origin.run(request["steps"])
            replies.writelines(json.dumps(answer) + "\n" for answer in answers)

def find_unsupported(request):
    """Returns the first thing in a request that is unknown or not supported, before any of it is done."""
    found = [] if request["type"] in ("setup", "run") else [f"request {request['type']}"]
    found += [f"{key} {request[key]}" for key, ours in SUPPORTED.items() if request.get(key) not in (None, ours)]
    for step in request.get("steps", []):
        if (step["step"] not in ("call", "get", "put", "fetch", "pause", "reconnect") or step.get("cancel_after_ns")
                or step.get("mode", "cold") != "cold" or step.get("start") not in (None, {"after": step["id"] - 1})):
            found.append(f"step {step}"[:200])  # only one after another, and only cold
    return found[0] if found else None

def prepare(step, payloads):  # method, path, body and header fields of a call; None for other steps
    of_json, of_bytes = {"content-type": "application/json"}, {"content-type": "application/octet-stream"}
    return {"call": lambda: ("POST", "/echo", step["body"].encode(), of_json),
            "get": lambda: ("GET", f"/bytes/{step['bytes']}", b"", {}),
            "put": lambda: ("PUT", "/upload", seeded(step["bytes"]), of_bytes),
            "fetch": lambda: (step["method"], step["path"], payloads.get(step.get("payload"), b""),
                              step.get("headers", {}))}.get(step["step"], lambda: None)()

class Origin:
    def __init__(self, setup):
        url, trusted = urlsplit(setup["url"]), ssl.create_default_context(cafile=setup["ca_file"])
        self.http = http.client.HTTPSConnection(url.hostname, url.port, context=trusted)
        self.timeout_s, self.opened = setup["timeout_ns"] / 1e9, 0
        self.payloads = {name: Path(file).read_bytes() for name, file in setup.get("payloads", {}).items()}

    def run(self, steps):
        requests, ended = [prepare(step, self.payloads) for step in steps], []  # bodies are made before the run starts
        last = {step["group"]: step["id"] for step, request in zip(steps, requests) if request}
        for step, request in zip(steps, requests):
            if request:
                ended.append(self.call(step["id"], *request))
            elif step["step"] == "pause":
                time.sleep(step["ns"] / 1e9)
            else:
                self.http.close()  # the next call opens one
            if last.get(step["group"]) == step["id"]:
                for row, received in ended:  # now that no call is running
                    yield row | {"response_bytes": len(received), "digest": hashlib.sha256(received).hexdigest()}
                ended = []
        yield {"type": "done"}

    def call(self, id, method, path, body, headers):
        row, received = {"type": "row", "id": id, "start_ns": time.monotonic_ns(), "request_bytes": len(body)}, b""
        try:
            signal.setitimer(signal.ITIMER_REAL, self.timeout_s)
            if self.http.sock and select.select([self.http.sock], [], [], 0)[0]:
                self.http.close()  # readable while idle: the server has closed it
            if not row.setdefault("reused", self.http.sock is not None):
                self.http.connect()
                row["tls_ns"], self.opened = time.monotonic_ns(), self.opened + 1
            row |= {"connection": self.opened, "protocol": "h1", "attempts": 1}
            self.http.request(method, path, body or None, {"x-commute-id": id} | headers)
            row |= {"request_sent_ns": time.monotonic_ns(), "local_port": self.http.sock.getsockname()[1]}
            response = self.http.getresponse()
            row |= {"first_byte_ns": time.monotonic_ns(), "status": response.status}
            received = response.read()
            row |= {"error": {"kind": "status", "detail": response.reason}} if response.status >= 400 else {}
        except (OSError, http.client.HTTPException) as error:
            row["error"] = {"kind": next(k for k in KINDS if isinstance(error, KINDS[k])), "detail": repr(error)}
            self.http.close()
        signal.setitimer(signal.ITIMER_REAL, 0)
        return row | {"end_ns": time.monotonic_ns()}, received

def on_timeout(*_):
    raise TimeoutError("timeout_ns passed")

def seeded(length, mask=(1 << 64) - 1):
    words = [(i + 1) * 0x9E3779B97F4A7C15 & mask for i in range(length // 8 + 1)]
    for shift, factor in (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1):
        words = [(z ^ z >> shift) * factor & mask for z in words]
    return b"".join(z.to_bytes(8, "little") for z in words)[:length]

main()
