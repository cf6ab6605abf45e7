"""Drives gRPC's C-core by commute's driver protocol, version 2 (docs/driver-protocol.md).

This file holds the conversation and the start rules; channel.py makes the calls.
"""

import asyncio
import gc
import json
import os
import sys
import time

try:
    import channel
except ImportError as error:
    channel, missing = None, error


def main():
    with open(os.environ["COMMUTE_IN"], "rb") as requests, \
            open(os.environ["COMMUTE_OUT"], "wb") as replies, asyncio.Runner() as loop:
        def send(reply):
            replies.write(json.dumps(reply, separators=(",", ":")).encode() + b"\n")
            replies.flush()

        session = None
        for line in requests:
            try:
                request = json.loads(line)
                kind = request["type"]
                if kind == "hello":
                    send(hello())
                elif kind == "setup":
                    session = loop.run(set_up(request, session))
                    send({"type": "ready"})
                elif kind == "run":
                    if session is None:
                        raise Failed("run came before setup")
                    loop.run(run(session, request["steps"], send))
                    send({"type": "done"})
                elif kind == "close":
                    break
                elif not isinstance(kind, str):
                    raise TypeError(f"type {kind!r}")
                else:
                    raise Unsupported(f"request {kind}", "this driver does not know it")
            except Unsupported as refusal:
                send({"type": "unsupported", "what": refusal.what, "reason": refusal.reason})
            except Failed as failure:
                send({"type": "failed", "reason": str(failure)})
            except (AttributeError, KeyError, TypeError, ValueError) as malformed:
                send({"type": "failed", "reason": f"not a request: {malformed!r}"})
        if session is not None:
            loop.run(session.close())


class Failed(Exception):
    """The request makes no sense, or what it names is not there."""


class Unsupported(Exception):
    """This stack cannot do it; the driver is well."""

    def __init__(self, what, reason):
        super().__init__(what)
        self.what, self.reason = what, reason


def hello():
    if channel is None:
        raise Failed(f"{missing}; run stacks/grpc-core/install")
    return {"type": "hello", "version": 2, **channel.ABOUT}


async def set_up(setup, before):
    """Makes a session, which touches nothing but the origin of the warm-up."""
    if setup["protocol"] != "grpc":
        raise Unsupported(f"protocol {setup['protocol']}", "gRPC C-core speaks gRPC alone")
    if setup["codec"] != "protobuf":
        raise Unsupported(f"codec {setup['codec']}", "gRPC carries Protobuf")
    for factor in ("congestion", "observe", "discovery"):
        if setup.get(factor):
            raise Unsupported(f"{factor} {setup[factor]}", "gRPC C-core has no option for it")
    if before is not None:
        await before.close()
    try:
        if setup.get("warmup_url"):
            await warm_up({**setup, "url": setup["warmup_url"]})
        return Session(setup)
    except OSError as unreadable:
        raise Failed(str(unreadable)) from None


async def warm_up(setup):
    """Small downloads from another origin, over a connection that is not used again."""
    session = Session(setup)
    try:
        for _ in range(setup.get("warmup_calls", 1)):
            call = channel.Call({"id": 0, "step": "get", "bytes": 1}, setup["timeout_ns"], None)
            await call.make(session.wires)
            if call.row().get("error"):
                raise Failed(f"warm-up: {call.error['detail']}")
    finally:
        await session.close()


class Session:
    """One origin and the channel to it."""

    def __init__(self, setup):
        self.setup = setup
        self.messages = channel.messages(setup)
        self.origin = channel.Origin(setup)
        self.numbers = channel.Numbers()
        self.wires = channel.Wires(self.origin, self.numbers)

    async def reconnect(self):
        """A new channel is a new connection: C-core has no other way to ask for one."""
        before, self.wires = self.wires, channel.Wires(self.origin, self.numbers)
        await before.retire()

    async def close(self):
        await self.wires.retire()


async def run(session, steps, send):
    following = Following(session, steps, send)
    gc.collect()
    gc.disable()
    try:
        await following.follow()
    finally:
        gc.enable()


