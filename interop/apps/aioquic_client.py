"""aioquic's client against `commute serve`: a body, an upload and 100 parallel requests over HTTP/3, and resumption."""

import argparse
import asyncio
from urllib.parse import urlsplit

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration

LIMIT_S = 120
DOWNLOAD = 10_000_000
UPLOAD = 5_000_000
PARALLEL = 100


class Client(QuicConnectionProtocol):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.http = H3Connection(self._quic)
        self.waiting = {}

    def quic_event_received(self, event):
        for happened in self.http.handle_event(event):
            if happened.stream_id not in self.waiting:
                continue
            found, ended = self.waiting[happened.stream_id]
            if isinstance(happened, HeadersReceived):
                found.setdefault("status", dict(happened.headers)[b":status"])
            if isinstance(happened, DataReceived):
                found["length"] += len(happened.data)
            if happened.stream_ended and not ended.done():
                ended.set_result(found)

    async def ask(self, method, authority, path, body=b""):
        stream_id = self._quic.get_next_available_stream_id()
        ended = asyncio.get_running_loop().create_future()
        self.waiting[stream_id] = ({"length": 0}, ended)
        fields = [(":method", method), (":scheme", "https"), (":authority", authority), (":path", path)]
        if body:
            fields.append(("content-length", str(len(body))))
        self.http.send_headers(stream_id, [(name.encode(), value.encode()) for name, value in fields], not body)
        if body:
            self.http.send_data(stream_id, body, True)
        self.transmit()
        return await ended


def expect(found, length, what):
    if found.get("status") != b"200" or length not in (None, found["length"]):
        raise SystemExit(f"{what}: {found}")


async def main(url, ca):
    parts = urlsplit(url)
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN)
    configuration.load_verify_locations(ca)
    tickets = []

    def open_connection():
        return connect(
            "127.0.0.1",
            parts.port,
            configuration=configuration,
            create_protocol=Client,
            session_ticket_handler=tickets.append,
        )

    configuration.server_name = parts.hostname
    async with open_connection() as client:
        found = await client.ask("GET", parts.netloc, f"/bytes/{DOWNLOAD}")
        expect(found, DOWNLOAD, "GET of 10 MB")
        expect(await client.ask("PUT", parts.netloc, "/upload", bytes(UPLOAD)), None, "PUT of 5 MB")
        asked = [client.ask("GET", parts.netloc, "/bytes/1000") for _ in range(PARALLEL)]
        for found in await asyncio.gather(*asked):
            expect(found, 1000, "parallel GET")
    if not tickets:
        raise SystemExit("no session ticket came")
    configuration.session_ticket = tickets[0]
    async with open_connection() as client:
        expect(await client.ask("GET", parts.netloc, "/health"), None, "GET after resumption")
        if not client._quic.tls.session_resumed:
            raise SystemExit("the session was not resumed")
    print("10 MB down, 5 MB up, 100 parallel, resumption")


parser = argparse.ArgumentParser(prefix_chars="-")
parser.add_argument("-client", required=True)
parser.add_argument("-ca", required=True)
options = parser.parse_args()
asyncio.run(asyncio.wait_for(main(options.client, options.ca), LIMIT_S))
