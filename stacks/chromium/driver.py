"""Drives Chromium by commute's driver protocol, version 2 (docs/driver-protocol.md)."""

import os
import re
import subprocess
import sys

# Conversation, steps, bodies and trust are the same as the Cronet driver's.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cronet", "common"))

import trust
from conversation import converse
from refusals import Failed
from session import SETTINGS, Session


class Driver:
    def __init__(self):
        self.home = None

    def hello(self):
        return hello()

    def open(self, setup):
        self.home = self.home or trust.private_home()
        return Session(setup)

    def close(self):
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
        "type": "hello", "version": 2, "stack": "Chromium", "stack_version": version,
        "tls": f"BoringSSL (in Chromium {version})",
        "protocols": ["h2", "h3"], "capabilities": ["parallel", "cancel"],
        "clock": "monotonic", "resolution_ns": 1000,
        "phases": {
            "dns": f"{network} dnsEnd", "connect": f"{network} sslStart", "tls": f"{network} sslEnd",
            "request_sent": f"{network} sendEnd, of requests without a body",
            "first_byte": f"{network} receiveHeadersStart",
            "end": "DevTools, timestamp of loadingFinished or loadingFailed"},
        "settings": SETTINGS,
    }


if __name__ == "__main__":
    converse(Driver())
