"""Runs Python's codec libraries for the codec bench (docs/codec-runner.md, version 2).

This file holds the conversation and the timed loops; codec/ calls the libraries.
"""

import json
import os
import platform
import sys
import time
from itertools import repeat

import codec
import valuefile
from schema import Schema

LONGEST = 64 << 20  # what may be decoded
VALUES_KEPT = 32
REASON_LENGTH = 4096  # a line has 64 KiB


def main():
    if sys.argv[1:] == ["--versions"]:
        print(*(f"{offer.library} {offer.library_version}" for offer in codec.offers()), sep="\n")
        return
    runner = Runner()
    with open(os.environ["COMMUTE_IN"], "rb") as requests, open(os.environ["COMMUTE_OUT"], "wb") as replies:
        for line in requests:
            reply = runner.answer(line)
            if reply is None:
                break
            replies.write(json.dumps(reply, separators=(",", ":")).encode() + b"\n")
            replies.flush()


class Unsupported(Exception):
    """The runner does not know or cannot do it; args are what and why."""


class Refused(Exception):
    """The library did not take its input."""


class Runner:
    def __init__(self):
        self.offers = {(offer.codec, offer.library): offer for offer in codec.offers()}
        self.schema = None
        self.codecs = {}
        self.values = {}

    def answer(self, line):
        """The reply to one line of the bench, None to close."""
        try:
            request = json.loads(line)
            kind = request["type"]
            if kind == "close":
                return None
            if kind not in ("hello", "setup", "encode", "decode", "time"):
                raise Unsupported(f"request {kind}", "the runner does not know it")
            return getattr(self, kind)(request)
        except Unsupported as unsupported:
            what, why = unsupported.args
            return {"type": "unsupported", "what": what, "reason": why}
        except Refused as refusal:
            return {"type": "refused", "error": one_line(refusal)}
        except (OSError, valuefile.BadValue) as failure:
            return {"type": "failed", "reason": one_line(failure)}
        except (KeyError, TypeError, ValueError) as malformed:
            return {"type": "failed", "reason": one_line(f"not a request: {malformed!r}")}

    def hello(self, request):
        return {"type": "hello", "version": 2, "runtime": "python", "runtime_version": platform.python_version(),
                "codecs": [offer.hello() for offer in self.offers.values()]}

    def setup(self, request):
        with open(request["schema_file"], encoding="utf-8") as file:
            self.schema = Schema(file.read())
        return {"type": "ready"}

    def encode(self, request):
        chosen = self.codec(request)
        plain = self.read_value(request)
        encoded = guarded(lambda: chosen.encode(chosen.populate(plain)))
        with open(request["encoded_file"], "wb") as file:
            file.write(encoded)
        return {"type": "encoded", "bytes": len(encoded)}

    def decode(self, request):
        chosen = self.codec(request)
        encoded = read_encoded(request["encoded_file"])
        if len(encoded) > LONGEST:
            raise Refused(f"longer than {LONGEST} bytes")
        plain = guarded(lambda: chosen.convert(chosen.decode(encoded)))
        # Python's decoders take any types; whether they are the schema's, writing tells.
        text = guarded(lambda: valuefile.write(self.schema, request["message"], plain))
        with open(request["value_file"], "w", encoding="ascii") as file:
            file.write(text)
        return {"type": "decoded"}

    def time(self, request):
        chosen, part, iterations = self.codec(request), request["part"], request["iterations"]
        parts = self.offers[request["codec"], request["library"]].parts
        if part not in parts:
            raise Unsupported(f"part {part}", f"{request['library']} has {', '.join(parts)}")
        if type(iterations) is not int or iterations < 1:
            raise ValueError(f"{iterations!r} iterations")
        plain = self.values.get((request["value_file"], request["message"]))
        if plain is None:
            plain = self.read_value(request)
        encoded_file = request.get("encoded_file")
        encoded = read_encoded(encoded_file) if encoded_file else None
        elapsed_ns, sink = guarded(lambda: measure(chosen, part, iterations, plain, encoded))
        return {"type": "timed", "elapsed_ns": elapsed_ns, "sink": sink}

    def codec(self, request):
        """The codec that a request names, made for its message."""
        name, library, message = request.get("codec"), request.get("library"), request.get("message")
        if not any(name == offered for offered, _ in self.offers):
            raise Unsupported(f"codec {name}", "no library here has it")
        if (name, library) not in self.offers:
            raise Unsupported(f"library {library}", f"it is not offered for {name}")
        if self.schema is None:
            raise ValueError(f"{request['type']} came before setup")
        if message not in codec.MESSAGES or message not in self.schema.messages:
            raise Unsupported(f"message {message}", "the runner does not know it")
        key = name, library, message
        if key not in self.codecs:
            self.codecs[key] = self.offers[name, library].make(self.schema, message)
        return self.codecs[key]

    def read_value(self, request):
        """Reads a value file, and keeps what it holds while it is among the last that were read."""
        key = request["value_file"], request["message"]
        with open(key[0], encoding="ascii", newline="\n") as file:
            plain = valuefile.read(self.schema, key[1], file.read())
        self.values.pop(key, None)
        self.values[key] = plain
        if len(self.values) > VALUES_KEPT:
            del self.values[next(iter(self.values))]
        return plain


def measure(chosen, part, iterations, plain, encoded):
    """Times a part, whose input is made here; gives nanoseconds and the sink."""
    if part in ("decode", "convert") and encoded is None:
        encoded = chosen.encode(chosen.populate(plain))
    if part == "populate":
        return loop(chosen.populate, plain, iterations)
    if part == "encode":
        return encode_loop(chosen.encode, chosen.populate(plain), iterations)
    if part == "decode":
        return loop(chosen.decode, encoded, iterations)
    return loop(chosen.convert, chosen.decode(encoded), iterations)


def encode_loop(encode, own, iterations):
    sink = 0
    start = time.monotonic_ns()
    for _ in repeat(None, iterations):
        sink += len(encode(own))
    return time.monotonic_ns() - start, sink


def loop(step, given, iterations):
    sink = 0
    start = time.monotonic_ns()
    for _ in repeat(None, iterations):
        sink += step(given) is not None
    return time.monotonic_ns() - start, sink


def guarded(call):
    """What a library raises, whatever it is, is a refusal of what it was given."""
    try:
        return call()
    except Exception as error:
        raise Refused(f"{type(error).__name__} {error}") from error


def read_encoded(name):
    with open(name, "rb") as file:
        return file.read(LONGEST + 1)


def one_line(text):
    return " ".join(str(text).split())[:REASON_LENGTH]


if __name__ == "__main__":
    main()
