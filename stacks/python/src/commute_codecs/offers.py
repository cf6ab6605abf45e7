"""The codecs offered, each called as its library's authors advise an app to (docs/codec-runner.md)."""

import platform
import zlib
from dataclasses import dataclass
from typing import Callable

import google.protobuf
import msgpack
import zstandard
from google.protobuf.internal import api_implementation

from . import compression, json_, msgpack_, protobuf_
from .codec import Codec
from .schema import Schema

MESSAGES = list(protobuf_.CLASSES)

TWO_PARTS = ["encode", "decode"]
FOUR_PARTS = ["populate", "encode", "decode", "convert"]

EMPTY = Codec(encode=lambda plain: b"", decode=lambda encoded: {})


@dataclass
class Offer:
    """A codec of one library, as `hello` lists it. `make` prepares it for one kind of message."""

    codec: str
    library: str
    library_version: str
    parts: list[str]
    make: Callable[[Schema, str], Codec]
    caveat: str | None = None

    def hello(self):
        fields = {name: getattr(self, name) for name in ("codec", "library", "library_version", "parts")}
        return fields | ({"caveat": self.caveat} if self.caveat else {})


def offers():
    python = platform.python_version()
    gzip = f"zlib {zlib.ZLIB_RUNTIME_VERSION}"
    zstd = f"zstandard {zstandard.__version__} (zstd {'.'.join(map(str, zstandard.ZSTD_VERSION))})"
    pb = f"{google.protobuf.__version__} {api_implementation.Type()}"
    mp = ".".join(map(str, msgpack.version[:3]))
    doubles = "every float is written as a double"
    unsigned = "integers from 128 up are written unsigned; " + doubles
    return [
        Offer("json", "json", python, TWO_PARTS, json_.make),
        Offer("json+gzip-1", "json + zlib", f"{python}, {gzip}", TWO_PARTS, compression.gzip(json_.make, 1)),
        Offer("json+gzip-6", "json + zlib", f"{python}, {gzip}", TWO_PARTS, compression.gzip(json_.make, 6)),
        Offer("json+zstd-3", "json + zstandard", f"{python}, {zstd}", TWO_PARTS, compression.zstd(json_.make, 3)),
        Offer("protobuf", "protobuf", pb, FOUR_PARTS, protobuf_.make),
        Offer("protobuf+gzip-6", "protobuf + zlib", f"{pb}, {gzip}", FOUR_PARTS, compression.gzip(protobuf_.make, 6)),
        Offer("protobuf+zstd-3", "protobuf + zstandard", f"{pb}, {zstd}", FOUR_PARTS,
              compression.zstd(protobuf_.make, 3)),
        Offer("msgpack", "msgpack", mp, TWO_PARTS, msgpack_.make, doubles),
        Offer("msgpack-array", "msgpack", mp, FOUR_PARTS, msgpack_.make_array, doubles),
        Offer("msgpack-old", "msgpack", mp, TWO_PARTS, msgpack_.make_old, unsigned),
        Offer("empty", "none", "none", TWO_PARTS, lambda schema, message: EMPTY),
    ]
