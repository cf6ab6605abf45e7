//! The router's knowledge of an origin as text.

use std::fmt::Write as _;

use crate::event::{NetworkId, Origin, Transport};
use crate::learn::{Class, Verdict};
use crate::router::Router;
use crate::standing::{Trial, Udp};
use crate::why::Why;

impl Router {
    /// Returns what is known of an origin on this network and what a request would do, one fact per
    /// line, as of the last event.
    pub fn explain(&self, origin: &Origin) -> String {
        let mut text = format!("{}:{}\n", origin.host, origin.port);
        let Some(network) = self.network_id() else {
            return text + "  there is no network\n";
        };
        let open = Transport::ALL.map(|over| {
            let conns = self.conns.values();
            conns
                .filter(|conn| conn.origin == *origin && conn.over == over && conn.is_alive())
                .count()
        });
        say(
            &mut text,
            format_args!("open: {} by HTTP/3, {} by TCP", open[0], open[1]),
        );
        say(
            &mut text,
            format_args!("HTTP/3 here: {}", self.standing(origin)),
        );
        say(&mut text, format_args!("UDP here: {}", self.udp(network)));
        if let Some(why) = self.why_not_quic(origin) {
            say(&mut text, format_args!("{why}"));
        }
        let digest = self.book.digest(origin);
        let Some(row) = self.book.rows.get(&(network, digest)) else {
            say(
                &mut text,
                format_args!("nothing is known of it on this network"),
            );
            return text;
        };
        if let Some(rtt) = row.rtt {
            say(
                &mut text,
                format_args!("round trip: {:.1} ms", rtt.as_secs_f64() * 1e3),
            );
        }
        if let Some(requests) = row.requests_by_quic(self.now) {
            say(
                &mut text,
                format_args!("a connection over HTTP/3 takes {requests} requests"),
            );
        }
        for class in Class::ALL {
            let learnt = &row.learnt[class as usize];
            let counts = Transport::ALL.map(|over| learnt.of(over).count() as u32);
            let why = match learnt.verdict(class, None, self.now) {
                Verdict::Faster(over, low, high) => Why::Faster {
                    over,
                    class,
                    low,
                    high,
                    counts,
                },
                Verdict::NoDifference => Why::NoDifference {
                    over: Transport::Quic,
                    class,
                },
                Verdict::CannotTell => {
                    let [quic, tcp] = counts;
                    say(
                        &mut text,
                        format_args!(
                            "{class}: cannot tell yet ({quic} by HTTP/3, {tcp} by HTTP/2)"
                        ),
                    );
                    continue;
                }
            };
            say(&mut text, format_args!("{why}"));
        }
        text
    }
}

impl Router {
    /// Returns the state of HTTP/3 to an origin on this network, by the names of `docs/reference/client-states.md`.
    fn standing(&self, origin: &Origin) -> &'static str {
        let (now, digest) = (self.now, self.book.digest(origin));
        let offer = self.book.offers.get(&digest);
        if offer.is_none_or(|offer| offer.until <= now) {
            return "unknown";
        }
        let row = self
            .network_id()
            .and_then(|id| self.book.rows.get(&(id, digest)));
        match row.map(|row| row.trial) {
            None | Some(Trial::Untried) => "untried",
            Some(Trial::Works) => "works",
            Some(trial) if trial.on_probation(now) => "on probation",
            Some(Trial::Broken { .. }) => "broken",
        }
    }
}

impl Router {
    /// Returns the state of UDP on a network, by the names of `docs/reference/client-states.md`.
    fn udp(&self, network: NetworkId) -> &'static str {
        match self.book.networks.get(&network).map(|row| row.udp) {
            None | Some(Udp::Unknown | Udp::Unanswered { .. }) => "not known",
            Some(Udp::Works) => "works",
            Some(udp) if udp.is_silent(self.now) => "blocked",
            Some(Udp::Silent { .. }) => "to be tried again",
        }
    }
}

fn say(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "  {line}").expect("a string takes it");
}
