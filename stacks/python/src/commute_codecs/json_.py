"""The standard library's json. Bytes travel as base64: a hook encodes them, a walk over the
message decodes them."""

import base64
import binascii
import json

from .codec import Codec


def make(schema, message):
    restore_bytes = schema.converter(message, "bytes", from_base64)
    if restore_bytes is None:
        return Codec(encode=encode, decode=decode)
    return Codec(encode=encode, decode=lambda encoded: restore_bytes(decode(encoded)))


def encode(plain):
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=to_base64)
    return text.encode()


def decode(encoded):
    return json.loads(encoded, parse_constant=refuse_constant)


def to_base64(raw):
    return base64.b64encode(raw).decode()


def from_base64(text):
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError) as error:
        raise ValueError(f"not base64: {error}") from error


def refuse_constant(name):
    raise ValueError(f"JSON has no {name}")