class Following:
    """Steps by their start rules; rows by their groups."""

    def __init__(self, session, steps, send):
        self.session, self.steps, self.send = session, steps, send
        self.calls = [prepare(session, step) for step in steps]
        self.owed, self.ended_calls = {}, {}
        for step, call in zip(steps, self.calls):
            if call:
                self.owed[step["group"]] = self.owed.get(step["group"], 0) + 1
        self.schedule = Schedule(steps)
        self.running = 0

    async def follow(self):
        begin_ns = time.monotonic_ns()
        async with asyncio.TaskGroup() as self.tasks:
            for delay_ns, place in self.schedule.first:
                self.spawn(place, begin_ns + delay_ns if delay_ns else None)

    def spawn(self, place, at_ns=None):
        self.running += 1
        self.tasks.create_task(self.go(place, at_ns))

    async def go(self, place, at_ns):
        """Does a step and then one that may start when it has ended; others go beside it."""
        if at_ns is not None:
            await asyncio.sleep((at_ns - time.monotonic_ns()) / 1e9)
        while place is not None:
            await self.do(place)
            self.running -= 1
            if self.running == 0:
                self.report()
            place, *beside = self.schedule.end(place) or [None]
            self.running += place is not None
            for other in beside:
                self.spawn(other)

    async def do(self, place):
        step, call = self.steps[place], self.calls[place]
        if call:
            await call.make(self.session.wires)
            self.ended_calls.setdefault(step["group"], []).append(call)
        elif step["step"] == "pause":
            await asyncio.sleep(step["ns"] / 1e9)
        else:
            await self.session.reconnect()

    def report(self):
        for group in sorted(self.ended_calls):
            if len(self.ended_calls[group]) == self.owed[group]:
                for call in self.ended_calls.pop(group):
                    self.send(call.row())


def prepare(session, step):
    """The call of a step, ready to be made; None if it is no call."""
    kind = step["step"]
    if kind == "exchange":
        if session.messages is None:
            raise Unsupported(f"step {kind}", "it needs stacks/python")
        if not channel.exchange.knows(step["kind"]):
            raise Unsupported(f"message {step['message']}", f"the driver knows no {step['kind']}")
    if kind in ("call", "get", "put", "stream", "exchange"):
        return channel.Call(step, session.setup["timeout_ns"], session.messages)
    if kind == "reconnect":
        if step["mode"] != "cold":
            raise Unsupported(f"reconnect {step['mode']}", "no connection of C-core was seen to resume")
    elif kind != "pause":
        raise Unsupported(f"step {kind}", "this driver does not know it")
    return None


class Schedule:
    """Which step may start when. Steps are named by their place."""

    def __init__(self, steps):
        self.first, self.followers, self.sequential = [], {}, set()
        self.ended, self.prefix = [False] * len(steps), 0
        places, before = {}, 0
        for place, step in enumerate(steps):
            if step["id"] <= before:
                raise Failed(f"step {step['id']} comes after step {before}: ids start at 1 and grow")
            before = step["id"]
            start = step.get("start")
            if start is None and place > 0:
                self.sequential.add(place)
            elif start is None or start.get("after") == 0:
                self.first.append((0, place))
            elif "at_ns" in start:
                self.first.append((start["at_ns"], place))
            elif "after" in start:
                if start["after"] not in places:
                    raise Failed(f"step {step['id']} waits for step {start['after']}, "
                                 "which is not an earlier step")
                self.followers.setdefault(places[start["after"]], []).append(place)
            else:
                raise Unsupported(f"start {next(iter(start), '')}", "this driver does not know it")
            places[step["id"]] = place

    def end(self, place):
        """The step has ended; the places of those that may start now."""
        self.ended[place] = True
        ready = self.followers.get(place, [])
        while self.prefix < len(self.ended) and self.ended[self.prefix]:
            self.prefix += 1
            if self.prefix in self.sequential:
                ready = [*ready, self.prefix]
        return ready


if __name__ == "__main__":
    sys.exit(main())
