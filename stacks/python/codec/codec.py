"""The face that every codec shows."""

from dataclasses import dataclass
from typing import Any, Callable


@dataclass
class Codec:
    """One library, ready for one kind of message: its methods are plain functions."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    populate: Callable[[dict], Any] = lambda plain: plain
    convert: Callable[[Any], dict] = lambda own: own
