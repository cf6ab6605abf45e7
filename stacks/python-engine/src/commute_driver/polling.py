"""Follows the steps of a run with a library that is polled from one thread."""

import heapq
import time

from .rows import Rows, no_garbage_collection
from .schedule import Schedule

START, PAUSE, CANCEL, TIME_OUT = range(4)  # what happens when a timer is due

LONGEST_WAIT_NS = 10**9  # of one poll, where no timer is due earlier


class Session:
    """One origin and its connections, as `Run` uses them."""

    timeout_ns = None  # set where the library itself does not end a call that takes too long

    def prepare(self, steps):
        """Returns the call of each step, prepared but not started; None for steps that make none.

        Raises Unsupported before anything of the run happens.
        """
        raise NotImplementedError

    def wait(self, calls, timeout_ns):
        """Waits until one of the calls in flight ends; returns those that have.

        May return early, with none.
        """
        raise NotImplementedError

    def reconnect(self, index, mode):
        """Closes every connection; returns how many ns that takes, 0 if it is done."""
        raise NotImplementedError

    def settle(self, calls):
        """Completes the data of ended calls. Called as soon as no other is in flight."""

    def run(self, steps, send):
        Run(self, steps).follow(send)

    def close(self):
        raise NotImplementedError


class Call:
    """One call of a run, as `Run` uses it."""

    def start(self):
        """Starts the call; returns the moment from which its limits count."""
        raise NotImplementedError

    def give_up(self, kind):
        """Cancels the call, with an error of this kind; returns true if it has ended with that.

        Otherwise `Session.wait` returns it later.
        """
        raise NotImplementedError

    def row(self):
        """Returns the fields of its row. Fields that are None are not sent, except `resumed`."""
        raise NotImplementedError

    def free(self):
        """Releases what the row needed."""


class Run:
    """One run. Steps are named by their index."""

    def __init__(self, session, steps):
        self.session, self.steps = session, steps
        self.schedule = Schedule(steps)
        self.calls = session.prepare(steps)
        self.rows = Rows(steps, self.calls)
        self.timers = []  # a heap of (when_ns, index, what)
        self.in_flight = {}  # by call: its index
        self.unsettled = []

    def follow(self, send):
        with no_garbage_collection():
            self.walk(send)
        send({"type": "done"})

    def walk(self, send):
        begin_ns = time.monotonic_ns()
        self.schedule.begin(begin_ns)
        ready = []
        for delay_ns, index in self.schedule.first:
            if delay_ns:
                self.set_timer(begin_ns + delay_ns, index, START)
            else:
                ready.append(index)
        while ready or self.timers or self.in_flight:
            ended = [index for index in ready if self.begin(index)]
            ready = []
            if not ended:
                ended, ready = self.wait()
            ended_ns = time.monotonic_ns()
            if not (self.in_flight or ready):
                self.report(send)
            for index in ended:
                ready += self.schedule.ended(index, ended_ns)

    def set_timer(self, when_ns, index, what):
        heapq.heappush(self.timers, (when_ns, index, what))

    def begin(self, index):
        """Starts a step; returns whether it has ended already."""
        step, call = self.steps[index], self.calls[index]
        if self.schedule.is_late(index, time.monotonic_ns()):
            self.rows.skip(step, call)
            return True
        if call:
            start_ns = call.start()
            self.in_flight[call] = index
            if self.session.timeout_ns:
                self.set_timer(start_ns + self.session.timeout_ns, index, TIME_OUT)
            if step.get("cancel_after_ns"):
                self.set_timer(start_ns + step["cancel_after_ns"], index, CANCEL)
            return False
        start_ns = time.monotonic_ns()
        if step["step"] == "pause":
            wait_ns = step["ns"]
        else:
            wait_ns = self.session.reconnect(index, step["mode"])
            if not wait_ns:
                return True
        self.set_timer(start_ns + wait_ns, index, PAUSE)
        return False

    def wait(self):
        """Waits until something happens; returns the steps that ended and those that may start."""
        timeout_ns = self.timers[0][0] - time.monotonic_ns() if self.timers else LONGEST_WAIT_NS
        ended = [self.end(call) for call in self.session.wait(self.in_flight, timeout_ns)]
        ready = []
        while self.timers and self.timers[0][0] <= time.monotonic_ns():
            _, index, what = heapq.heappop(self.timers)
            call = self.calls[index]
            if what == START:
                ready.append(index)
            elif what == PAUSE:
                ended.append(index)
            elif call in self.in_flight and call.give_up("cancelled" if what == CANCEL else "timeout"):
                ended.append(self.end(call))
        self.drop_limits()
        return ended, ready

    def end(self, call):
        """Notes that a call has ended; returns its index."""
        index = self.in_flight.pop(call)
        self.rows.add(self.steps[index], call)
        self.unsettled.append(call)
        return index

    def drop_limits(self):
        """Drops the limits of ended calls, so that the run does not wait for them."""
        while self.timers:
            _, index, what = self.timers[0]
            if what in (START, PAUSE) or self.calls[index] in self.in_flight:
                break
            heapq.heappop(self.timers)

    def report(self, send):
        """Completes the ended calls; sends the rows of complete groups if no timer is pending."""
        self.session.settle(self.unsettled)
        self.unsettled = []
        if not self.timers:
            self.rows.send_complete(send)
