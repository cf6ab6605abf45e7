"""gRPC C-core: channels, the calls on them, and what can be seen of both."""

import asyncio
import functools
import hashlib
import importlib.metadata
import json
import re
import struct
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import grpc
from grpc import aio
from grpc._cython import cygrpc  # channelz, which shows local ports, has no other way in here

from echo_pb2 import Chunk, DownloadRequest, EchoReply, EchoRequest, UploadReply

# Exchanges are of the codecs of stacks/python; this driver can do without.
sys.path.append(str(Path(__file__).resolve().parent.parent / "python"))
try:
    import exchange
except ImportError:
    exchange = None

CHUNK_BYTES = 16 << 10  # content of an upload's messages, as in the other gRPC drivers

OPTIONS = {
    "grpc.use_local_subchannel_pool": 1,  # a new channel opens a connection of its own
    "grpc.enable_retries": 0,
    "grpc.enable_http_proxy": 0,
    "grpc.service_config_disable_resolution": 1,
}

ABOUT = {
    "stack": "gRPC C-core (Python)",
    "stack_version": f"grpcio {grpc.__version__}, protobuf {importlib.metadata.version('protobuf')}",
    "tls": "BoringSSL in C-core",
    "protocols": ["grpc"],
    "codecs": ["protobuf"] if exchange else [],
    "capabilities": ["mtls", "stream", "parallel", "protobuf", "cancel"],
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


def messages(setup):
    """The messages that a setup names; None without stacks/python."""
    if exchange is None:
        return None
    return exchange.Source(setup["codec"], setup.get("schema_file"), setup.get("values") or {})


class Origin:
    """Where the server is, whom to trust and who we are."""

    def __init__(self, setup):
        self.target = urlsplit(setup["url"]).netloc

        def read(key):
            if not setup.get(key):
                return None
            with open(setup[key], "rb") as file:
                return file.read()

        self.credentials = grpc.ssl_channel_credentials(
            read("ca_file"), read("client_key_file"), read("client_cert_file"))


class Numbers:
    """Our numbers of connections, by C-core's ids of their sockets."""

    def __init__(self):
        self.by_socket = {}

    def of(self, socket):
        return self.by_socket.setdefault(socket, len(self.by_socket) + 1)


class Wires:
    """A channel, and the connections that it makes."""

    last_channel = 0  # C-core's ids grow

    def __init__(self, origin, numbers):
        self.numbers = numbers
        self.channel = aio.secure_channel(origin.target, origin.credentials, list(OPTIONS.items()))
        newest = json.loads(cygrpc.channelz_get_top_channels(Wires.last_channel + 1))
        self.id = Wires.last_channel = int(newest["channel"][0]["ref"]["channelId"])
        call = "/commute.v1.Bench/"
        self.echo = self.channel.unary_unary(
            call + "Echo", EchoRequest.SerializeToString, EchoReply.FromString)
        self.download = self.channel.unary_stream(
            call + "Download", DownloadRequest.SerializeToString, Chunk.FromString)
        self.upload = self.channel.stream_unary(
            call + "Upload", Chunk.SerializeToString, UploadReply.FromString)
        self.chat = self.channel.stream_stream(
            call + "Chat", EchoRequest.SerializeToString, EchoReply.FromString)
        self.under_way, self.retired = [], False
        self.openers, self.seen = {}, None  # by socket; the connection seen last
        self.ready_ns, self.watcher = None, None

    def swap(self, kind):
        """Messages of this kind, which go as the bytes that they are given as."""
        return self.channel.unary_unary("/commute.bench.v1.Exchange/" + kind)

    def enter(self, call):
        self.under_way.append(call)
        if self.channel.get_state() is not grpc.ChannelConnectivity.READY:
            self.seen = None
        if self.watcher is None:
            self.watcher = asyncio.create_task(self.watch())

    async def leave(self, call):
        self.under_way.remove(call)
        await self.close_if_done()

    async def watch(self):
        state = self.channel.get_state()
        while state is not grpc.ChannelConnectivity.READY:
            await self.channel.wait_for_state_change(state)
            state = self.channel.get_state()
        self.ready_ns = now_ns()

    async def retire(self):
        """No new calls. A connection that still carries some closes with the last of them."""
        self.retired = True
        await self.close_if_done()

    async def close_if_done(self):
        if self.retired and not self.under_way:
            if self.watcher is not None:
                self.watcher.cancel()
            await self.channel.close()

    def connection(self, failed):
        """The connection of a call that has ended; None if it had none.

        channelz costs more than a call, so it is asked only when it may have news: a call
        that found the channel READY, and did not fail, went over the connection known.
        """
        if failed or self.seen is None:
            self.seen = self.newest() or self.seen
        return self.seen

    def newest(self):
        """The newest connection: its number, local port and opener."""
        newest = 0
        channel = json.loads(cygrpc.channelz_get_channel(self.id))["channel"]
        for reference in channel["subchannelRef"]:
            try:
                way = json.loads(cygrpc.channelz_get_subchannel(int(reference["subchannelId"])))
            except ValueError:
                continue  # it was closed meanwhile
            for socket in way["subchannel"]["socketRef"]:
                newest = max(newest, int(socket["socketId"]))
        if newest == 0:
            return None
        # Seen first at the end of a call; it was opened for the longest that waited.
        opener = self.openers.setdefault(newest, self.under_way[0])
        return self.numbers.of(newest), local_port(newest), opener


@functools.lru_cache(maxsize=16)
def local_port(socket):
    seen = json.loads(cygrpc.channelz_get_socket(socket))
    return seen["socket"]["local"]["tcpipAddress"]["port"]


class Call:
    """One call: made before the run, started in it, read after it."""

    def __init__(self, step, timeout_ns, messages):
        self.id, self.cancel_after_ns = step["id"], step.get("cancel_after_ns")
        self.options = {"timeout": timeout_ns / 1e9, "metadata": (("x-commute-id", str(self.id)),)}
        self.converse = {
            "call": self.echo, "get": self.download, "put": self.upload, "stream": self.chat,
            "exchange": self.swap,
        }[step["step"]]
        self.exchange, self.work = None, {}
        if step["step"] in ("call", "stream"):
            self.message = echo_request(step["body"])
            self.messages = step.get("messages", 1)
            if self.messages < 1:
                raise ValueError(f"step {self.id} is a stream of no messages")
        elif step["step"] == "exchange":
            self.kind = step["kind"]
            self.exchange = messages.prepare(step["message"], self.kind)
        elif step["step"] == "get":
            self.message = DownloadRequest(bytes=step["bytes"])
        else:
            file = seeded(step["bytes"])
            self.chunks = [Chunk(data=file[at:at + CHUNK_BYTES])
                           for at in range(0, len(file), CHUNK_BYTES)]
        self.received, self.sent_bytes = [], 0
        self.rpc, self.given_up = None, False
        self.first_byte_ns, self.status, self.error = None, None, None

    async def make(self, wires):
        wires.enter(self)
        self.start_ns = now_ns()
        if self.cancel_after_ns:
            asyncio.get_running_loop().call_later(self.cancel_after_ns / 1e9, self.give_up)
        try:
            await self.converse(wires)
            self.status = grpc.StatusCode.OK.value[0]
        except aio.AioRpcError as error:
            self.status, self.error = explain(error)
        except asyncio.CancelledError:
            if not self.given_up:
                raise
            self.error = {"kind": "cancelled", "detail": "cancelled, as was asked"}
        self.end_ns = now_ns()
        self.connection = wires.connection(failed=self.error is not None)
        self.ready_ns = wires.ready_ns if len(wires.openers) == 1 else None
        await wires.leave(self)

    def give_up(self):
        self.given_up = self.rpc is not None and self.rpc.cancel()

    async def echo(self, wires):
        self.rpc = wires.echo(self.message, **self.options)
        self.sent_bytes = self.message.ByteSize()
        self.received.append(await self.rpc)
        self.first_byte_ns = now_ns()

    async def download(self, wires):
        self.rpc = wires.download(self.message, **self.options)
        self.sent_bytes = self.message.ByteSize()
        await self.head()
        async for chunk in self.rpc:
            self.received.append(chunk.data)

    async def upload(self, wires):
        self.rpc = wires.upload(**self.options)
        try:
            for chunk in self.chunks:
                await self.rpc.write(chunk)
                self.sent_bytes += len(chunk.data)
            await self.rpc.done_writing()
        except asyncio.InvalidStateError:
            pass  # it is over; its status says why
        await self.head()
        self.received.append(await self.rpc)

    async def chat(self, wires):
        """One message in flight: the next goes when the last has been answered."""
        self.rpc = wires.chat(**self.options)
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
            self.error = {"kind": "protocol", "detail": "the stream ended before it had answered"}

    async def swap(self, wires):
        """An exchange: its message is made and encoded here, and the reply decoded."""
        self.work["created_ns"] = now_ns() if self.exchange.create() else None
        body = self.exchange.encode()
        self.work["encoded_ns"] = now_ns()
        self.rpc = wires.swap(self.kind)(body, **self.options)
        self.sent_bytes = len(body)
        self.received.append(await self.rpc)
        self.first_byte_ns = self.work["received_ns"] = now_ns()
        try:
            self.exchange.decode(self.received[0])
        except Exception as error:  # whatever a library raises
            self.error = {"kind": "protocol", "detail": str(error)}

    async def head(self):
        await self.rpc.initial_metadata()
        self.first_byte_ns = now_ns()

    def row(self):
        """The row, with the digest that is no part of the call."""
        digest, size = hashlib.sha256(), 0
        for part in self.received:
            wire = part if isinstance(part, bytes) else part.SerializeToString()
            digest.update(wire)
            size += len(wire)
        if self.exchange and not self.error and self.exchange.differs():
            self.error = {"kind": "protocol", "detail": "the echo differs"}
        number, port, opener = self.connection or (0, None, None)
        tls_ns = self.ready_ns if opener is self else None
        row = {
            "type": "row", "id": self.id, "connection": number, "local_port": port,
            "start_ns": self.start_ns, "tls_ns": tls_ns if tls_ns and tls_ns <= self.end_ns else None,
            "first_byte_ns": self.first_byte_ns, "end_ns": self.end_ns, "status": self.status,
            **self.work,
            "request_bytes": self.sent_bytes if number else 0, "response_bytes": size,
            "digest": digest.hexdigest() if self.first_byte_ns else None,
            "protocol": "grpc" if number else None, "reused": number > 0 and opener is not self,
            "attempts": 1 if number or self.first_byte_ns else 0, "error": self.error,
        }
        return {key: value for key, value in row.items() if value is not None}


def echo_request(body):
    """The message of a JSON body. Unknown fields are refused, lest two sides disagree unseen."""
    fields = json.loads(body)
    if not isinstance(fields, dict) or "start_ts" not in fields or fields.keys() - {"start_ts", "padding"}:
        raise ValueError('expected {"start_ts":<integer>} and optionally "padding"')
    return EchoRequest(**fields)


def explain(error):
    """The status if it is the server's, and the error in the protocol's words.

    C-core makes a status of every failure. Nothing but its words tells its own from the
    server's, so what is not known to be its own is the server's.
    """
    code, detail = error.code(), f"{error.code().name}: {error.details()}"[:4096]
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return None, {"kind": "timeout", "detail": detail}
    for kind, words in KINDS:
        if re.search(words, detail):
            return None, {"kind": kind, "detail": detail}
    return code.value[0], {"kind": "status", "detail": detail}


# C-core's own words. First match wins.
KINDS = [
    ("dns", "errors resolving|DNS resolution failed"),
    ("tls", "handshake failed|TSI_|[Vv]erification [Cc]heck"),
    ("connect", "^UNAVAILABLE: failed to connect"),
    ("reset", "Stream removed|Socket closed|Connection reset|Broken pipe|RST_STREAM|GOAWAY"),
    ("protocol", "deserializ|parsing|larger than max|[Mm]issing"),
]


@functools.lru_cache(maxsize=2)
def seeded(length):
    """The first bytes of the house's file: SplitMix64 from seed 0, little endian."""
    mask, words = (1 << 64) - 1, []
    for i in range((length + 7) // 8):
        z = (i + 1) * 0x9E3779B97F4A7C15 & mask
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        words.append(z ^ (z >> 31))
    return struct.pack(f"<{len(words)}Q", *words)[:length]


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
