"""The schema of the codec bench's messages, and the conversions that walk it."""

import json
from dataclasses import dataclass


@dataclass
class Field:
    """One field; `json` is its name in a plain object."""

    name: str
    json: str
    number: int
    kind: str
    type: str | None
    repeated: bool


class Schema:
    """The fields of every message, ordered by number."""

    def __init__(self, text):
        self.messages = {
            name: [Field(**field) for field in fields]
            for name, fields in json.loads(text)["messages"].items()
        }

    def converter(self, message, kind, function):
        """Returns a function that applies `function` to every field of a kind, in place.

        Returns None if the message has no such field.
        """
        steps = []
        for field in self.messages[message]:
            step = function if field.kind == kind else None
            if field.kind == "message":
                step = self.converter(field.type, kind, function)
            if step:
                steps.append((field.json, each(step) if field.repeated else step))

        def convert(plain):
            for name, step in steps:
                if name in plain:
                    plain[name] = step(plain[name])
            return plain

        return convert if steps else None

    def to_arrays(self, message):
        """Returns a function that turns plain objects into arrays of fields by position."""
        steps = self._steps(message, self.to_arrays)

        def walk(plain):
            return [step(plain[name]) if step else plain[name] for name, step in steps]

        return walk

    def from_arrays(self, message):
        """Returns a function that turns arrays into plain objects; absent fields are left out."""
        steps = self._steps(message, self.from_arrays)

        def walk(array):
            if not isinstance(array, list):
                raise TypeError(f"expected the array of a {message}, got {type(array).__name__}")
            return {name: step(value) if step else value for (name, step), value in zip(steps, array)}

        return walk

    def _steps(self, message, walker):
        steps = []
        for field in self.messages[message]:
            step = walker(field.type) if field.kind == "message" else None
            steps.append((field.json, each(step) if step and field.repeated else step))
        return steps


def each(function):
    return lambda values: [function(value) for value in values]
