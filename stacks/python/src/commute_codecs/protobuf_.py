"""Google's protobuf, with the module that protoc generates from bench.proto."""

from . import bench_pb2 as pb
from . import convert, populate
from .codec import Codec

# By message: the generated class, and the name of its functions in populate.py and convert.py.
CLASSES = {
    "Small": (pb.Small, "small"),
    "AddressBook": (pb.AddressBook, "address_book"),
    "Newsfeed": (pb.Newsfeed, "newsfeed"),
    "Large": (pb.Large, "large"),
    "Diag": (pb.Diag, "diag"),
    "Big": (pb.Big, "big"),
    "PerlData": (pb.PerlData, "perl_data"),
    "ApiPage": (pb.ApiPage, "api_page"),
    "Echo": (pb.Echo, "echo"),
}


def make(schema, message):
    generated, function = CLASSES[message]
    return Codec(
        populate=getattr(populate, function),
        encode=generated.SerializeToString,
        decode=generated.FromString,
        convert=getattr(convert, function),
    )
