"""An app's work around a call that takes a message there and back, for the drivers in Python.

To make the message, to encode it, to decode the answer; the network between them is theirs.
"""

import sys
from pathlib import Path

# The libraries are in this folder's environment, the drivers in theirs.
VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"
sys.path.append(str(Path(__file__).resolve().parent / ".venv/lib" / VERSION / "site-packages"))

import codec
import valuefile
from schema import Schema

FORMS = {
    "json": "application/json",
    "protobuf": "application/protobuf",
    "msgpack": "application/vnd.msgpack",
    "msgpack-array": "application/vnd.msgpack; form=array",
    "msgpack-old": "application/vnd.msgpack; form=old",
}
ENCODINGS = {"": "identity", "gzip-6": "gzip", "zstd-3": "zstd"}  # at the levels that the server answers at


def codecs():
    """The codecs that can go over HTTP to the server and back."""
    names = dict.fromkeys(offer.codec for offer in codec.offers())
    return [name for name in names if media(name)]


def media(name):
    """The headers of an exchange in a codec; None if HTTP has no name for it."""
    form, _, compression = name.partition("+")
    if form not in FORMS or compression not in ENCODINGS:
        return None
    encoding = ENCODINGS[compression]
    headers = {"content-type": FORMS[form], "accept-encoding": encoding}
    return headers if encoding == "identity" else {**headers, "content-encoding": encoding}


def knows(kind):
    """Whether there is such a kind of message."""
    return kind in codec.MESSAGES


class Source:
    """The messages that a setup names, in one codec."""

    def __init__(self, name, schema_file, values):
        self.offer = next(offer for offer in codec.offers() if offer.codec == name)
        self.schema = Schema(Path(schema_file).read_text(encoding="utf-8")) if schema_file else None
        self.texts = {message: Path(file).read_text(encoding="ascii") for message, file in values.items()}
        self.plain, self.codecs = {}, {}

    def prepare(self, message, kind):
        """Readies an exchange. Nothing is encoded yet, and big-N is not even made."""
        if self.schema is None:
            raise ValueError("setup named no schema_file")
        if kind not in self.codecs:
            self.codecs[kind] = self.offer.make(self.schema, kind)
        if kind == "Big" and message.startswith("big-"):
            return Exchange(self.schema, kind, self.codecs[kind], size=int(message[4:]))
        if (message, kind) not in self.plain:
            if message not in self.texts:
                raise ValueError(f"setup named no value file of {message}")
            self.plain[message, kind] = valuefile.read(self.schema, kind, self.texts[message])
        return Exchange(self.schema, kind, self.codecs[kind], plain=self.plain[message, kind])


class Exchange:
    """One message, once."""

    def __init__(self, schema, kind, chosen, plain=None, size=None):
        self.schema, self.kind, self.codec = schema, kind, chosen
        self.plain, self.size, self.back = plain, size, None

    def create(self):
        """Makes the message; false if it was ready."""
        if self.size is None:
            return False
        self.plain = big(self.size)
        return True

    def encode(self):
        return self.codec.encode(self.codec.populate(self.plain))

    def decode(self, body):
        self.back = self.codec.convert(self.codec.decode(body))

    def differs(self):
        """Whether another message came back than was sent."""
        try:
            back = valuefile.write(self.schema, self.kind, self.back)
        except valuefile.BadValue:
            return True
        return back != valuefile.write(self.schema, self.kind, self.plain)


def big(n):
    """Study 4's record with n elements in each of its lists."""
    return {
        **record(1, "test"),
        "intarr": list(range(n)),
        "strarr": [f"text_{i}" for i in range(n)],
        "boolarr": [i % 2 == 1 for i in range(n)],
        "maparr": [record(10_000 + i, f"map{i}") for i in range(n)],
    }


def record(number, name):
    return {"id": number, "name": name, "int": 14142, "float": 3.141565, "bool": True, "nil": None,
            "str": "test", "arr": [1, 2, 8, 9], "map": {"foo": "bar", "buzz": 551, "piyo": 2.14}}
