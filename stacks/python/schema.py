"""The schema of the bench's messages, and what is done by walking it."""

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
    """Every message's fields, in the order of their numbers."""

    def __init__(self, text):
        self.messages = {
            name: [Field(**field) for field in fields]
            for name, fields in json.loads(text)["messages"].items()
        }

    def converter(self, message, kind, function):
        """What applies a function to every field of a kind, in place; None if there is none."""
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
        """What makes arrays, fields by position, of plain objects."""
        steps = self._steps(message, self.to_arrays)

        def walk(plain):
            return [step(plain[name]) if step else plain[name] for name, step in steps]

        return walk

    def from_arrays(self, message):
        """What makes plain objects of arrays; what is not there is left out."""
        steps = self._steps(message, self.from_arrays)

        def walk(array):
            if not isinstance(array, list):
                raise TypeError(f"{type(array).__name__} where the array of a {message} belongs")
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
