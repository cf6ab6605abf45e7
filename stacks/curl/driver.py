"""Drives libcurl by commute's driver protocol, version 2 (docs/driver-protocol.md)."""

import gc
import heapq
import ipaddress
import json
import os
import sys
import time
from urllib.parse import urlsplit

from call import VERSIONS, Call, collect, exchange, missing, now_ns, pycurl


def main():
    with open(os.environ["COMMUTE_IN"], "rb") as requests, \
            open(os.environ["COMMUTE_OUT"], "wb") as replies:
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
                    session = Session(request)
                    send({"type": "ready"})
                elif kind == "run":
                    if session is None:
                        raise Failed("run came before setup")
                    session.run(request["steps"], send)
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


class Failed(Exception):
    """The request makes no sense, or what it names is not there."""


class Unsupported(Exception):
    """This stack cannot do it; the driver is well."""

    def __init__(self, what, reason):
        super().__init__(what)
        self.what, self.reason = what, reason


def hello():
    if pycurl is None:
        raise Failed(f"{missing}; run stacks/curl/install")
    versions = dict(part.split("/", 1) for part in pycurl.version.split() if "/" in part)
    engines = ", ".join(f"{name} {versions[name]}" for name in ("nghttp2", "ngtcp2", "nghttp3"))
    return {
        "type": "hello", "version": 2, "stack": "libcurl",
        "stack_version": f"{versions['libcurl']}, {engines}",
        "tls": f"OpenSSL {versions['OpenSSL']}",
        "protocols": list(VERSIONS), "codecs": codecs(),
        "capabilities": ["mtls", "resume", "early_data", "parallel", "cancel"],
        "clock": "monotonic", "resolution_ns": 1000,
        "phases": {phase: f"libcurl {counter}" for phase, counter in {
            "dns": "NAMELOOKUP_TIME_T", "connect": "CONNECT_TIME_T", "tls": "APPCONNECT_TIME_T",
            "request_sent": "POSTTRANSFER_TIME_T", "first_byte": "STARTTRANSFER_TIME_T",
            "end": "TOTAL_TIME_T"}.items()},
        "settings": {"tcp_nodelay": "on (libcurl's default)", "h2 windows": "libcurl's own",
                     "idle connections": "kept for 118 s (libcurl's default)",
                     "retries": "libcurl resends on a kept connection that proves dead"},
    }


def codecs():
    return exchange.codecs() if exchange else []


class Session:
    """One origin, its connections and its tickets."""

    def __init__(self, setup):
        if setup["protocol"] not in VERSIONS:
            raise Unsupported(f"protocol {setup['protocol']}", "libcurl does not speak it")
        if setup["codec"] not in ("json", *codecs()):
            raise Unsupported(f"codec {setup['codec']}", "neither this driver nor stacks/python has it")
        if setup.get("congestion"):
            raise Unsupported(f"congestion {setup['congestion']}", "libcurl has no option for it")
        for key in ("ca_file", "client_cert_file", "client_key_file"):
            if setup.get(key) and not os.access(setup[key], os.R_OK):
                raise Failed(f"cannot read {setup[key]}")
        self.setup = setup
        self.protocol = setup["protocol"]
        self.literal = is_address(urlsplit(setup["url"]).hostname)
        self.messages = None
        if exchange:
            self.messages = exchange.Source(setup["codec"], setup.get("schema_file"), setup.get("values") or {})
        self.resumed = {}
        self.numbered = 0
        self.wires = None
        self.reconnect("cold")
        if setup.get("discovery"):
            raise Unsupported(f"discovery {setup['discovery']}", "pycurl has no option for it")
        if setup.get("observe"):
            raise Unsupported(f"observe {setup['observe']}", "libcurl has no frames")
        if setup.get("warmup_url"):
            elsewhere = {**setup, "url": setup["warmup_url"], "warmup_url": None}
            warm_up(elsewhere, setup.get("warmup_calls", 1))

    def reconnect(self, mode):
        """Closes every connection; the next are opened in `mode`."""
        if self.wires is not None:
            self.wires.retire()
        self.wires = Wires()
        if mode == "cold":
            self.share = pycurl.CurlShare()
            self.share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)

    def number(self, wires, conn_id):
        """Our number of libcurl's connection, which counts anew with each multi handle."""
        if conn_id not in wires.numbers:
            self.numbered += 1
            wires.numbers[conn_id] = self.numbered
        return wires.numbers[conn_id]

    def run(self, steps, send):
        run = Run(self, steps)
        gc.collect()
        gc.disable()
        try:
            run.follow(send)
        finally:
            gc.enable()


class Wires:
    """The connections opened since the last reconnect."""

    def __init__(self):
        self.multi = pycurl.CurlMulti()
        self.numbers = {}
        self.calls = 0
        self.retired = False

    def release(self):
        self.calls -= 1
        self.close_if_done()

    def retire(self):
        """No new calls. A connection that still carries some closes with the last of them."""
        self.retired = True
        self.close_if_done()

    def close_if_done(self):
        if self.retired and self.calls == 0:
            self.multi.close()


