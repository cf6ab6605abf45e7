"""Drives Cronet by commute's driver protocol, version 2 (docs/driver-protocol.md)."""

import os
import sys

try:
    from commute_driver import Failed, nss, serve

    import library
    from session import CODECS, PROTOCOLS, SETTINGS, Session
except ImportError as error:
    sys.exit(f"{error}; run: commute stacks install cronet")

# shim/verifier.c knows the memory layout of this build and of no other.
BUILD = "133.0.6943.98"


def main():
    if sys.argv[1:] == ["--version"]:
        print("libcronet", load().cronet_version().decode())
    else:
        serve(Driver())


class Driver:
    def __init__(self):
        self.shim = self.home = None

    def hello(self):
        self.shim = self.shim or load()
        version = self.shim.cronet_version().decode()
        return {
            "stack": "Cronet", "stack_version": version,
            "tls": f"BoringSSL (in Cronet {version})",
            "protocols": PROTOCOLS, "codecs": CODECS,
            "capabilities": ["early_data", "parallel", "cancel", "alt_svc", "origins", "fetch"],
            "clock": "monotonic", "resolution_ns": 1,
            # Cronet's own metrics have the others, but in whole milliseconds of wall-clock time.
            "phases": {"first_byte": "onResponseStarted or onRedirectReceived, on the app's executor",
                       "end": "onSucceeded, onFailed or onCanceled, on the app's executor"},
            "settings": SETTINGS,
        }

    def open(self, setup):
        self.shim = self.shim or load()
        self.home = self.home or nss.private_home()
        return Session(self.shim, setup)

    def close(self):
        if self.home:
            self.home.cleanup()


def load():
    """Loads Cronet, in an environment that cannot direct it past the emulated link."""
    os.environ["GSETTINGS_BACKEND"] = "memory"  # or GLib looks for a desktop's proxy settings
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
    try:
        shim = library.load()
    except (OSError, AttributeError) as error:
        raise Failed(f"{error}; run: commute stacks install cronet") from error
    version = shim.cronet_version().decode()
    if version != BUILD:
        raise Failed(f"this is Cronet {version}, but the certificate verifier is made for {BUILD}")
    return shim


if __name__ == "__main__":
    main()
