"""The driver's side of a conversation with the lab (docs/driver-protocol.md)."""

import json
import os

from refusals import Failed, Unsupported
from run import Run


def converse(driver):
    """Answers until the lab has had enough. The driver says `hello`, opens a session for a
    `setup`, and closes what it has."""
    with open(os.environ["COMMUTE_IN"], "rb") as requests, \
            open(os.environ["COMMUTE_OUT"], "wb") as replies:
        def send(reply):
            replies.write(json.dumps(reply, separators=(",", ":")).encode() + b"\n")
            replies.flush()

        session = None
        try:
            for line in requests:
                try:
                    request = json.loads(line)
                    kind = request["type"]
                    if kind == "hello":
                        send(driver.hello())
                    elif kind == "setup":
                        if session:
                            session.close()
                        session = None
                        session = driver.open(request)
                        send({"type": "ready"})
                    elif kind == "run":
                        if session is None:
                            raise Failed("run came before setup")
                        Run(session, request["steps"]).follow(send)
                    elif kind == "close":
                        break
                    elif isinstance(kind, str):
                        raise Unsupported(f"request {kind}", "this driver does not know it")
                    else:
                        raise TypeError(f"type {kind!r}")
                except Unsupported as refusal:
                    send({"type": "unsupported", "what": refusal.what, "reason": refusal.reason})
                except (Failed, OSError) as failure:
                    send({"type": "failed", "reason": str(failure)})
                except (AttributeError, KeyError, TypeError, ValueError) as malformed:
                    send({"type": "failed", "reason": f"not a request: {malformed!r}"})
        finally:
            if session:
                session.close()
            driver.close()