def warm_up(setup, calls):
    """Small downloads from another origin, with tickets and connection of their own."""
    session = Session(setup)
    for _ in range(calls):
        call = Call(session, {"id": 0, "group": 0, "step": "get", "bytes": 1})
        call.start()
        while True:
            session.wires.multi.perform()
            if collect(session.wires.multi):
                break
            session.wires.multi.select(0.01)
        if call.error:
            raise Failed(f"warm-up: {call.error['detail']}")
    session.wires.retire()


def early_data(steps):
    """For each step, whether its transfer is to have the early data option.

    libcurl keeps tickets of transfers with and without that option apart, so it must be set
    where the ticket is got, not only where it is used: in all between two cold reconnects.
    """
    chosen, begin, modes = [], 0, set()
    for place, step in enumerate([*steps, {"step": "reconnect", "mode": "cold"}]):
        if step["step"] != "reconnect":
            continue
        if step["mode"] != "cold":
            modes.add(step["mode"])
            continue
        if len(modes) > 1:
            raise Unsupported("reconnect resume and early_data without a cold one between",
                              "libcurl would use one's ticket for neither")
        chosen += ["early_data" in modes] * (place - begin)
        begin, modes = place, set()
    return chosen


class Run:
    """Steps by their start rules; rows by their groups."""

    def __init__(self, session, steps):
        self.session, self.steps = session, steps
        self.calls = [self.prepare(step, early) for step, early in zip(steps, early_data(steps))]
        self.owed, self.ended_calls = {}, {}
        for step, call in zip(steps, self.calls):
            if call:
                self.owed[step["group"]] = self.owed.get(step["group"], 0) + 1
        self.followers, self.first, self.sequential = {}, [], set()
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

    def prepare(self, step, early):
        kind = step["step"]
        if kind == "exchange":
            if not exchange:
                raise Unsupported(f"step {kind}", "it needs the codecs of stacks/python")
            if not exchange.knows(step["kind"]):
                raise Unsupported(f"message {step['message']}", f"no codec here knows a {step['kind']}")
        if kind in ("call", "get", "put", "exchange"):
            return Call(self.session, step, early)
        if kind == "reconnect":
            mode = step["mode"]
            if mode not in ("cold", "resume", "early_data"):
                raise Unsupported(f"reconnect {mode}", "this driver does not know it")
            if mode == "early_data" and self.session.protocol != "h3":
                raise Unsupported("reconnect early_data", "libcurl's early data was seen on H3 only")
        elif kind != "pause":
            raise Unsupported(f"step {kind}", "libcurl has no messages to stream")
        return None

    def follow(self, send):
        ended, prefix, under_way = [False] * len(self.steps), 0, {}
        begin = now_ns()
        timers = [(begin + delay, place, "start") for delay, place in self.first if delay]
        heapq.heapify(timers)
        ready = [place for delay, place in self.first if not delay]
        while ready or timers or under_way:
            over = []
            for place in ready:
                step, call = self.steps[place], self.calls[place]
                if call:
                    call.start()
                    under_way[call] = place
                    if step.get("cancel_after_ns"):
                        cancel_ns = call.start_ns + step["cancel_after_ns"]
                        heapq.heappush(timers, (cancel_ns, place, "cancel"))
                elif step["step"] == "pause":
                    heapq.heappush(timers, (now_ns() + step["ns"], place, "pause"))
                else:
                    self.session.reconnect(step["mode"])
                    over.append(place)
            ready = []
            done = self.turn(timers, under_way, bool(over))
            while timers and timers[0][0] <= now_ns():
                _, place, what = heapq.heappop(timers)
                call = self.calls[place]
                if what == "start":
                    ready.append(place)
                elif what == "pause":
                    over.append(place)
                elif call in under_way and call not in done:
                    call.cancel(self.steps[place]["cancel_after_ns"])
                    done.append(call)
            for call in done:
                over.append(under_way.pop(call))
                group = self.steps[over[-1]]["group"]
                self.ended_calls.setdefault(group, []).append(call)
            timers = [timer for timer in timers
                      if timer[2] != "cancel" or self.calls[timer[1]] in under_way]
            heapq.heapify(timers)
            if over and not (under_way or timers or ready):
                self.report(send)
            for place in over:
                ended[place] = True
                ready += self.followers.get(place, [])
                while prefix < len(ended) and ended[prefix]:
                    prefix += 1
                    if prefix in self.sequential:
                        ready.append(prefix)
        send({"type": "done"})

    def turn(self, timers, under_way, hurry):
        """Lets libcurl work until something happens; the calls that ended."""
        wait_s = (timers[0][0] - now_ns()) / 1e9 if timers else 1.0
        if not under_way:
            if not hurry and timers:
                time.sleep(max(0.0, wait_s))
            return []
        calls = []
        for multi in {call.wires.multi for call in under_way}:
            multi.perform()
            calls += collect(multi)
            if not calls and not hurry:
                timeout_ms = multi.timeout()
                if timeout_ms >= 0:
                    wait_s = min(wait_s, timeout_ms / 1000)
                if wait_s > 0 and multi.select(wait_s) == -1:
                    time.sleep(min(wait_s, 0.001))
        return calls

    def report(self, send):
        for group in sorted(self.ended_calls):
            if len(self.ended_calls[group]) == self.owed[group]:
                for call in self.ended_calls.pop(group):
                    call.report(send)


def is_address(host):
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return False


if __name__ == "__main__":
    sys.exit(main())
