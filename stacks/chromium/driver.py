"""Drives Chromium by commute's driver protocol, version 2 (docs/driver-protocol.md)."""

import re
import subprocess
import sys

try:
    from commute_driver import Failed, nss, serve

    from session import SETTINGS, Session
except ImportError as error:
    sys.exit(f"{error}; run: commute stacks install chromium")


class Driver:
    def __init__(self):
        self.home = None

    def hello(self):
        try:
            output = subprocess.run(["chromium", "--version"], capture_output=True, text=True).stdout
            version = re.search(r"[\d.]{5,}", output)[0]
        except (FileNotFoundError, TypeError) as error:
            raise Failed("no chromium; on Debian: apt-get install chromium") from error
        network = "DevTools, Network.ResourceTiming"
        return {
            "stack": "Chromium", "stack_version": version,
            "tls": f"BoringSSL (in Chromium {version})",
            "protocols": ["h2", "h3"], "capabilities": ["parallel", "cancel", "fetch"],
            "clock": "monotonic", "resolution_ns": 1000,
            "phases": {
                "dns": f"{network} dnsEnd", "connect": f"{network} sslStart", "tls": f"{network} sslEnd",
                "request_sent": f"{network} sendEnd, of requests without a body",
                "first_byte": f"{network} receiveHeadersStart",
                "end": "DevTools, timestamp of loadingFinished or loadingFailed"},
            "settings": SETTINGS,
        }

    def open(self, setup):
        self.home = self.home or nss.private_home()
        return Session(setup)

    def close(self):
        if self.home:
            self.home.cleanup()


if __name__ == "__main__":
    serve(Driver())
