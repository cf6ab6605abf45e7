"""gRPC C-core's channels, and their connections as channelz reports them."""

import asyncio
import functools
import json
import time
from urllib.parse import urlsplit

import grpc
from grpc import aio
from grpc._cython import cygrpc  # channelz, which reports local ports, has no public API here

from echo_pb2 import Chunk, DownloadRequest, EchoReply, EchoRequest, UploadReply

OPTIONS = {
    "grpc.use_local_subchannel_pool": 1,  # a new channel opens a connection of its own
    "grpc.enable_retries": 0,
    "grpc.enable_http_proxy": 0,
    "grpc.service_config_disable_resolution": 1,
}


class Origin:
    """The server's address, the authority to trust and the client's certificate."""

    def __init__(self, setup):
        self.target = urlsplit(setup["url"]).netloc

        def read(key):
            if not setup.get(key):
                return None
            with open(setup[key], "rb") as file:
                return file.read()

        self.credentials = grpc.ssl_channel_credentials(
            read("ca_file"), read("client_key_file"), read("client_cert_file"))


class ConnectionNumbers:
    """Our numbers of connections, by C-core's ids of their sockets."""

    def __init__(self):
        self.by_socket = {}

    def of(self, socket):
        return self.by_socket.setdefault(socket, len(self.by_socket) + 1)


class Channel:
    """One channel, its methods, and the connections that it opens."""

    last_id = 0  # C-core's ids grow

    def __init__(self, origin, numbers):
        self.numbers = numbers
        self.channel = aio.secure_channel(origin.target, origin.credentials, list(OPTIONS.items()))
        newest = json.loads(cygrpc.channelz_get_top_channels(Channel.last_id + 1))
        self.id = Channel.last_id = int(newest["channel"][0]["ref"]["channelId"])
        service = "/commute.v1.Bench/"
        self.echo = self.channel.unary_unary(
            service + "Echo", EchoRequest.SerializeToString, EchoReply.FromString)
        self.download = self.channel.unary_stream(
            service + "Download", DownloadRequest.SerializeToString, Chunk.FromString)
        self.upload = self.channel.stream_unary(
            service + "Upload", Chunk.SerializeToString, UploadReply.FromString)
        self.chat = self.channel.stream_stream(
            service + "Chat", EchoRequest.SerializeToString, EchoReply.FromString)
        self.in_flight, self.retired = [], False
        self.openers = {}  # by socket: the call that opened it
        self.latest = None  # the connection seen last
        self.ready_ns, self.watcher = None, None

    def fetch(self, path):
        """Returns a method whose messages are given and taken as bytes."""
        return self.channel.unary_unary(path)

    def exchange(self, kind):
        """Returns the method that exchanges messages of this kind, given and taken as bytes."""
        return self.channel.unary_unary("/commute.bench.v1.Exchange/" + kind)

    def enter(self, call):
        self.in_flight.append(call)
        if self.channel.get_state() is not grpc.ChannelConnectivity.READY:
            self.latest = None
        if self.watcher is None:
            self.watcher = asyncio.create_task(self.watch())

    async def leave(self, call):
        self.in_flight.remove(call)
        await self.close_if_done()

    async def watch(self):
        """Notes when the channel is first READY."""
        state = self.channel.get_state()
        while state is not grpc.ChannelConnectivity.READY:
            await self.channel.wait_for_state_change(state)
            state = self.channel.get_state()
        self.ready_ns = now_ns()

    async def retire(self):
        """Takes no more calls. A connection that still carries some closes with the last of them."""
        self.retired = True
        await self.close_if_done()

    async def close_if_done(self):
        if self.retired and not self.in_flight:
            if self.watcher is not None:
                self.watcher.cancel()
            await self.channel.close()

    def connection(self, failed):
        """Returns the connection of a call that has ended, or None if it had none.

        A channelz query costs more than a call, so it is made only when the connection may have
        changed: a call that found the channel READY and did not fail used the latest one.
        """
        if failed or self.latest is None:
            self.latest = self.newest() or self.latest
        return self.latest

    def newest(self):
        """Returns the newest connection: its number, local port and opener."""
        newest = 0
        channel = json.loads(cygrpc.channelz_get_channel(self.id))["channel"]
        for reference in channel["subchannelRef"]:
            try:
                subchannel = json.loads(cygrpc.channelz_get_subchannel(int(reference["subchannelId"])))
            except ValueError:
                continue  # closed in the meantime
            for socket in subchannel["subchannel"]["socketRef"]:
                newest = max(newest, int(socket["socketId"]))
        if newest == 0:
            return None
        # First seen at the end of a call; it was opened for the one that had waited longest.
        opener = self.openers.setdefault(newest, self.in_flight[0])
        return self.numbers.of(newest), local_port(newest), opener


@functools.lru_cache(maxsize=16)
def local_port(socket):
    reported = json.loads(cygrpc.channelz_get_socket(socket))
    return reported["socket"]["local"]["tcpipAddress"]["port"]


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
