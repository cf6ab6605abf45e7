//! A race: attempts to reach one origin over QUIC and TCP, until one is ready.
//!
//! Each transport has a lane that tries the origin's addresses in turn, as Happy Eyeballs does
//! (draft-ietf-happy-happyeyeballs-v3); one lane may start later than the other. What is known of
//! an origin decides only that delay and which lanes there are.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::event::{ConnId, Fault, Transport};
use crate::time::MonotonicTime;

/// Time between attempts of one lane (Happy Eyeballs v3, section 6).
pub(crate) const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// A QUIC handshake that takes longer has failed; Chromium's limit.
pub(crate) const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// Attempts of a lane, 8 s of them; the rest of a longer answer is not tried.
const MAX_ATTEMPTS: usize = 32;

/// Which lanes a race has, and when they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RaceMode {
    /// Only this transport.
    Only(Transport),
    /// Both, the other one this much later.
    First(Transport, Duration),
}

/// Attempts under way and to come.
#[derive(Clone, Debug)]
pub(crate) struct Race {
    pub(crate) mode: RaceMode,
    pub(crate) winner: Option<Transport>,
    pub(crate) fault: Option<Fault>,
    lanes: Vec<Lane>,
}

#[derive(Clone, Debug)]
struct Lane {
    over: Transport,
    to_try: Vec<SocketAddr>,
    next: Option<MonotonicTime>,
    running: Vec<(ConnId, MonotonicTime)>,
}

impl Race {
    /// Creates a race to these addresses. `port_of` gives the port of each transport.
    pub(crate) fn new(
        now: MonotonicTime,
        mode: RaceMode,
        addresses: &[IpAddr],
        port_of: impl Fn(Transport) -> u16,
    ) -> Self {
        let lane = |over: Transport, after: Duration| {
            let order = interleaved(addresses);
            let order = order.into_iter().take(MAX_ATTEMPTS);
            let mut to_try: Vec<_> = order.map(|ip| SocketAddr::new(ip, port_of(over))).collect();
            to_try.reverse();
            let next = (!to_try.is_empty()).then(|| now + after);
            let running = Vec::new();
            Lane {
                over,
                to_try,
                next,
                running,
            }
        };
        let lanes = match mode {
            RaceMode::Only(over) => vec![lane(over, Duration::ZERO)],
            RaceMode::First(first, delay) => {
                vec![lane(first, Duration::ZERO), lane(first.other(), delay)]
            }
        };
        Self {
            mode,
            winner: None,
            fault: None,
            lanes,
        }
    }

    /// Returns the next attempt that is due.
    pub(crate) fn next_attempt(&mut self, now: MonotonicTime) -> Option<(Transport, SocketAddr)> {
        let lane = self
            .lanes
            .iter_mut()
            .find(|lane| lane.next.is_some_and(|at| at <= now))?;
        let address = lane.to_try.pop()?;
        lane.next = (!lane.to_try.is_empty()).then(|| now + ATTEMPT_DELAY);
        Some((lane.over, address))
    }

    pub(crate) fn began(&mut self, conn: ConnId, over: Transport, now: MonotonicTime) {
        if let Some(lane) = self.lane(over) {
            lane.running.push((conn, now));
        }
    }

    /// Records that the peer has answered an attempt. The lane's next attempt and a lane that has
    /// not begun are put off by another RTT (Happy Eyeballs v3, section 6.1).
    pub(crate) fn peer_responded(&mut self, conn: ConnId, rtt: Duration, now: MonotonicTime) {
        if !self.has(conn) {
            return;
        }
        for lane in &mut self.lanes {
            lane.next = lane.next.map(|at| at.max(now + rtt));
        }
    }

    /// Records that an attempt is ready. Returns the attempts to give up: those over TCP, and all
    /// of its own transport. A QUIC attempt that lost runs on, because it may still be of use.
    pub(crate) fn ready(&mut self, conn: ConnId, over: Transport) -> Vec<ConnId> {
        if self.winner.is_none() {
            self.winner = Some(over);
        }
        let mut given_up = Vec::new();
        for lane in &mut self.lanes {
            lane.next = None;
            lane.to_try.clear();
            lane.running.retain(|(id, _)| *id != conn);
            if lane.over == Transport::Tcp || lane.over == over {
                given_up.extend(lane.running.drain(..).map(|(id, _)| id));
            }
        }
        given_up
    }

    /// Records that an attempt succeeded where HTTP/3 has failed before. It does not win until it
    /// has answered a request, so the other lane goes on.
    pub(crate) fn ready_on_probation(&mut self, conn: ConnId) {
        if let Some(lane) = self.lanes.iter_mut().find(|lane| lane.has(conn)) {
            lane.next = None;
            lane.to_try.clear();
            lane.running.retain(|(id, _)| *id != conn);
        }
    }

    /// Records that an attempt failed. The lane's next attempt starts at once; if there is none,
    /// the other lane's first.
    pub(crate) fn failed(&mut self, conn: ConnId, fault: Fault, now: MonotonicTime) {
        let Some(lane) = self.lanes.iter_mut().find(|lane| lane.has(conn)) else {
            return;
        };
        lane.running.retain(|(id, _)| *id != conn);
        self.fault = Some(fault);
        if !lane.to_try.is_empty() {
            lane.next = Some(now);
        } else if lane.running.is_empty() {
            for other in &mut self.lanes {
                other.next = other.next.map(|at| at.min(now));
            }
        }
    }

