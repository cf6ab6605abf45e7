"""One call: prepared before the run, made in it, read when it has ended."""

import asyncio
import hashlib
import json
import re

import grpc
from commute_driver import seeded
from grpc import aio

from channel import now_ns
from echo_pb2 import Chunk, DownloadRequest, EchoRequest

CHUNK_BYTES = 16 << 10  # content of an upload's messages, as in the other gRPC drivers

# Error kinds of the driver protocol by C-core's own words. The first match wins.
KINDS = [
    ("dns", "errors resolving|DNS resolution failed"),
    ("tls", "handshake failed|TSI_|[Vv]erification [Cc]heck"),
    ("connect", "^UNAVAILABLE: failed to connect"),
    ("reset", "Stream removed|Socket closed|Connection reset|Broken pipe|RST_STREAM|GOAWAY"),
    ("protocol", "deserializ|parsing|larger than max|[Mm]issing"),
]


class Call:
    def __init__(self, step, timeout_ns, messages, payloads):
        self.id, self.cancel_after_ns = step["id"], step.get("cancel_after_ns")
        self.options = {"timeout": timeout_ns / 1e9, "metadata": (("x-commute-id", str(self.id)),)}
        self.converse = {
            "call": self.echo, "get": self.download, "put": self.upload, "stream": self.chat,
            "exchange": self.exchange_message, "fetch": self.fetch,
        }[step["step"]]
        self.exchange, self.exchange_times = None, {}
        if step["step"] in ("call", "stream"):
            self.message = echo_request(step["body"])
            self.messages = step.get("messages", 1)
            if self.messages < 1:
                raise ValueError(f"step {self.id} is a stream of no messages")
        elif step["step"] == "exchange":
            self.kind = step["kind"]
            self.exchange = messages.prepare(step["message"], self.kind)
        elif step["step"] == "fetch":
            self.path, self.body = step["path"], payloads[step["payload"]] if step.get("payload") else b""
            self.options["metadata"] += tuple((step.get("headers") or {}).items())
        elif step["step"] == "get":
            self.message = DownloadRequest(bytes=step["bytes"])
        else:
            file = seeded(step["bytes"])
            self.chunks = [Chunk(data=file[begin:begin + CHUNK_BYTES])
                           for begin in range(0, len(file), CHUNK_BYTES)]
        self.received, self.sent_bytes = [], 0
        self.rpc, self.given_up = None, False
        self.first_byte_ns, self.status, self.error = None, None, None

    async def make(self, channel):
        channel.enter(self)
        self.start_ns = now_ns()
        if self.cancel_after_ns:
            asyncio.get_running_loop().call_later(self.cancel_after_ns / 1e9, self.give_up)
        try:
            await self.converse(channel)
            self.status = grpc.StatusCode.OK.value[0]
        except aio.AioRpcError as error:
            self.status, self.error = classify(error)
        except asyncio.CancelledError:
            if not self.given_up:
                raise
            self.error = {"kind": "cancelled", "detail": "cancelled by cancel_after_ns"}
        self.end_ns = now_ns()
        self.connection = channel.connection(failed=self.error is not None)
        self.ready_ns = channel.ready_ns if len(channel.openers) == 1 else None
        await channel.leave(self)

    def give_up(self):
        self.given_up = self.rpc is not None and self.rpc.cancel()

    async def echo(self, channel):
        self.rpc = channel.echo(self.message, **self.options)
        self.sent_bytes = self.message.ByteSize()
        self.received.append(await self.rpc)
        self.first_byte_ns = now_ns()

    async def fetch(self, channel):
        self.rpc = channel.fetch(self.path)(self.body, **self.options)
        self.sent_bytes = len(self.body)
        self.received.append(await self.rpc)
        self.first_byte_ns = now_ns()

    async def download(self, channel):
        self.rpc = channel.download(self.message, **self.options)
        self.sent_bytes = self.message.ByteSize()
        await self.head()
        async for chunk in self.rpc:
            self.received.append(chunk.data)

    async def upload(self, channel):
        self.rpc = channel.upload(**self.options)
        try:
            for chunk in self.chunks:
                await self.rpc.write(chunk)
                self.sent_bytes += len(chunk.data)
            await self.rpc.done_writing()
        except asyncio.InvalidStateError:
            pass  # the call has ended; its status says why
        await self.head()
        self.received.append(await self.rpc)

    async def chat(self, channel):
        """Keeps one message in flight: sends the next when the last has been answered."""
        self.rpc = channel.chat(**self.options)
        for answered in range(self.messages):
            await self.rpc.write(self.message)
            self.sent_bytes += self.message.ByteSize()
            if not answered:
                await self.head()
            reply = await self.rpc.read()
            if reply is aio.EOF:
                break
            self.received.append(reply)
        await self.rpc.done_writing()
        await self.rpc.read()
        if len(self.received) < self.messages:
            self.error = {"kind": "protocol", "detail": "the stream ended before every message was answered"}

    async def exchange_message(self, channel):
        self.exchange_times["created_ns"] = now_ns() if self.exchange.create() else None
        body = self.exchange.encode()
        self.exchange_times["encoded_ns"] = now_ns()
        self.rpc = channel.exchange(self.kind)(body, **self.options)
        self.sent_bytes = len(body)
        self.received.append(await self.rpc)
        self.first_byte_ns = self.exchange_times["received_ns"] = now_ns()
        try:
            self.exchange.decode(self.received[0])
        except Exception as error:  # a library may raise anything
            self.error = {"kind": "protocol", "detail": str(error)}

    async def head(self):
        await self.rpc.initial_metadata()
        self.first_byte_ns = now_ns()

    def row(self):
        """Returns the row's fields, with the digest, which is not part of the timed call."""
        digest, size = hashlib.sha256(), 0
        for part in self.received:
            content = part if isinstance(part, bytes) else part.SerializeToString()
            digest.update(content)
            size += len(content)
        if self.exchange and not self.error and self.exchange.differs():
            self.error = {"kind": "protocol", "detail": "the echo differs"}
        number, port, opener = self.connection or (0, None, None)
        tls_ns = self.ready_ns if opener is self else None
        return {
            "id": self.id, "connection": number, "local_port": port,
            "start_ns": self.start_ns, "tls_ns": tls_ns if tls_ns and tls_ns <= self.end_ns else None,
            "first_byte_ns": self.first_byte_ns, "end_ns": self.end_ns, "status": self.status,
            **self.exchange_times,
            "request_bytes": self.sent_bytes if number else 0, "response_bytes": size,
            "digest": digest.hexdigest() if self.first_byte_ns else None,
            "protocol": "grpc" if number else None, "reused": number > 0 and opener is not self,
            "attempts": 1 if number or self.first_byte_ns else 0, "error": self.error,
        }

    def free(self):
        pass


def echo_request(body):
    """Returns the message of a JSON body.

    Refuses unknown fields: dropping them would make the message differ from the one over HTTP.
    """
    fields = json.loads(body)
    if not isinstance(fields, dict) or "start_ts" not in fields or fields.keys() - {"start_ts", "padding"}:
        raise ValueError('expected {"start_ts":<integer>} and optionally "padding"')
    return EchoRequest(**fields)


def classify(error):
    """Returns the status if it is the server's, and the error by the driver protocol.

    C-core turns every failure into a status. Only its words distinguish its own from the
    server's, so a status that is not known to be C-core's counts as the server's.
    """
    code, detail = error.code(), f"{error.code().name}: {error.details()}"[:4096]
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return None, {"kind": "timeout", "detail": detail}
    for kind, words in KINDS:
        if re.search(words, detail):
            return None, {"kind": kind, "detail": detail}
    return code.value[0], {"kind": "status", "detail": detail}
