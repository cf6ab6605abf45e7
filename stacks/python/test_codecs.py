"""Every codec gives back what it took. Run in this folder: .venv/bin/python3 -E -s test_codecs.py"""

import json
import struct
import unittest

import bench_pb2
import codec
import exchange
import valuefile
from schema import Schema

STRING = 'hé <&> "\\\u2028\U0001f600'
KINDS = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string", 11: "message", 12: "bytes"}
VALUES = {"double": 0.1 + 0.2, "float": 3.141565, "int64": 2**53 + 1, "uint64": 2**64 - 1, "int32": -(2**31),
          "bool": True, "string": STRING, "bytes": bytes(range(256)), "null": None}


def described(field):
    kind = "null" if field.containing_oneof else KINDS[field.type]
    return {"name": field.name, "json": field.json_name, "number": field.number, "kind": kind,
            "type": field.message_type.name if kind == "message" else None, "repeated": field.is_repeated}


SCHEMA = Schema(json.dumps({"messages": {
    name: [described(field) for field in sorted(message.fields, key=lambda field: field.number)]
    for name, message in bench_pb2.DESCRIPTOR.message_types_by_name.items()}}))


def filled(message):
    """Something in every field but the one that is never set."""
    plain = {}
    for field in SCHEMA.messages[message]:
        value = filled(field.type) if field.kind == "message" else VALUES[field.kind]
        plain[field.json] = [value, value] if field.repeated else value
    return plain


class Codecs(unittest.TestCase):
    def each(self):
        for offer in codec.offers():
            for message in codec.MESSAGES if offer.codec != "empty" else []:
                with self.subTest(codec=offer.codec, message=message):
                    yield offer.make(SCHEMA, message), message

    def test_give_back_what_they_took(self):
        for chosen, message in self.each():
            value = valuefile.write(SCHEMA, message, filled(message))
            plain = valuefile.read(SCHEMA, message, value)
            back = chosen.convert(chosen.decode(chosen.encode(chosen.populate(plain))))
            self.assertEqual(valuefile.write(SCHEMA, message, back), value)

    def test_refuse_a_message_cut_short(self):
        for chosen, message in self.each():
            encoded = chosen.encode(chosen.populate(filled(message)))
            with self.assertRaises(Exception):
                chosen.decode(encoded[:-1])


class Values(unittest.TestCase):
    def test_floats_print_as_their_shortest_decimal_and_keep_their_bits(self):
        for decimal in (3.141565, 0.1, 1.0, 16777216.0, 1e-45, 3.4028235e38, -0.0, float("inf")):
            text = struct.pack(">f", decimal).hex()
            self.assertEqual(repr(valuefile.read_float(text)), repr(decimal))

    def test_wrong_types_are_no_values(self):
        for field, wrong in (("id", 1.0), ("id", True), ("id", 2**31), ("name", None), ("phones", {}), ("phones", [1])):
            with self.assertRaises(valuefile.BadValue, msg=(field, wrong)):
                valuefile.write(SCHEMA, "Person", {field: wrong})


class Exchanges(unittest.TestCase):
    def test_big_is_the_record_of_study_4(self):
        encoded = json.dumps(exchange.big(100), separators=(",", ":"))
        self.assertEqual(len(encoded), 17_211)


if __name__ == "__main__":
    unittest.main()
