"""MessagePack by the msgpack package, whose C extension packs dicts and lists directly."""

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
    """Makes a codec for the specification from before 2013, with one type, raw, for text and bytes.

    Decodes raw as the package's documentation advises: as text that keeps bytes which are not
    UTF-8. Fields of bytes are then turned back into bytes.
    """
    restore_bytes = schema.converter(message, "bytes", to_bytes)
    if restore_bytes is None:
        return Codec(encode=encode_old, decode=decode_old)
    return Codec(encode=encode_old, decode=lambda encoded: restore_bytes(decode_old(encoded)))


def encode_old(plain):
    return msgpack.packb(plain, use_bin_type=False)


def decode_old(encoded):
    return msgpack.unpackb(encoded, raw=False, unicode_errors="surrogateescape")


def to_bytes(raw):
    return raw.encode("utf-8", "surrogateescape") if isinstance(raw, str) else raw
