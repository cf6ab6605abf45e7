"""Google's protobuf, with the module that its compiler makes of the schema."""

import bench_pb2 as pb

from . import convert, populate
from .codec import Codec


def make(schema, message):
    own, function = OWN[message]
    return Codec(
        populate=getattr(populate, function),
        encode=own.SerializeToString,
        decode=own.FromString,
        convert=getattr(convert, function),
    )


OWN = {
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
