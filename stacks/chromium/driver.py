"""Drives Chromium by commute's driver protocol, version 1 (docs/driver-protocol.md)."""

import json
import os
import re
import subprocess
import sys

# Steps, bodies and trust are the same as the Cronet driver's.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cronet", "common"))

import trust
from refusals import Failed, Unsupported
from run import Run
from session import SETTINGS, Session


def main():
    with open(os.environ["COMMUTE_IN"], "rb") as requests, \
            open(os.environ["COMMUTE_OUT"], "wb") as replies:
        def send(reply):
            replies.write(json.dumps(reply, separators=(",", ":")).encode() + b"\n")
            replies.flush()

        driver = Driver()
        try:
            for line in requests:
                try:
                    request = json.loads(line)
                    if request["type"] == "close":
                        break
                    driver.answer(request, send)
                except Unsupported as refusal:
                    send({"type": "unsupported", "what": refusal.what, "reason": refusal.reason})
                except Failed as failure:
                    send({"type": "failed", "reason": str(failure)})
                except (AttributeError, KeyError, TypeError, ValueError) as malformed:
                    send({"type": "failed", "reason": f"not a request: {malformed!r}"})
        finally:
            driver.close()


class Driver:
    """One conversation: the private HOME with its trust, the session under way."""

    def __init__(self):
        self.home = self.session = None

    def answer(self, request, send):
        kind = request["type"]
        if kind == "hello":
            send(hello())
        elif kind == "setup":
            self.home = self.home or trust.private_home()
            if self.session:
                self.session.close()
            self.session = Session(request)
            send({"type": "ready"})
        elif kind == "run":
            if self.session is None:
                raise Failed("run came before setup")
            Run(self.session, request["steps"]).follow(send)
        elif isinstance(kind, str):
            raise Unsupported(f"request {kind}", "this driver does not know it")
        else:
            raise TypeError(f"type {kind!r}")

    def close(self):
        if self.session:
            self.session.close()
        if self.home:
            self.home.cleanup()


def hello():
    try:
        said = subprocess.run(["chromium", "--version"], capture_output=True, text=True).stdout
        version = re.search(r"[\d.]{5,}", said)[0]
    except (FileNotFoundError, TypeError) as missing:
        raise Failed("no chromium; on Debian: apt-get install chromium") from missing
    network = "DevTools, Network.ResourceTiming"
    return {
        "type": "hello", "version": 1, "stack": "Chromium", "stack_version": version,
        "tls": f"BoringSSL (in Chromium {version})",
        "protocols": ["h2", "h3"], "abilities": ["parallel", "cancel"],
        "clock": "monotonic", "resolution_ns": 1000,
        "phases": {
            "dns": f"{network} dnsEnd", "connect": f"{network} sslStart", "tls": f"{network} sslEnd",
            "request_sent": f"{network} sendEnd, of requests without a body",
            "first_byte": f"{network} receiveHeadersStart",
            "end": "DevTools, timestamp of loadingFinished or loadingFailed"},
        "settings": SETTINGS,
    }


if __name__ == "__main__":
    main()
