"""The DevTools protocol over a pipe: commands out, replies and events in. No port is opened."""

import json
import os
import select
import subprocess
import time

from commute_driver import Failed


class Browser:
    """One Chromium process."""

    def __init__(self, arguments):
        (commands_in, self.commands), (self.messages, messages_out) = os.pipe(), os.pipe()

        def place_pipes():  # at the descriptors where Chromium expects them
            os.dup2(commands_in, 3)
            os.dup2(messages_out, 4)

        self.process = subprocess.Popen([*arguments, "--remote-debugging-pipe"], preexec_fn=place_pipes,
                                        pass_fds=(3, 4), stdin=subprocess.DEVNULL)
        os.close(commands_in)
        os.close(messages_out)
        self.partial = []  # the beginning of the next message, in pieces
        self.received = []  # messages not yet returned
        self.sent = 0

    def send(self, method, session=None, **parameters):
        """Sends a command; returns its number, which its reply carries."""
        self.sent += 1
        command = {"id": self.sent, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        data = memoryview(json.dumps(command).encode() + b"\0")
        while data:
            data = data[os.write(self.commands, data):]
        return self.sent

    def call(self, method, session=None, **parameters):
        """Sends a command and waits for its result; messages that come before it are kept."""
        number = self.send(method, session, **parameters)
        message = self.wait_for(lambda message: message.get("id") == number)
        if "error" in message:
            raise Failed(f"Chromium, {method}: {message['error']['message']}")
        return message["result"]

    def wait_for(self, wanted, timeout_s=30):
        """Returns the first message for which `wanted` is true; the others stay in order."""
        others, deadline = [], time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            message = self.next(int(1e9))
            if message and wanted(message):
                self.received = others + self.received
                return message
            if message:
                others.append(message)
        raise Failed("Chromium does not answer")

    def next(self, timeout_ns):
        """Returns the next message, or None after the timeout."""
        deadline_ns = time.monotonic_ns() + timeout_ns
        while not self.received:
            remaining_s = max(0, deadline_ns - time.monotonic_ns()) / 1e9
            if not select.select([self.messages], [], [], remaining_s)[0]:
                return None
            self.read()
        return self.received.pop(0)

    def read(self):
        """Reads what is there. A message may be several times as long as a request's body."""
        data = os.read(self.messages, 1 << 20)
        if not data:
            raise Failed("Chromium has exited")
        piece, *pieces = data.split(b"\0")
        self.partial.append(piece)
        for piece in pieces:
            self.received.append(json.loads(b"".join(self.partial)))
            self.partial = [piece]

    def close(self):
        try:
            self.send("Browser.close")
            self.process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
