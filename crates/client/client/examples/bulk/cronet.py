"""Downloads a URL twice over HTTP/3 with Cronet; prints the CPU time, wall-clock time and bytes of the second download.

usage: cronet.py STACK_FOLDER URL AUTHORITIES. Any certificate is accepted. The shim of the folder gives Cronet its
thread and its engine; the callbacks are here, and keep nothing of the body.
"""

import json
import sys
import threading
import time
from ctypes import CFUNCTYPE, byref, c_char_p, c_int32, c_uint64, c_void_p
from urllib.parse import urlsplit

READ_BYTES = 64 * 1024


def main():
    _, folder, url, _ = sys.argv
    # Cronet tries ::1 first, where nothing listens, and gives up there.
    url = url.replace("localhost", "127.0.0.1")
    sys.path.insert(0, folder)
    import library
    cronet = library.load()
    for name, result, *arguments in (
            ("executor", c_void_p),
            ("engine_cronet", c_void_p, c_void_p),
            ("Cronet_Buffer_Create", c_void_p),
            ("Cronet_Buffer_InitWithAlloc", None, c_void_p, c_uint64),
            ("Cronet_UrlResponseInfo_negotiated_protocol_get", c_char_p, c_void_p),
            ("Cronet_Error_message_get", c_char_p, c_void_p),
            ("Cronet_UrlRequest_Create", c_void_p),
            ("Cronet_UrlRequest_Read", c_int32, c_void_p, c_void_p),
            ("Cronet_UrlRequest_Start", c_int32, c_void_p),
            ("Cronet_UrlRequestParams_Create", c_void_p),
            ("Cronet_UrlRequestParams_http_method_set", None, c_void_p, c_char_p),
            ("Cronet_UrlRequest_InitWithParams", c_int32, *[c_void_p] * 2, c_char_p, *[c_void_p] * 3),
            ("Cronet_UrlRequestCallback_CreateWith", c_void_p, *[c_void_p] * 6)):
        function = getattr(cronet, name)
        function.restype, function.argtypes = result, arguments
    engine = open_engine(cronet, library, url)
    fetch(cronet, engine, url)
    cpu_s, began_s = time.process_time(), time.monotonic()
    received, protocol = fetch(cronet, engine, url)
    print(time.process_time() - cpu_s, time.monotonic() - began_s, received, flush=True)
    cronet.engine_close(engine)
    if protocol != "h3":
        sys.exit(f"the second download went over {protocol}")


def open_engine(cronet, library, url):
    origin = urlsplit(url)
    hints = (library.Hint * 1)(library.Hint(origin.hostname.encode(), origin.port))
    # As in the driver: a debug check of this build aborts in the migration of ports.
    options = json.dumps({"QUIC": {"allow_port_migration": False}}).encode()
    engine = cronet.engine_open(byref(library.EngineOptions(
        quic=True, hints=hints, hint_count=1, experimental=options, accept_any_certificate=True)))
    return engine or sys.exit("Cronet did not start its engine")


def fetch(cronet, engine, url):
    """Returns the bytes of the response's body and the protocol that carried it."""
    ended, received, protocol, error = threading.Event(), 0, None, None

    def on_redirect(_self, _request, _info, _location):
        sys.exit("a redirect")

    def on_started(_self, request, _info):
        buffer = cronet.Cronet_Buffer_Create()
        cronet.Cronet_Buffer_InitWithAlloc(buffer, READ_BYTES)
        cronet.Cronet_UrlRequest_Read(request, buffer)

    def on_read(_self, request, _info, buffer, length):
        nonlocal received
        received += length
        cronet.Cronet_UrlRequest_Read(request, buffer)

    def on_succeeded(_self, _request, info):
        nonlocal protocol
        protocol = cronet.Cronet_UrlResponseInfo_negotiated_protocol_get(info).decode()
        ended.set()

    def on_failed(_self, _request, _info, cause):
        nonlocal error
        error = cronet.Cronet_Error_message_get(cause).decode()
        ended.set()

    def on_canceled(_self, _request, _info):
        ended.set()

    three = CFUNCTYPE(None, *[c_void_p] * 3)
    four = CFUNCTYPE(None, *[c_void_p] * 4)
    callbacks = (four(on_redirect), three(on_started),
                 CFUNCTYPE(None, *[c_void_p] * 4, c_uint64)(on_read),
                 three(on_succeeded), four(on_failed), three(on_canceled))
    callback = cronet.Cronet_UrlRequestCallback_CreateWith(*callbacks)
    params = cronet.Cronet_UrlRequestParams_Create()
    cronet.Cronet_UrlRequestParams_http_method_set(params, b"GET")
    request = cronet.Cronet_UrlRequest_Create()
    executor = cronet.executor()
    started = (cronet.Cronet_UrlRequest_InitWithParams(
        request, cronet.engine_cronet(engine), url.encode(), params, callback, executor)
        or cronet.Cronet_UrlRequest_Start(request))
    if started:
        sys.exit(f"Cronet did not start the request: {started}")
    ended.wait()
    if error or protocol is None:
        sys.exit(f"the download failed: {error}")
    return received, protocol


main()
