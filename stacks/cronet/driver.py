"""Drives Cronet by commute's driver protocol, version 1 (docs/driver-protocol.md)."""

import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "common"))

import library
import trust
from refusals import Failed, Unsupported
from run import Run
from session import SETTINGS, Session

# shim/verifier.c knows the memory layout of this build and of no other.
BUILD = "133.0.6943.98"


def main():
    if sys.argv[1:] == ["--version"]:
        print("libcronet", load().cronet_version().decode())
        return
    with open(os.environ["COMMUTE_IN"], "rb") as requests, \
            open(os.environ["COMMUTE_OUT"], "wb") as replies:
        def send(reply):
            replies.write(json.dumps(reply, separators=(",", ":")).encode() + b"\n")
            replies.flush()

        driver = Driver()
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
        driver.close()


class Driver:
    """One conversation: the library, the private HOME with its trust, the session under way."""

    def __init__(self):
        self.shim = self.home = self.session = None

    def answer(self, request, send):
        kind = request["type"]
        self.shim = self.shim or load()
        if kind == "hello":
            send(hello(self.shim))
        elif kind == "setup":
            self.home = self.home or trust.private_home()
            if self.session:
                self.session.close()
            self.session = Session(self.shim, request)
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


def load():
    """Cronet, in an environment that cannot steer it past the emulated link."""
    os.environ["GSETTINGS_BACKEND"] = "memory"  # or GLib looks for a desktop's proxy settings
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
    try:
        shim = library.load()
    except (OSError, AttributeError) as error:
        raise Failed(f"{error}; run stacks/cronet/install") from error
    version = shim.cronet_version().decode()
    if version != BUILD:
        raise Failed(f"this is Cronet {version}, but the certificate verifier is made for {BUILD}")
    return shim


def hello(shim):
    version = shim.cronet_version().decode()
    return {
        "type": "hello", "version": 1, "stack": "Cronet", "stack_version": version,
        "tls": f"BoringSSL (in Cronet {version})",
        "protocols": ["h2", "h3"],
        "abilities": ["early_data", "parallel", "cancel", "alt_svc"],
        "clock": "monotonic", "resolution_ns": 1,
        # Cronet's own metrics have the others, but in whole milliseconds of wall-clock time.
        "phases": {"first_byte": "onResponseStarted or onRedirectReceived, on the app's executor",
                   "end": "onSucceeded, onFailed or onCanceled, on the app's executor"},
        "settings": SETTINGS,
    }


if __name__ == "__main__":
    main()
