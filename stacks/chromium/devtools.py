"""The DevTools protocol over a pipe: commands out, replies and events in, no port opened."""

import json
import os
import select
import subprocess
import time

from refusals import Failed


class Browser:
    """One Chromium process."""

    def __init__(self, arguments):
        (theirs, self.commands), (self.messages, theirs_too) = os.pipe(), os.pipe()

        def place():  # where Chromium looks for them
            os.dup2(theirs, 3)
            os.dup2(theirs_too, 4)

        self.process = subprocess.Popen([*arguments, "--remote-debugging-pipe"], preexec_fn=place,
                                        pass_fds=(3, 4), stdin=subprocess.DEVNULL)
        os.close(theirs)
        os.close(theirs_too)
        self.pending = b""  # of a message not yet whole
        self.heard = []     # messages not yet asked for
        self.sent = 0

    def send(self, method, session=None, **parameters):
        """Sends a command; its number, by which the reply is known."""
        self.sent += 1
        command = {"id": self.sent, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        data = memoryview(json.dumps(command).encode() + b"\0")
        while data:
            data = data[os.write(self.commands, data):]
        return self.sent

    def call(self, method, session=None, **parameters):
        """Sends a command and waits for its result; what comes before it is kept."""
        number = self.send(method, session, **parameters)
        message = self.wait_for(lambda message: message.get("id") == number)
        if "error" in message:
            raise Failed(f"Chromium, {method}: {message['error']['message']}")
        return message["result"]

    def wait_for(self, wanted, timeout_s=30):
        """The first message that is wanted; the others stay in order."""
        seen, until = [], time.monotonic() + timeout_s
        while time.monotonic() < until:
            message = self.next(int(1e9))
            if message and wanted(message):
                self.heard = seen + self.heard
                return message
            if message:
                seen.append(message)
        raise Failed("Chromium does not answer")

    def next(self, timeout_ns):
        """The next message, or None when the time has passed."""
        if not self.heard and select.select([self.messages], [], [], timeout_ns / 1e9)[0]:
            data = os.read(self.messages, 1 << 20)
            if not data:
                raise Failed("Chromium has gone")
            *whole, self.pending = (self.pending + data).split(b"\0")
            self.heard = [json.loads(message) for message in whole]
        return self.heard.pop(0) if self.heard else None

    def close(self):
        try:
            self.send("Browser.close")
            self.process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