    /// Returns the attempts that have taken too long.
    pub(crate) fn overdue(&self, now: MonotonicTime) -> Vec<ConnId> {
        let running = self.lanes.iter().flat_map(|lane| &lane.running);
        let late = running.filter(|(_, began)| *began + HANDSHAKE_LIMIT <= now);
        late.map(|(id, _)| *id).collect()
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = ConnId> {
        self.lanes
            .iter()
            .flat_map(|lane| lane.running.iter().map(|(id, _)| *id))
    }

    pub(crate) fn has(&self, conn: ConnId) -> bool {
        self.lanes.iter().any(|lane| lane.has(conn))
    }

    /// Reports whether a lane of this transport may still succeed.
    pub(crate) fn tries(&self, over: Transport) -> bool {
        let mut lanes = self.lanes.iter();
        lanes.any(|lane| lane.over == over && !lane.is_over())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.lanes.iter().all(Lane::is_over)
    }

    pub(crate) fn deadline(&self) -> Option<MonotonicTime> {
        let of_lane = |lane: &Lane| {
            let limits = lane
                .running
                .iter()
                .map(|(_, began)| *began + HANDSHAKE_LIMIT);
            limits.chain(lane.next).min()
        };
        self.lanes.iter().filter_map(of_lane).min()
    }

    fn lane(&mut self, over: Transport) -> Option<&mut Lane> {
        self.lanes.iter_mut().find(|lane| lane.over == over)
    }
}

impl Lane {
    fn has(&self, conn: ConnId) -> bool {
        self.running.iter().any(|(id, _)| *id == conn)
    }

    fn is_over(&self) -> bool {
        self.running.is_empty() && self.next.is_none()
    }
}

/// Alternates the families, the first address's family first (Happy Eyeballs v3, section 5.3).
fn interleaved(addresses: &[IpAddr]) -> Vec<IpAddr> {
    let first_is_v6 = addresses.first().is_some_and(IpAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = addresses
        .iter()
        .copied()
        .partition(|ip| ip.is_ipv6() == first_is_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut order = Vec::with_capacity(addresses.len());
    loop {
        match (first.next(), second.next()) {
            (None, None) => return order,
            (a, b) => order.extend(a.into_iter().chain(b)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);
    const V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ms * 1_000_000)
    }

    fn race(mode: RaceMode, addresses: &[IpAddr]) -> Race {
        Race::new(at(0), mode, addresses, |over| match over {
            Transport::Quic => 8443,
            Transport::Tcp => 443,
        })
    }

    /// Lets no attempt answer. Returns when each began.
    fn schedule(mut race: Race) -> Vec<(u64, Transport, bool)> {
        let mut begun = Vec::new();
        for ms in 0..2_000 {
            while let Some((over, address)) = race.next_attempt(at(ms)) {
                race.began(ConnId(begun.len() as u64), over, at(ms));
                begun.push((ms, over, address.is_ipv6()));
            }
        }
        begun
    }

    #[test]
    fn lanes_alternate_families_and_keep_their_distance() {
        use Transport::{Quic, Tcp};
        let begun = schedule(race(
            RaceMode::First(Quic, Duration::from_millis(10)),
            &[V6, V6, V4],
        ));
        let expected = [
            (0, Quic, true),
            (10, Tcp, true),
            (250, Quic, false),
            (260, Tcp, false),
            (500, Quic, true),
            (510, Tcp, true),
        ];
        assert_eq!(begun, expected);
        assert_eq!(
            schedule(race(RaceMode::Only(Tcp), &[V4])),
            [(0, Tcp, false)]
        );
    }

    #[test]
    fn a_failure_starts_the_next_attempt_or_the_other_lane_at_once() {
        let mut race = race(
            RaceMode::First(Transport::Quic, Duration::from_secs(1)),
            &[V6, V4],
        );
        let begin = |race: &mut Race, id: u64, ms: u64| {
            let attempt = race.next_attempt(at(ms));
            if let Some((over, _)) = attempt {
                race.began(ConnId(id), over, at(ms));
            }
            attempt.map(|(over, address)| (over, address.is_ipv6()))
        };
        assert_eq!(begin(&mut race, 1, 0), Some((Transport::Quic, true)));
        race.failed(ConnId(1), Fault::Connect, at(5));
        assert_eq!(begin(&mut race, 2, 5), Some((Transport::Quic, false)));
        assert_eq!(begin(&mut race, 3, 7), None);
        race.failed(ConnId(2), Fault::Connect, at(9));
        assert_eq!(begin(&mut race, 3, 9), Some((Transport::Tcp, true)));
        assert!(race.tries(Transport::Tcp) && !race.tries(Transport::Quic));
    }

    #[test]
    fn a_losing_quic_attempt_runs_on_and_a_losing_tcp_attempt_does_not() {
        let both = || {
            let mut race = race(RaceMode::First(Transport::Quic, Duration::ZERO), &[V4]);
            while let Some((over, _)) = race.next_attempt(at(0)) {
                race.began(ConnId(over as u64), over, at(0));
            }
            race
        };
        let mut tcp_won = both();
        assert_eq!(tcp_won.ready(ConnId(1), Transport::Tcp), []);
        assert!(!tcp_won.is_over());
        assert_eq!(tcp_won.overdue(at(9_999)), []);
        assert_eq!(tcp_won.overdue(at(10_000)), [ConnId(0)]);
        let mut quic_won = both();
        assert_eq!(quic_won.ready(ConnId(0), Transport::Quic), [ConnId(1)]);
        assert!(quic_won.is_over());
    }

    #[test]
    fn an_answer_puts_the_next_attempt_off_by_an_rtt() {
        let mut race = race(
            RaceMode::First(Transport::Tcp, Duration::from_millis(300)),
            &[V6, V4],
        );
        let (over, _) = race.next_attempt(at(0)).unwrap();
        race.began(ConnId(1), over, at(0));
        race.peer_responded(ConnId(1), Duration::from_millis(400), at(200));
        assert_eq!(race.next_attempt(at(599)), None);
        assert!(race.next_attempt(at(600)).is_some());
    }
}
