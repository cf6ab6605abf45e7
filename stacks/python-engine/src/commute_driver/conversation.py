"""The driver's side of the conversation with the lab: one JSON object per line."""

import json
import os

from .errors import Failed, Unsupported

VERSION = 2  # of the driver protocol
CAPABILITIES = ["until"]  # of this engine, with any library


def serve(driver):
    """Answers the lab until it closes the conversation.

    `driver.hello()` returns the fields of `hello`. `driver.open(setup)` returns a session, having
    touched no origin but the warm-up's. `session.run(steps, send)` follows the steps and sends the
    rows; `session.close()` closes every connection. `driver.close()` comes last.
    """
    with open(os.environ["COMMUTE_IN"], "rb") as requests, \
            open(os.environ["COMMUTE_OUT"], "wb") as replies:
        def send(reply):
            replies.write(json.dumps(reply, separators=(",", ":")).encode() + b"\n")
            replies.flush()

        Conversation(driver, send).follow(requests)


class Conversation:
    def __init__(self, driver, send):
        self.driver, self.send, self.session = driver, send, None

    def follow(self, lines):
        try:
            for line in lines:
                try:
                    request = json.loads(line)
                    if request["type"] == "close":
                        break
                    self.answer(request)
                except Unsupported as unsupported:
                    self.send({"type": "unsupported", "what": unsupported.what,
                               "reason": unsupported.reason})
                except (Failed, OSError) as error:
                    self.send({"type": "failed", "reason": str(error)})
                except (AttributeError, KeyError, TypeError, ValueError) as error:
                    self.send({"type": "failed", "reason": f"not a request: {error!r}"})
        finally:
            self.close_session()
            self.driver.close()

    def answer(self, request):
        kind = request["type"]
        if kind == "hello":
            hello = self.driver.hello()
            capabilities = [*hello["capabilities"], *CAPABILITIES]
            self.send({"type": "hello", "version": VERSION, **hello, "capabilities": capabilities})
        elif kind == "setup":
            self.close_session()
            self.session = self.driver.open(request)
            self.send({"type": "ready"})
        elif kind == "run":
            if self.session is None:
                raise Failed("run came before setup")
            self.session.run(request["steps"], self.send)
        elif isinstance(kind, str):
            raise Unsupported(f"request {kind}", "this driver does not know it")
        else:
            raise TypeError(f"type {kind!r}")

    def close_session(self):
        session, self.session = self.session, None
        if session:
            session.close()
