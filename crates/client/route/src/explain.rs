//! The router's knowledge of an origin as text.

use std::fmt::Write as _;

use crate::event::{NetworkId, Origin, Transport};
use crate::h3_status::{H3Status, UdpStatus};
use crate::learn::{ComparisonClass, Verdict};
use crate::reason::Reason;
use crate::router::Router;

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
        push_line(
            &mut text,
            format_args!("open: {} by HTTP/3, {} by TCP", open[0], open[1]),
        );
        push_line(
            &mut text,
            format_args!("HTTP/3 here: {}", self.h3_state(origin)),
        );
        push_line(
            &mut text,
            format_args!("UDP here: {}", self.udp_state(network)),
        );
        if let Some(reason) = self.reason_against_quic(origin) {
            push_line(&mut text, format_args!("{reason}"));
        }
        let digest = self.knowledge.digest(origin);
        let Some(entry) = self.knowledge.origins.get(&(network, digest)) else {
            push_line(
                &mut text,
                format_args!("nothing is known of it on this network"),
            );
            return text;
        };
        if let Some(rtt) = entry.rtt {
            push_line(
                &mut text,
                format_args!("round trip: {:.1} ms", rtt.as_secs_f64() * 1e3),
            );
        }
        if let Some(requests) = entry.requests_by_quic(self.now) {
            push_line(
                &mut text,
                format_args!("a connection over HTTP/3 takes {requests} requests"),
            );
        }
        for class in ComparisonClass::ALL {
            let estimates = &entry.estimates[class as usize];
            let counts = Transport::ALL.map(|over| estimates.of(over).count() as u32);
            let reason = match estimates.verdict(class, None, self.now) {
                Verdict::Faster(over, low, high) => Reason::Faster {
                    over,
                    class,
                    low,
                    high,
                    counts,
                },
                Verdict::NoDifference => Reason::NoDifference {
                    over: Transport::Quic,
                    class,
                },
                Verdict::CannotTell => {
                    let [quic, tcp] = counts;
                    push_line(
                        &mut text,
                        format_args!(
                            "{class}: cannot tell yet ({quic} by HTTP/3, {tcp} by HTTP/2)"
                        ),
                    );
                    continue;
                }
            };
            push_line(&mut text, format_args!("{reason}"));
        }
        text
    }
}

impl Router {
    /// Returns the state of HTTP/3 to an origin on this network, by the names of `docs/reference/client-states.md`.
    fn h3_state(&self, origin: &Origin) -> &'static str {
        let (now, digest) = (self.now, self.knowledge.digest(origin));
        let offer = self.knowledge.offers.get(&digest);
        if offer.is_none_or(|offer| offer.until <= now) {
            return "unknown";
        }
        let entry = self
            .network_id()
            .and_then(|id| self.knowledge.origins.get(&(id, digest)));
        match entry.map(|entry| entry.h3) {
            None | Some(H3Status::Untried) => "untried",
            Some(H3Status::Works) => "works",
            Some(h3) if h3.on_probation(now) => "on probation",
            Some(H3Status::Broken { .. }) => "broken",
        }
    }
}

impl Router {
    /// Returns the state of UDP on a network, by the names of `docs/reference/client-states.md`.
    fn udp_state(&self, network: NetworkId) -> &'static str {
        match self.knowledge.networks.get(&network).map(|entry| entry.udp) {
            None | Some(UdpStatus::Unknown | UdpStatus::Unanswered { .. }) => "not known",
            Some(UdpStatus::Works) => "works",
            Some(udp) if udp.is_blocked(self.now) => "blocked",
            Some(UdpStatus::Blocked { .. }) => "to be tried again",
        }
    }
}

fn push_line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "  {line}").expect("a string takes it");
}
