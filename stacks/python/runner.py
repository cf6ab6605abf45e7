"""Runs Python's codec libraries for the codec bench (docs/codec-runner.md, version 2).

This file holds the conversation and the timed loops; commute_codecs calls the libraries.
"""

import json
import os
import platform
import sys
import time
from itertools import repeat

from commute_codecs import valuefile
from commute_codecs.offers import MESSAGES, offers
from commute_codecs.schema import Schema

LONGEST = 64 << 20  # bytes of an encoded message
VALUES_KEPT = 32
REASON_LENGTH = 4096  # characters; a line may have 65,536 bytes


def main():
    if sys.argv[1:] == ["--versions"]:
        print(*(f"{offer.library} {offer.library_version}" for offer in offers()), sep="\n")
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
    """The runner does not know or cannot do something; the arguments are what, and the reason."""


class Refused(Exception):
    """The library did not accept its input."""


class Runner:
    def __init__(self):
        self.offers = {(offer.codec, offer.library): offer for offer in offers()}
        self.schema = None
        self.codecs = {}
        self.values = {}

    def answer(self, line):
        """Returns the reply to one line from the bench, or None to close."""
        try:
            request = json.loads(line)
            kind = request["type"]
            if kind == "close":
                return None
            if kind not in ("hello", "setup", "encode", "decode", "time"):
                raise Unsupported(f"request {kind}", "the runner does not know it")
            return getattr(self, kind)(request)
        except Unsupported as unsupported:
            what, reason = unsupported.args
            return {"type": "unsupported", "what": what, "reason": reason}
        except Refused as refused:
            return {"type": "refused", "error": one_line(refused)}
        except (OSError, valuefile.BadValue) as error:
            return {"type": "failed", "reason": one_line(error)}
        except (KeyError, TypeError, ValueError) as error:
            return {"type": "failed", "reason": one_line(f"not a request: {error!r}")}

    def hello(self, request):
        return {"type": "hello", "version": 2, "runtime": "python", "runtime_version": platform.python_version(),
                "codecs": [offer.hello() for offer in self.offers.values()]}

    def setup(self, request):
        with open(request["schema_file"], encoding="utf-8") as file:
            self.schema = Schema(file.read())
        return {"type": "ready"}

    def encode(self, request):
        codec = self.codec(request)
        plain = self.read_value(request)
        encoded = guarded(lambda: codec.encode(codec.populate(plain)))
        with open(request["encoded_file"], "wb") as file:
            file.write(encoded)
        return {"type": "encoded", "bytes": len(encoded)}

    def decode(self, request):
        codec = self.codec(request)
        encoded = read_encoded(request["encoded_file"])
        if len(encoded) > LONGEST:
            raise Refused(f"longer than {LONGEST} bytes")
        plain = guarded(lambda: codec.convert(codec.decode(encoded)))
        # Python's decoders accept any types; writing the value checks them against the schema.
        text = guarded(lambda: valuefile.write(self.schema, request["message"], plain))
        with open(request["value_file"], "w", encoding="ascii") as file:
            file.write(text)
        return {"type": "decoded"}

    def time(self, request):
        codec, part, iterations = self.codec(request), request["part"], request["iterations"]
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
        elapsed_ns, sink = guarded(lambda: measure(codec, part, iterations, plain, encoded))
        return {"type": "timed", "elapsed_ns": elapsed_ns, "sink": sink}

    def codec(self, request):
        """Returns the codec that a request names, prepared for its message."""
        name, library, message = request.get("codec"), request.get("library"), request.get("message")
        if not any(name == offered for offered, _ in self.offers):
            raise Unsupported(f"codec {name}", "no library here has it")
        if (name, library) not in self.offers:
            raise Unsupported(f"library {library}", f"it is not offered for {name}")
        if self.schema is None:
            raise ValueError(f"{request['type']} came before setup")
        if message not in MESSAGES or message not in self.schema.messages:
            raise Unsupported(f"message {message}", "the runner does not know it")
        key = name, library, message
        if key not in self.codecs:
            self.codecs[key] = self.offers[name, library].make(self.schema, message)
        return self.codecs[key]

    def read_value(self, request):
        """Reads a value file and keeps its value until VALUES_KEPT others have been read."""
        key = request["value_file"], request["message"]
        with open(key[0], encoding="ascii", newline="\n") as file:
            plain = valuefile.read(self.schema, key[1], file.read())
        self.values.pop(key, None)
        self.values[key] = plain
        if len(self.values) > VALUES_KEPT:
            del self.values[next(iter(self.values))]
        return plain


def measure(codec, part, iterations, plain, encoded):
    """Times one part, after making its input; returns nanoseconds and the sink."""
    if part in ("decode", "convert") and encoded is None:
        encoded = codec.encode(codec.populate(plain))
    if part == "populate":
        return loop(codec.populate, plain, iterations)
    if part == "encode":
        return encode_loop(codec.encode, codec.populate(plain), iterations)
    if part == "decode":
        return loop(codec.decode, encoded, iterations)
    return loop(codec.convert, codec.decode(encoded), iterations)


def encode_loop(encode, populated, iterations):
    sink = 0
    start = time.monotonic_ns()
    for _ in repeat(None, iterations):
        sink += len(encode(populated))
    return time.monotonic_ns() - start, sink


def loop(step, argument, iterations):
    sink = 0
    start = time.monotonic_ns()
    for _ in repeat(None, iterations):
        sink += step(argument) is not None
    return time.monotonic_ns() - start, sink


def guarded(call):
    """Calls a library; whatever it raises counts as a refusal of its input."""
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
