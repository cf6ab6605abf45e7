"""The standard library's json. Bytes are base64: a hook when writing, a walk when reading."""

import base64
import binascii
import json

from .codec import Codec


def make(schema, message):
    restore = schema.converter(message, "bytes", from_base64)
    if restore is None:
        return Codec(encode=encode, decode=decode)
    return Codec(encode=encode, decode=lambda encoded: restore(decode(encoded)))


def encode(plain):
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=to_base64)
    return text.encode()


def decode(encoded):
    return json.loads(encoded, parse_constant=no_number)


def to_base64(raw):
    return base64.b64encode(raw).decode()


def from_base64(text):
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError) as error:
        raise ValueError(f"no base64: {error}") from error


def no_number(name):
    raise ValueError(f"JSON has no {name}")
