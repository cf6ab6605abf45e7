"""The application of the interoperability matrix (interop/README.md) for ASGI, served by Hypercorn."""

import hashlib
import os
import sys
from urllib.parse import parse_qs

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from content import open_range  # noqa: E402

PIECE = 65536
FILES = os.path.join(os.getcwd(), "..", "files")
seen: dict[str, int] = {}


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            event = (await receive())["type"]
            await send({"type": event + ".complete"})
            if event == "lifespan.shutdown":
                return
    path = scope["path"]
    upload_id = parse_qs(scope["query_string"].decode()).get("id", [""])[0]
    if path == "/upload":
        seen[upload_id] = seen.get(upload_id, 0) + 1
        await answer(send, await digest(receive))
    elif path == "/seen":
        await answer(send, f"{seen.get(upload_id, 0)}\n")
    elif path == "/trailers":
        await send_start(send, 200, [("trailer", "x-interop")], trailers=True)
        await send({"type": "http.response.body", "body": b"body\n"})
        await send({"type": "http.response.trailers", "headers": [(b"x-interop", b"trailer")]})
    elif path == "/hints":
        await send({"type": "http.response.early_hint", "links": [b"</style.css>; rel=preload; as=style"]})
        await answer(send, "body\n")
    else:
        await send_file(scope, send)


async def send_start(send, status, fields, trailers=False):
    headers = [(name.encode(), value.encode()) for name, value in fields]
    await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": trailers})


async def answer(send, text):
    await send_start(send, 200, [("content-length", str(len(text)))])
    await send({"type": "http.response.body", "body": text.encode()})


async def digest(receive):
    total, length, more = hashlib.sha256(), 0, True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            return "disconnected\n"
        body = event.get("body", b"")
        total.update(body)
        length += len(body)
        more = event.get("more_body", False)
    return f"{total.hexdigest()} {length}\n"


async def send_file(scope, send):
    fields = {name.decode(): value.decode() for name, value in scope["headers"]}
    found = open_range(FILES, scope["path"], fields.get("range"), fields.get("if-range"))
    if found is None:
        await send_start(send, 404, [])
        await send({"type": "http.response.body", "body": b""})
        return
    status, headers, file, left = found
    with file:
        await send_start(send, status, headers)
        while left > 0 and scope["method"] != "HEAD":
            piece = file.read(min(PIECE, left))
            left -= len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
