"""What an app does around a request that takes a message there and back: it makes the message,
encodes it and decodes the answer. The drivers do the request in between."""

from pathlib import Path

from . import valuefile
from .offers import MESSAGES, offers
from .schema import Schema


class Messages:
    """The messages that a setup names, in one codec."""

    def __init__(self, codec, schema_file, value_files):
        self.offer = next(offer for offer in offers() if offer.codec == codec)
        self.schema = Schema(Path(schema_file).read_text(encoding="utf-8"))
        self.texts = {message: Path(file).read_text(encoding="ascii") for message, file in value_files.items()}
        self.plain, self.codecs = {}, {}

    def knows(self, kind):
        """Returns whether the codecs have this kind of message."""
        return kind in MESSAGES

    def prepare(self, message, kind):
        """Prepares an exchange. Encodes nothing yet, and does not even make a message `big-N`."""
        if kind not in self.codecs:
            self.codecs[kind] = self.offer.make(self.schema, kind)
        if kind == "Big" and message.startswith("big-"):
            return Exchange(self.schema, kind, self.codecs[kind], size=int(message[4:]))
        if (message, kind) not in self.plain:
            if message not in self.texts:
                raise ValueError(f"setup named no value file for {message}")
            self.plain[message, kind] = valuefile.read(self.schema, kind, self.texts[message])
        return Exchange(self.schema, kind, self.codecs[kind], plain=self.plain[message, kind])


class Exchange:
    """One message, sent once."""

    def __init__(self, schema, kind, codec, plain=None, size=None):
        self.schema, self.kind, self.codec = schema, kind, codec
        self.plain, self.size, self.echo = plain, size, None

    def create(self):
        """Makes a message `big-N`; returns false for any other, which is there already."""
        if self.size is None:
            return False
        self.plain = big(self.size)
        return True

    def encode(self):
        return self.codec.encode(self.codec.populate(self.plain))

    def decode(self, body):
        self.echo = self.codec.convert(self.codec.decode(body))

    def differs(self):
        """Returns whether the message that came back differs from the one sent."""
        try:
            echo = valuefile.write(self.schema, self.kind, self.echo)
        except valuefile.BadValue:
            return True
        return echo != valuefile.write(self.schema, self.kind, self.plain)


def big(n):
    """Returns the record of the unity-msgpack study with n elements in each of its lists."""
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
