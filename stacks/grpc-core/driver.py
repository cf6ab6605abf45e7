"""Drives gRPC's C-core by commute's driver protocol, version 2 (docs/driver-protocol.md)."""

import asyncio
import importlib.metadata
import sys

try:
    import grpc
    from commute_driver import Failed, Unsupported, serve, tasks

    from call import Call
    from channel import OPTIONS, Channel, ConnectionNumbers, Origin
except ImportError as error:
    sys.exit(f"{error}; run: commute stacks install grpc-core")


def main():
    serve(Driver())


class Driver:
    def __init__(self):
        self.loop = asyncio.Runner()

    def hello(self):
        protobuf = importlib.metadata.version("protobuf")
        return {
            "stack": "gRPC C-core (Python)",
            "stack_version": f"grpcio {grpc.__version__}, protobuf {protobuf}",
            "tls": "BoringSSL in C-core",
            "protocols": ["grpc"],
            "codecs": ["protobuf"],
            "capabilities": ["mtls", "stream", "parallel", "protobuf", "cancel", "fetch"],
            "clock": "monotonic",
            "resolution_ns": 1,
            "phases": {
                "tls": "channel READY: the server's HTTP/2 SETTINGS were read; first connection only",
                "first_byte": "initial metadata handed up; calls without a stream: together with the reply",
                "end": "status handed up to the event loop",
            },
            "settings": {
                **{option: str(value) for option, value in OPTIONS.items()},
                "API": "grpc.aio: one event loop, as Unity's Grpc.Core gives tasks to one thread",
                "H2 windows": "64 KiB to begin with, grown by bandwidth estimation (BDP)",
                "uploaded in": "messages of 16 KiB",
                "message limit": "4 MiB received",
                "connect backoff": "1 s, growing",
                "after a failed call": "the channel is kept and reconnects by itself",
            },
        }

    def open(self, setup):
        refuse(setup)
        return self.loop.run(open_session(self.loop, setup))

    def close(self):
        self.loop.close()


def refuse(setup):
    """Raises Unsupported for what C-core cannot do."""
    if setup["protocol"] != "grpc":
        raise Unsupported(f"protocol {setup['protocol']}", "gRPC C-core speaks gRPC only")
    if setup["codec"] != "protobuf":
        raise Unsupported(f"codec {setup['codec']}", "gRPC carries Protobuf")
    for key in ("congestion", "observe", "discovery"):
        if setup.get(key):
            raise Unsupported(f"{key} {setup[key]}", "gRPC C-core has no option for it")


async def open_session(loop, setup):
    """Returns a session, having touched no origin but the warm-up's."""
    if setup.get("warmup_url"):
        await warm_up(loop, {**setup, "url": setup["warmup_url"], "schema_file": None})
    return Session(loop, setup)


async def warm_up(loop, setup):
    """Makes small downloads from another origin, over a connection that is not used again."""
    session = Session(loop, setup)
    try:
        for _ in range(setup.get("warmup_calls", 1)):
            call = Call({"id": 0, "step": "get", "bytes": 1}, setup["timeout_ns"], None, {})
            await session.make(call)
            if call.row()["error"]:
                raise Failed(f"warm-up: {call.error['detail']}")
    finally:
        await session.channel.retire()


class Session:
    """One origin and the channel to it."""

    def __init__(self, loop, setup):
        self.loop, self.setup = loop, setup
        self.messages = None
        if setup.get("schema_file"):
            # Loads the codecs' libraries, which only exchanges need.
            from commute_codecs.exchange import Messages
            self.messages = Messages(setup["codec"], setup["schema_file"], setup.get("values") or {})
        self.payloads = {}  # of fetch steps, by name
        for name, file in (setup.get("payloads") or {}).items():
            with open(file, "rb") as content:
                self.payloads[name] = content.read()
        self.origin = Origin(setup)
        self.numbers = ConnectionNumbers()
        self.channel = Channel(self.origin, self.numbers)

    def prepare(self, steps):
        for step in steps:
            self.refuse_step(step)
        return [Call(step, self.setup["timeout_ns"], self.messages, self.payloads) if is_call(step) else None
                for step in steps]

    def refuse_step(self, step):
        kind = step["step"]
        if kind == "exchange":
            if self.messages is None:
                raise Failed("setup named no schema_file")
            if not self.messages.knows(step["kind"]):
                raise Unsupported(f"message {step['message']}", f"the driver knows no {step['kind']}")
        elif kind == "fetch":
            if step.get("payload") and step["payload"] not in self.payloads:
                raise Failed(f"setup has no payload {step['payload']!r}")
        elif kind == "reconnect":
            if step["mode"] != "cold":
                raise Unsupported(f"reconnect {step['mode']}", "no connection of C-core was seen to resume")
        elif not is_call(step) and kind != "pause":
            raise Unsupported(f"step {kind}", "this driver does not know it")

    def make(self, call):
        return call.make(self.channel)

    async def reconnect(self):
        """Replaces the channel: C-core has no other way to get a new connection."""
        before, self.channel = self.channel, Channel(self.origin, self.numbers)
        await before.retire()

    def run(self, steps, send):
        self.loop.run(tasks.Run(self, steps).follow(send))

    def close(self):
        self.loop.run(self.channel.retire())


def is_call(step):
    return step["step"] in ("call", "get", "put", "stream", "exchange", "fetch")


if __name__ == "__main__":
    main()
