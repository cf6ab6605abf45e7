"""MessagePack by the msgpack package, whose C extension packs dicts and lists as they are."""

import msgpack

from .codec import Codec


def make(schema, message):
    return Codec(encode=msgpack.packb, decode=msgpack.unpackb)


def make_array(schema, message):
    return Codec(
        populate=schema.to_arrays(message),
        encode=msgpack.packb,
        decode=msgpack.unpackb,
        convert=schema.from_arrays(message),
    )


def make_old(schema, message):
    """The specification of before 2013, in which text and bytes are one: raw.

    Raw is read as the package's documentation says: as text in which bytes that are not UTF-8
    survive; where the schema has bytes, those are made of it again.
    """
    restore = schema.converter(message, "bytes", to_bytes)
    if restore is None:
        return Codec(encode=encode_old, decode=decode_old)
    return Codec(encode=encode_old, decode=lambda encoded: restore(decode_old(encoded)))


def encode_old(plain):
    return msgpack.packb(plain, use_bin_type=False)


def decode_old(encoded):
    return msgpack.unpackb(encoded, raw=False, unicode_errors="surrogateescape")


def to_bytes(raw):
    return raw.encode("utf-8", "surrogateescape") if isinstance(raw, str) else raw
