"""Follows the steps of a run on an asyncio event loop, each in a task."""

import asyncio
import time

from .rows import Rows, no_garbage_collection
from .schedule import Schedule


class Run:
    """One run. Steps are named by their index.

    The session prepares calls (`prepare`, as `polling.Session` does), makes one (`make`, awaited
    until it has ended) and reconnects (`reconnect`, awaited).
    """

    def __init__(self, session, steps):
        self.session, self.steps = session, steps
        self.schedule = Schedule(steps)
        self.calls = session.prepare(steps)
        self.rows = Rows(steps, self.calls)
        self.running = 0  # tasks that carry out a step or wait to

    async def follow(self, send):
        with no_garbage_collection():
            self.send = send
            begin_ns = time.monotonic_ns()
            self.schedule.begin(begin_ns)
            async with asyncio.TaskGroup() as self.tasks:
                for delay_ns, index in self.schedule.first:
                    self.spawn(index, begin_ns + delay_ns if delay_ns else None)
        send({"type": "done"})

    def spawn(self, index, at_ns=None):
        self.running += 1
        self.tasks.create_task(self.go(index, at_ns))

    async def go(self, index, at_ns):
        """Carries out a step and then one that may start after it; spawns tasks for the others."""
        if at_ns is not None:
            await asyncio.sleep((at_ns - time.monotonic_ns()) / 1e9)
        while index is not None:
            await self.carry_out(index)
            ended_ns = time.monotonic_ns()
            self.running -= 1
            if self.running == 0:
                self.rows.send_complete(self.send)
            index, *others = self.schedule.ended(index, ended_ns) or [None]
            self.running += index is not None
            for other in others:
                self.spawn(other)

    async def carry_out(self, index):
        step, call = self.steps[index], self.calls[index]
        if self.schedule.is_late(index, time.monotonic_ns()):
            self.rows.skip(step, call)
        elif call:
            await self.session.make(call)
            self.rows.add(step, call)
        elif step["step"] == "pause":
            await asyncio.sleep(step["ns"] / 1e9)
        else:
            await self.session.reconnect()
