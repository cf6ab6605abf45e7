"""The start rules of a run: which step may start when, and until when, without a clock."""

from .errors import Failed, Unsupported


class Schedule:
    """The steps of a run and what each waits for. A step is named by its index in the list.

    `first` has the steps that start with the run or after a delay counted from its start, as
    (delay_ns, index); `ended` returns the steps that may start when another has ended.
    """

    def __init__(self, steps):
        self.first = []
        self.followers = {}  # by index: the steps that start when it has ended
        self.sequential = set()  # steps that start when every earlier one has ended
        self.has_ended, self.prefix = [False] * len(steps), 0  # every step before `prefix` has
        self.limits = {}  # by index: how long after the end of which step it is too late to start
        self.ended_ns = {None: 0}  # by index; None: the start of the run
        indices, before = {}, 0
        for index, step in enumerate(steps):
            if step["id"] <= before:
                raise Failed(f"step {step['id']} comes after step {before}: ids start at 1 and grow")
            before = step["id"]
            start = step.get("start")
            if start is None and index > 0:
                self.sequential.add(index)
            elif start is None or start.get("after") == 0:
                self.first.append((0, index))
            elif "at_ns" in start:
                self.first.append((start["at_ns"], index))
            elif "after" in start:
                if start["after"] not in indices:
                    raise Failed(f"step {step['id']} waits for step {start['after']}, "
                                 "which is not an earlier step")
                self.followers.setdefault(indices[start["after"]], []).append(index)
            else:
                raise Unsupported(f"start {next(iter(start), '')}", "this driver does not know it")
            until = step.get("until")
            if until:
                if until["after"] and until["after"] not in indices:
                    raise Failed(f"step {step['id']} has a limit after step {until['after']}, "
                                 "which is not an earlier step")
                self.limits[index] = (until["ns"], indices.get(until["after"]))
            indices[step["id"]] = index

    def begin(self, now_ns):
        """Notes that the run begins."""
        self.ended_ns[None] = now_ns

    def is_late(self, index, now_ns):
        """Returns whether it is too late to start a step."""
        limit_ns, since = self.limits.get(index, (None, None))
        return limit_ns is not None and now_ns - self.ended_ns.get(since, now_ns) > limit_ns

    def ended(self, index, now_ns):
        """Notes that a step has ended; returns those that may start now."""
        self.has_ended[index], self.ended_ns[index] = True, now_ns
        ready = self.followers.pop(index, [])
        while self.prefix < len(self.has_ended) and self.has_ended[self.prefix]:
            self.prefix += 1
            if self.prefix in self.sequential:
                ready.append(self.prefix)
        return ready
