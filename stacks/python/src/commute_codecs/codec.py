"""The interface of every codec."""

from dataclasses import dataclass
from typing import Any, Callable


@dataclass
class Codec:
    """One library, prepared for one kind of message.

    `populate` makes the library's own object of a plain one and `convert` does the reverse; a
    library that works on plain objects needs neither.
    """

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    populate: Callable[[dict], Any] = lambda plain: plain
    convert: Callable[[Any], dict] = lambda decoded: decoded
