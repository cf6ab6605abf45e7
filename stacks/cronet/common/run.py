"""Follows the steps of one run: what starts when, and when rows may be sent.

The session makes calls (`prepare`), says which has ended (`next_ended`), reconnects, and settles
ended calls; a call can `start`, be given up, tell its `row` and be freed.
"""

import gc
import heapq
import time

from refusals import Unsupported

PAUSE, START, CANCEL, TIME_OUT = range(4)


class Run:
    """Places are positions in the list of steps; a place is over when its step has ended."""

    def __init__(self, session, steps):
        self.session, self.steps = session, steps
        self.timers = []
        places = {}
        self.sequential = set()  # start when every earlier step is over
        self.followers = {}      # place: those that start when it is over
        self.first = []          # (delay, place)
        for place, step in enumerate(steps):
            start = step.get("start")
            if start is None:
                if place:
                    self.sequential.add(place)
                else:
                    self.first.append((0, place))
            elif "after" in start:
                if start["after"] == 0:
                    self.first.append((0, place))
                else:
                    self.followers.setdefault(places[start["after"]], []).append(place)
            elif "at_ns" in start:
                self.first.append((start["at_ns"], place))
            else:
                raise Unsupported(f"start {next(iter(start), '')}", "this driver does not know it")
            places[step["id"]] = place
        self.calls = session.prepare(steps)
        self.owed = {}  # group: its calls
        for step, call in zip(steps, self.calls):
            if call:
                self.owed[step["group"]] = self.owed.get(step["group"], 0) + 1

    def follow(self, send):
        gc.collect()
        gc.disable()
        try:
            self.walk(send)
        finally:
            gc.enable()
        send({"type": "done"})

    def walk(self, send):
        begin_ns = time.monotonic_ns()
        self.under_way = {}
        self.ended = {}  # group: its ended calls, not yet reported
        self.unsettled = []  # of those
        over, prefix = [False] * len(self.steps), 0
        ready = []
        for delay_ns, place in self.first:
            if delay_ns:
                self.at(begin_ns + delay_ns, START, place)
            else:
                ready.append(place)
        while ready or self.timers or self.under_way:
            ended = [place for place in ready if self.begin(place)]
            ready = []
            if not ended:
                ended, ready = self.wait()
            if not (self.under_way or ready):
                self.report(send)
            for place in ended:
                over[place] = True
                ready += self.followers.get(place, [])
                while prefix < len(over) and over[prefix]:
                    prefix += 1
                    if prefix in self.sequential:
                        ready.append(prefix)

    def at(self, at_ns, what, place):
        heapq.heappush(self.timers, (at_ns, place, what))

    def begin(self, place):
        """Starts a step; whether it is over at once."""
        step, call = self.steps[place], self.calls[place]
        now_ns = time.monotonic_ns()
        if call:
            call.start()
            self.under_way[call] = place
            self.at(now_ns + self.session.setup["timeout_ns"], TIME_OUT, place)
            if "cancel_after_ns" in step:
                self.at(now_ns + step["cancel_after_ns"], CANCEL, place)
        elif step["step"] == "pause":
            self.at(now_ns + step["ns"], PAUSE, place)
        else:
            wait_ns = self.session.reconnect(place, step["mode"])
            if not wait_ns:
                return True
            self.at(now_ns + wait_ns, PAUSE, place)
        return False

    def wait(self):
        """Sleeps until something happens: the places that are over, those that may start."""
        ended, ready = [], []
        timeout_ns = self.timers[0][0] - time.monotonic_ns() if self.timers else 10**9
        call = self.session.next_ended(timeout_ns)
        while call:
            place = self.under_way.pop(call)
            self.ended.setdefault(self.steps[place]["group"], []).append(call)
            self.unsettled.append(call)
            ended.append(place)
            call = self.session.next_ended(0)
        while self.timers and self.timers[0][0] <= time.monotonic_ns():
            _, place, what = heapq.heappop(self.timers)
            if what == START:
                ready.append(place)
            elif what == PAUSE:
                ended.append(place)
            elif self.calls[place] in self.under_way:
                self.calls[place].give_up("cancelled" if what == CANCEL else "timeout")
        self.forget_limits()
        return ended, ready

    def forget_limits(self):
        """The run is not to wait for the limits of calls that have ended."""
        while self.timers:
            _, place, what = self.timers[0]
            if what not in (TIME_OUT, CANCEL) or self.calls[place] in self.under_way:
                break
            heapq.heappop(self.timers)

    def report(self, send):
        """Sends the rows of the groups that are complete. No call is under way."""
        self.session.settle(self.unsettled)
        self.unsettled = []
        for group in sorted(self.ended):
            if len(self.ended[group]) == self.owed[group]:
                for call in self.ended.pop(group):
                    send(call.row())
                    call.free()
