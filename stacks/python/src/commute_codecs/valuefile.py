"""Reads value files (docs/codec-runner.md) into plain objects and writes them from those.

A plain object is a dict with JSON's names, as json.loads returns it to an app. Its floats are
doubles: one of kind `float` is the double of the shortest decimal that reads back as the same
float, so that it prints as that decimal.
"""

import math
import struct


class BadValue(Exception):
    """The file or the object does not match the schema; the message says where."""


def read(schema, message, text):
    lines = iter(text.split("\n"))
    try:
        plain = read_message(schema, message, lines)
    except (KeyError, StopIteration, ValueError, OverflowError, struct.error) as error:
        raise BadValue(f"not the value of a {message}: {error!r}") from error
    if list(lines) != [""]:
        raise BadValue(f"more lines follow the {message}")
    return plain


def write(schema, message, plain):
    lines = []
    write_message(schema, message, plain, lines.append)
    lines.append("")
    return "\n".join(lines)


def read_message(schema, message, lines):
    expect("{", lines)
    plain = {field.json: read_field(schema, field, lines) for field in schema.messages[message]}
    expect("}", lines)
    return plain


def read_field(schema, field, lines):
    count = int(rest("[", lines)) if field.repeated else 1
    if field.kind == "message":
        values = [read_message(schema, field.type, lines) for _ in range(count)]
    elif field.kind == "null":
        values = [expect("z", lines)]
    else:
        letter, parse, _ = KINDS[field.kind]
        values = [parse(rest(letter, lines)) for _ in range(count)]
    return values if field.repeated else values[0]


def rest(letter, lines):
    """Returns what follows the letter on the next line."""
    line = next(lines)
    if not line.startswith(letter + " "):
        raise ValueError(f"expected {letter!r}, got {line[:40]!r}")
    return line[2:]


def expect(want, lines):
    line = next(lines)
    if line != want:
        raise ValueError(f"expected {want!r}, got {line[:40]!r}")


def write_message(schema, message, plain, add_line):
    if not isinstance(plain, dict):
        raise BadValue(f"expected a {message}, got {type(plain).__name__}")
    add_line("{")
    for field in schema.messages[message]:
        default = [] if field.repeated else {} if field.kind == "message" else DEFAULTS[field.kind]
        value = plain.get(field.json, default)
        if field.repeated:
            if not isinstance(value, list):
                raise BadValue(f"expected the array {message}.{field.json}, got {type(value).__name__}")
            add_line(f"[ {len(value)}")
        for element in value if field.repeated else [value]:
            if field.kind == "message":
                write_message(schema, field.type, element, add_line)
            else:
                add_line(leaf(message, field, element))
    add_line("}")


def leaf(message, field, value):
    if field.kind == "null" and value is None:
        return "z"
    letter, _, write_leaf = KINDS[field.kind]
    try:
        text = write_leaf(value)
    except (TypeError, ValueError, OverflowError, struct.error) as error:
        raise BadValue(f"{message}.{field.json} is not a {field.kind}: {error}") from error
    return f"{letter} {text}"


def integer(low, high):
    """Returns the reader and the writer of integers from `low` to `high`."""
    def check(value):
        if type(value) is not int:  # not isinstance: a bool is an int too
            raise TypeError(type(value).__name__)
        if not low <= value <= high:
            raise ValueError("out of range")
        return value
    return (lambda text: check(int(text))), (lambda value: str(check(value)))


def number(struct_format):
    """Returns the writer of floating-point numbers in a format of the struct module."""
    def write_number(value):
        if type(value) not in (int, float):
            raise TypeError(type(value).__name__)
        return struct.pack(struct_format, value).hex()
    return write_number


def read_float(text):
    (value,) = struct.unpack(">f", bytes.fromhex(text))
    if not math.isfinite(value):
        return value
    # Nine digits are always enough.
    decimals = (float(f"{value:.{digits}g}") for digits in range(1, 10))
    return next(short for short in decimals if is_float(short, text))


def is_float(value, text):
    try:
        return struct.pack(">f", value).hex() == text
    except OverflowError:  # the largest float, rounded up
        return False


def read_double(text):
    return struct.unpack(">d", bytes.fromhex(text))[0]


def write_bool(value):
    if value is True or value is False:
        return int(value)
    raise TypeError(type(value).__name__)


def write_string(value):
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return value.encode().hex()  # raises on surrogates, which UTF-8 cannot encode


def write_bytes(value):
    if not isinstance(value, bytes):
        raise TypeError(type(value).__name__)
    return value.hex()


# Below the functions that they name.
INT32 = ("i", *integer(-1 << 31, (1 << 31) - 1))
# Letter, reader and writer of each kind.
KINDS = {
    "int32": INT32,
    "int64": ("i", *integer(-1 << 63, (1 << 63) - 1)),
    "uint64": ("i", *integer(0, (1 << 64) - 1)),
    "float": ("f", read_float, number(">f")),
    "double": ("d", read_double, number(">d")),
    "bool": ("b", {"0": False, "1": True}.__getitem__, write_bool),
    "string": ("s", lambda text: bytes.fromhex(text).decode(), write_string),
    "bytes": ("x", bytes.fromhex, write_bytes),
    "null": INT32,  # never set by the bench, but a decoder may produce a number
}
DEFAULTS = {"int32": 0, "int64": 0, "uint64": 0, "float": 0, "double": 0, "bool": False, "string": "",
            "bytes": b"", "null": None}
