"""The shim's C interface (shim/shim.h) for ctypes."""

import ctypes
import os
from ctypes import (CDLL, POINTER, Structure, c_bool, c_char, c_char_p, c_int32, c_int64, c_uint8,
                    c_uint32, c_uint64, c_void_p)

HERE = os.path.dirname(os.path.abspath(__file__))

SUCCEEDED, FAILED, CANCELED = 1, 2, 3  # enum outcome
QUIC_SESSION = 12        # net::NetLogSourceType


class Facts(Structure):
    _fields_ = [
        ("start_ns", c_int64), ("first_byte_ns", c_int64), ("end_ns", c_int64),
        ("sending_ns", c_int64),
        ("request_bytes", c_uint64), ("response_bytes", c_uint64),
        ("response", POINTER(c_uint8)),
        ("outcome", c_int32), ("status", c_int32), ("net_error", c_int32), ("quic_error", c_int32),
        ("opened", c_int32), ("rewinds", c_int32),
        ("protocol", c_char * 16), ("message", c_char * 160),
    ]


class Hint(Structure):
    _fields_ = [("host", c_char_p), ("port", c_int32)]


class EngineOptions(Structure):
    _fields_ = [
        ("quic", c_bool), ("hints", POINTER(Hint)), ("hint_count", c_int32),
        ("experimental", c_char_p), ("accept_any_certificate", c_bool),
    ]


class Verification(Structure):
    _fields_ = [("at_ns", c_int64), ("source_ns", c_int64),
                ("source_type", c_uint32), ("source", c_uint32)]


def load():
    """Returns the shim, linked with Cronet. Raises OSError, naming what is missing."""
    shim = CDLL(os.path.join(HERE, "build", "libshim.so"))
    for name, result, *arguments in (
            ("cronet_version", c_char_p),
            ("engine_open", c_void_p, POINTER(EngineOptions)),
            ("engine_close", None, c_void_p),
            ("engine_verifications", c_int32, c_void_p, POINTER(Verification), c_int32),
            ("call_new", c_void_p, c_uint32, c_char_p, c_char_p, c_char_p, c_char_p, c_uint64),
            ("call_add_header", None, c_void_p, c_char_p, c_char_p),
            ("call_set_body", None, c_void_p, c_char_p, c_uint64),
            ("call_start", c_int32, c_void_p, c_void_p),
            ("call_cancel", None, c_void_p),
            ("call_next_ended", c_void_p, c_int64),
            ("call_facts", POINTER(Facts), c_void_p),
            ("call_settle", POINTER(Facts), c_void_p),
            ("call_free", None, c_void_p)):
        function = getattr(shim, name)
        function.restype, function.argtypes = result, arguments
    return shim


def response_of(facts):
    """Returns a view of the response's body, valid until the call is freed."""
    if not facts.response_bytes:
        return b""
    address = ctypes.addressof(facts.response.contents)
    return memoryview((c_uint8 * facts.response_bytes).from_address(address))
