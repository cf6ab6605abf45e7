"""A Cronet engine, and what can be known of its connections."""

import json
from collections import namedtuple
from urllib.parse import urlsplit

from commute_driver import Failed

import library

# Cronet has no function that closes a connection. A new engine opens a cold one; but a ticket
# lives and dies with its engine, so to use one the old connection must idle out in that engine.
SHORT_IDLE_S = 1
IDLE_OUT_S = 2.0  # by then both ends have closed it, even after a last late packet

# Fraction of the time that a full handshake took to show a certificate: one that was shown
# earlier than that came from a ticket.
FROM_A_TICKET = 0.75

Connection = namedtuple("Connection", "number reused resumed early_data")
NO_CONNECTION = Connection(0, False, None, False)


class Engine:
    def __init__(self, shim, setup, early_data):
        self.shim, self.early_data = shim, early_data
        self.protocol = setup["protocol"]
        quic = self.protocol in ("h3", "auto")
        hint = quic and not setup.get("discovery")
        origins = [urlsplit(url) for url in (setup["url"], *(setup.get("origins") or {}).values())]
        hints = [library.Hint(origin.hostname.encode(), origin.port or 443) for origin in origins if hint]
        # Where a path loses much, Cronet moves QUIC to another port. A debug check of this build aborts
        # then ("Fails to find on path connection IDs"), and takes the app with it.
        options = {"allow_port_migration": False}
        if early_data:
            options["idle_connection_timeout_seconds"] = SHORT_IDLE_S
        self.handle = shim.engine_open(library.EngineOptions(
            quic=quic,
            hints=(library.Hint * len(hints))(*hints),
            hint_count=len(hints),
            experimental=json.dumps({"QUIC": options}).encode(),
            accept_any_certificate=quic))
        if not self.handle:
            raise Failed("Cronet did not start its engine")
        self.in_flight = 0
        self.used = self.retired = False
        self.connections = []  # (origin, protocol, start of the opening call, Connection), oldest first
        self.full_ns = None  # how long a QUIC handshake without a ticket took to show a certificate

    def enter(self):
        self.used = True
        self.in_flight += 1

    def leave(self):
        self.in_flight -= 1
        self.close_if_done()

    def retire(self):
        """Takes no more calls, and closes once none is in flight: Cronet refuses to earlier."""
        self.retired = True
        self.close_if_done()

    def close_if_done(self):
        if self.retired and not self.in_flight:
            self.shim.engine_close(self.handle)

    def opened(self, call, number):
        """Notes the connection that a settled call opened; returns it."""
        # Cronet names no protocol of a call that was given up before its answer.
        protocol = call.protocol or (None if self.protocol == "auto" else self.protocol)
        spent = self.spent_ticket(call) if protocol == "h3" else (None, False)
        connection = Connection(number, False, *spent)
        self.connections.append((call.origin, protocol, call.facts.start_ns, connection))
        return connection

    def found(self, call):
        """Returns the connection of a settled call that opened none, if one was opened before its end.

        If none was to its own origin, Chromium took one to another (RFC 9113 section 9.1.1).
        """
        fitting = [(origin, connection) for origin, protocol, start_ns, connection in reversed(self.connections)
                   if (protocol is None or call.protocol in (protocol, None)) and start_ns < call.facts.end_ns]
        own = [connection for origin, connection in fitting if origin == call.origin]
        for connection in own or [connection for _, connection in fitting]:
            return Connection(connection.number, True, connection.resumed, False)
        return None

    def spent_ticket(self, call):
        """Returns whether a call's QUIC session was resumed (None: unknown), and whether the call went as early data.

        Cronet does not report either, but it has every certificate that it gets verified once: in
        a full handshake when the server's arrives, a round trip after the session began; with a
        ticket at once, from the ticket; and a second time if the server then refuses the ticket
        and sends its own.
        """
        facts = call.facts
        shown = [v for v in self.verifications()
                 if v.source_type == library.QUIC_SESSION
                 and facts.start_ns <= v.source_ns + 1000 and v.at_ns <= facts.end_ns]
        if not shown:
            return None, False
        last = [v for v in shown if v.source == shown[0].source]
        began_ns, took_ns = last[-1].source_ns, last[-1].at_ns - last[-1].source_ns
        if self.full_ns is None:
            self.full_ns = took_ns
            return False, False
        limit_ns = FROM_A_TICKET * self.full_ns
        # A ticket that the server refused and a slow start of a session look alike.
        resumed = True if len(last) == 1 and took_ns < limit_ns else None
        # Metrics are truncated to milliseconds. A request sent within a round trip was sent early.
        sent_ns = facts.sending_ns + 1_000_000
        return resumed, bool(resumed) and call.may_go_early and sent_ns < began_ns + limit_ns

    def verifications(self):
        """Returns the engine's certificate verifications, newest first."""
        latest = (library.Verification * 64)()
        return latest[:self.shim.engine_verifications(self.handle, latest, len(latest))]
