"""The application of the interoperability matrix (interop/README.md) as a server of aioquic, over HTTP/3."""

import asyncio
import hashlib
import sys
from urllib.parse import parse_qs

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated
from content import open_range

PIECE = 65536
# A connection holds at most this much that is not sent yet.
BACKLOG = 1_000_000
PAUSE_S = 0.002

port, files, cert, key = sys.argv[1:]
seen: dict[str, int] = {}
tickets = {}


class Upload:
    def __init__(self):
        self.total, self.length = hashlib.sha256(), 0


class Protocol(QuicConnectionProtocol):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.http = None
        self.uploads: dict[int, Upload] = {}

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        if self.http is not None:
            for happened in self.http.handle_event(event):
                self.http_event_received(happened)

    def http_event_received(self, event):
        if isinstance(event, HeadersReceived):
            self.request(event)
        if isinstance(event, DataReceived) and event.stream_id in self.uploads:
            upload = self.uploads[event.stream_id]
            upload.total.update(event.data)
            upload.length += len(event.data)
        if event.stream_ended and event.stream_id in self.uploads:
            upload = self.uploads.pop(event.stream_id)
            self.answer(event.stream_id, f"{upload.total.hexdigest()} {upload.length}\n")

    def request(self, event):
        fields = {name.decode(): value.decode() for name, value in event.headers}
        path, _, query = fields[":path"].partition("?")
        upload_id = parse_qs(query).get("id", [""])[0]
        if path == "/upload":
            seen[upload_id] = seen.get(upload_id, 0) + 1
            self.uploads[event.stream_id] = Upload()
        elif path == "/seen":
            self.answer(event.stream_id, f"{seen.get(upload_id, 0)}\n")
        elif path == "/trailers":
            self.head(event.stream_id, 200, [("trailer", "x-interop")])
            self.http.send_data(event.stream_id, b"body\n", False)
            self.http.send_headers(event.stream_id, [(b"x-interop", b"trailer")], True)
        elif path == "/hints":
            self.head(event.stream_id, 103, [("link", "</style.css>; rel=preload; as=style")])
            self.answer(event.stream_id, "body\n")
        else:
            asyncio.ensure_future(self.file(event.stream_id, fields, path))
        self.transmit()

    def head(self, stream_id, status, fields, end=False):
        all_fields = [(":status", str(status)), *fields]
        self.http.send_headers(stream_id, [(name.encode(), value.encode()) for name, value in all_fields], end)

    def answer(self, stream_id, text):
        self.head(stream_id, 200, [("content-length", str(len(text)))])
        self.http.send_data(stream_id, text.encode(), True)
        self.transmit()

    async def file(self, stream_id, fields, path):
        found = open_range(files, path, fields.get("range"), fields.get("if-range"))
        if found is None:
            self.head(stream_id, 404, [], True)
            self.transmit()
            return
        status, headers, file, left = found
        with file:
            empty = fields[":method"] == "HEAD"
            self.head(stream_id, status, headers, empty)
            while left > 0 and not empty:
                piece = file.read(min(PIECE, left))
                left -= len(piece)
                self.http.send_data(stream_id, piece, left == 0)
                self.transmit()
                while self.backlog(stream_id) > BACKLOG:
                    await asyncio.sleep(PAUSE_S)
            self.transmit()

    def backlog(self, stream_id):
        stream = self._quic._streams.get(stream_id)
        return len(stream.sender._buffer) if stream else 0


async def main():
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False)
    configuration.load_cert_chain(cert, key)
    await serve(
        "127.0.0.1",
        int(port),
        configuration=configuration,
        create_protocol=Protocol,
        session_ticket_fetcher=lambda label: tickets.pop(label, None),
        session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}),
    )
    await asyncio.Future()


asyncio.run(main())
