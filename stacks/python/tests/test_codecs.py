"""The codecs against themselves. Run in the folder above: .venv/bin/python3 -m unittest discover -s tests"""

import json
import re
import struct
import unittest
from pathlib import Path

from commute_codecs import bench_pb2, exchange, media, valuefile
from commute_codecs.offers import MESSAGES, offers
from commute_codecs.schema import Schema

PROTO = Path(__file__).resolve().parents[3] / "crates/shared/messages/proto/commute/bench/v1/bench.proto"
STRING = 'hé <&> "\\\u2028\U0001f600'
KINDS = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string", 11: "message", 12: "bytes"}
VALUES = {"double": 0.1 + 0.2, "float": 3.141565, "int64": 2**53 + 1, "uint64": 2**64 - 1, "int32": -(2**31),
          "bool": True, "string": STRING, "bytes": bytes(range(256)), "null": None}


def fields(message):
    return sorted(message.fields, key=lambda field: field.number)


def described(field):
    kind = "null" if field.containing_oneof else KINDS[field.type]
    return {"name": field.name, "json": field.json_name, "number": field.number, "kind": kind,
            "type": field.message_type.name if kind == "message" else None, "repeated": field.is_repeated}


SCHEMA = Schema(json.dumps({"messages": {
    name: [described(field) for field in fields(message)]
    for name, message in bench_pb2.DESCRIPTOR.message_types_by_name.items()}}))


def filled(message):
    """Returns a message with a value in every field but the one that is never set."""
    plain = {}
    for field in SCHEMA.messages[message]:
        value = filled(field.type) if field.kind == "message" else VALUES[field.kind]
        plain[field.json] = [value, value] if field.repeated else value
    return plain


class Codecs(unittest.TestCase):
    def each(self):
        for offer in offers():
            for message in MESSAGES if offer.codec != "empty" else []:
                with self.subTest(codec=offer.codec, message=message):
                    yield offer.make(SCHEMA, message), message

    def test_decoding_restores_what_was_encoded(self):
        for codec, message in self.each():
            value = valuefile.write(SCHEMA, message, filled(message))
            plain = valuefile.read(SCHEMA, message, value)
            decoded = codec.convert(codec.decode(codec.encode(codec.populate(plain))))
            self.assertEqual(valuefile.write(SCHEMA, message, decoded), value)

    def test_truncated_messages_are_refused(self):
        for codec, message in self.each():
            encoded = codec.encode(codec.populate(filled(message)))
            with self.assertRaises(Exception):
                codec.decode(encoded[:-1])


class GeneratedModule(unittest.TestCase):
    def test_it_has_the_messages_and_fields_of_the_proto(self):
        text = re.sub(r"//.*", "", PROTO.read_text(encoding="utf-8"))
        in_proto = {
            name: [(int(number), field) for field, number in re.findall(r"(\w+)\s*=\s*(\d+)\s*[;\[]", body)]
            for name, body in re.findall(r"^message (\w+) \{(.*?)^\}", text, re.MULTILINE | re.DOTALL)}
        generated = {
            name: [(field.number, field.name) for field in fields(message)]
            for name, message in bench_pb2.DESCRIPTOR.message_types_by_name.items()}
        self.assertEqual(generated, {name: sorted(found) for name, found in in_proto.items()},
                         "run stacks/codegen/generate")


class Values(unittest.TestCase):
    def test_floats_print_as_their_shortest_decimal_and_keep_their_bits(self):
        for decimal in (3.141565, 0.1, 1.0, 16777216.0, 1e-45, 3.4028235e38, -0.0, float("inf")):
            text = struct.pack(">f", decimal).hex()
            self.assertEqual(repr(valuefile.read_float(text)), repr(decimal))

    def test_values_of_the_wrong_type_are_refused(self):
        for field, wrong in (("id", 1.0), ("id", True), ("id", 2**31), ("name", None), ("phones", {}), ("phones", [1])):
            with self.assertRaises(valuefile.BadValue, msg=(field, wrong)):
                valuefile.write(SCHEMA, "Person", {field: wrong})


class Exchanges(unittest.TestCase):
    def test_every_codec_named_for_http_is_offered(self):
        offered = [offer.codec for offer in offers()]
        for codec in media.CODECS:
            self.assertIn(codec, offered)
            self.assertIn("content-type", media.headers(codec))

    def test_big_is_the_record_of_the_unity_msgpack_study(self):
        encoded = json.dumps(exchange.big(100), separators=(",", ":"))
        self.assertEqual(len(encoded), 17_211)


if __name__ == "__main__":
    unittest.main()
