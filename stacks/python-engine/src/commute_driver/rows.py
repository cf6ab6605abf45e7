"""Rows, which are sent by group so that reporting never falls between timed calls."""

import gc
from collections import Counter
from contextlib import contextmanager

# Fields that are sent as null if they are None; absent, they have a default.
UNKNOWN_IF_NONE = ("resumed",)


class Rows:
    """The calls of a run that have ended and whose rows have not been sent."""

    def __init__(self, steps, calls):
        self.sizes = Counter(step["group"] for step, call in zip(steps, calls) if call)
        self.ended = {}  # by group

    def skip(self, step, call):
        """Expects no row of a step that was not started."""
        if call:
            self.sizes[step["group"]] -= 1

    def add(self, step, call):
        self.ended.setdefault(step["group"], []).append(call)

    def send_complete(self, send):
        """Sends the rows of each group that is complete. Must not be called while a call runs."""
        for group in sorted(self.ended):
            if len(self.ended[group]) == self.sizes[group]:
                for call in self.ended.pop(group):
                    row = {"type": "row", **call.row()}
                    send({key: value for key, value in row.items() if value is not None or key in UNKNOWN_IF_NONE})
                    call.free()


@contextmanager
def no_garbage_collection():
    """Collects garbage now, and then not again until the block ends."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
