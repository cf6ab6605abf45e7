"""Python's codec libraries, called as their authors advise an app to (docs/codec-runner.md).

An offer's `make` takes a schema and the name of a message, and gives a Codec for it.
"""

import platform
import zlib
from dataclasses import dataclass
from typing import Callable

import google.protobuf
import msgpack
import zstandard
from google.protobuf.internal import api_implementation

from schema import Schema

from . import compression, json_, msgpack_, protobuf_
from .codec import Codec

MESSAGES = list(protobuf_.OWN)

TWO_PARTS = ["encode", "decode"]
FOUR_PARTS = ["populate", "encode", "decode", "convert"]


@dataclass
class Offer:
    """A codec of one library, as hello names it."""

    codec: str
    library: str
    library_version: str
    parts: list[str]
    make: Callable[[Schema, str], Codec]
    caveat: str | None = None

    def hello(self):
        said = {name: getattr(self, name) for name in ("codec", "library", "library_version", "parts")}
        return said | ({"caveat": self.caveat} if self.caveat else {})


def offers():
    python = platform.python_version()
    gzip = f"zlib {zlib.ZLIB_RUNTIME_VERSION}"
    zstd = f"zstandard {zstandard.__version__} (zstd {'.'.join(map(str, zstandard.ZSTD_VERSION))})"
    pb = f"{google.protobuf.__version__} {api_implementation.Type()}"
    mp = ".".join(map(str, msgpack.version[:3]))
    doubles = "every float is written as a double"
    no_old_ints = "integers from 128 up are written unsigned; " + doubles
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
        Offer("msgpack-old", "msgpack", mp, TWO_PARTS, msgpack_.make_old, no_old_ints),
        Offer("empty", "none", "none", TWO_PARTS, lambda schema, message: EMPTY),
    ]


EMPTY = Codec(encode=lambda own: b"", decode=lambda encoded: {})
