//! Moves the phone while the driver follows its steps, and keeps what was done when.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use driver::Meanwhile;
use driver::clock::monotonic_ns;
use driver::protocol::{Protocol, Request, Row};
use pump::{Bench, BenchError, Families};
use study::{Family, Move};

use super::error::CellError;

/// How often to look for the client's first packet.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

// A bench has addresses for all moves that a study may have.
const _: () = assert!(study::MAX_MOVES <= pump::MAX_MOVES);

/// The moves of a run. Their times count from the client's first packet: drivers take their steps up at different
/// speeds.
pub(super) struct Mover<'a> {
    bench: &'a mut Bench,
    /// Whether the driver can be notified.
    notifies: bool,
    begun: Instant,
    begun_ns: u64,
    /// When the client's first packet was seen.
    first_packet: Option<Instant>,
    /// When to look for it next.
    next_look: Instant,
    ahead: VecDeque<Act>,
    done: Vec<record::Move>,
    failed: Option<CellError>,
}

/// One of the two halves of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// The phone gets other addresses.
    Arrive(Move),
    /// It loses the former ones.
    Leave(Move),
}

impl Act {
    /// Returns its time from the client's first packet.
    fn at_ns(self) -> u64 {
        match self {
            Act::Arrive(of) => of.at_ns,
            Act::Leave(of) => of.over_ns(),
        }
    }
}

impl<'a> Mover<'a> {
    /// Prepares the moves of a run that begins now.
    pub(super) fn new(bench: &'a mut Bench, moves: &[Move], notifies: bool) -> Mover<'a> {
        let acts = moves.iter().flat_map(|of| match of.overlap_ns {
            0 => vec![Act::Arrive(*of)],
            _ => vec![Act::Arrive(*of), Act::Leave(*of)],
        });
        Mover {
            bench,
            notifies,
            begun: Instant::now(),
            begun_ns: monotonic_ns(),
            first_packet: None,
            next_look: Instant::now() + POLL_INTERVAL,
            ahead: acts.collect(),
            done: Vec::new(),
            failed: None,
        }
    }

    /// Fails if a move could not be made. Its addresses stay until the bench gets its next network.
    pub(super) fn check(&mut self) -> Result<(), CellError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Returns the moves that were made while the driver measured these rows. Fails if the steps had ended before one.
    pub(super) fn finish(mut self, rows: &[Row]) -> Result<Vec<record::Move>, CellError> {
        self.check()?;
        let missed = self.ahead.iter().find(|act| matches!(act, Act::Arrive(_)));
        let Some(missed) = missed else {
            return Ok(self.done);
        };
        if self.first_packet.is_none() && self.bench.sent_by_client()? == 0 {
            return Err(CellError::Failed(nothing_sent(rows)));
        }
        let since = self.first_packet.unwrap_or(self.begun);
        Err(CellError::Failed(format!(
            "the last step ended {} ms after the first packet, before the move at {} ms",
            since.elapsed().as_millis(),
            missed.at_ns() / 1_000_000,
        )))
    }

    fn elapsed_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.begun_ns)
    }

    fn look_for_first_packet(&mut self) -> Result<(), BenchError> {
        self.next_look = Instant::now() + POLL_INTERVAL;
        if self.bench.sent_by_client()? > 0 {
            self.first_packet = Some(Instant::now());
        }
        Ok(())
    }

    fn do_act(&mut self, act: Act) -> Result<Option<Request>, BenchError> {
        let of = match act {
            Act::Leave(of) => {
                self.bench.leave_addresses(of.abort_tcp)?;
                let left_ns = self.elapsed_ns();
                if let Some(last) = self.done.last_mut() {
                    last.left_ns = Some(left_ns);
                }
                return Ok(None);
            }
            Act::Arrive(of) => of,
        };
        self.bench.move_client(match of.family {
            None => Families::Both,
            Some(Family::Ipv4) => Families::V4,
            Some(Family::Ipv6) => Families::V6,
        })?;
        let at_ns = self.elapsed_ns();
        if of.overlap_ns == 0 {
            self.bench.leave_addresses(of.abort_tcp)?;
        }
        let signalled = of.signal && self.notifies;
        self.done.push(record::Move {
            at_ns,
            left_ns: (of.overlap_ns == 0).then(|| self.elapsed_ns()),
            family: of.family.map(|family| family.name().to_owned()),
            signalled,
        });
        Ok(signalled.then_some(Request::Network {
            id: self.done.len() as u32,
        }))
    }
}

impl Meanwhile for Mover<'_> {
    fn due(&self) -> Option<Instant> {
        let next = self.ahead.front()?;
        Some(match self.first_packet {
            Some(first) => first + Duration::from_nanos(next.at_ns()),
            None => self.next_look,
        })
    }

    fn act(&mut self) -> Option<Request> {
        let done = match self.first_packet {
            None => self.look_for_first_packet().map(|()| None),
            Some(_) => {
                let act = self.ahead.pop_front()?;
                self.do_act(act)
            }
        };
        done.unwrap_or_else(|error| {
            self.ahead.clear();
            self.failed = Some(match error {
                BenchError::Refused(reason) => {
                    CellError::Failed(format!("the phone could not move: {reason}"))
                }
                gone => gone.into(),
            });
            None
        })
    }
}

/// Returns why no move was made of a client that sent nothing.
fn nothing_sent(rows: &[Row]) -> String {
    let error = rows.iter().find_map(|row| row.error.as_ref());
    let error = error.map(|e| format!("; its first error: {}: {}", e.kind.name(), e.detail));
    format!(
        "the client sent no packet, from which the times of moves count{}",
        error.unwrap_or_default()
    )
}

/// Returns the ids of the calls that a move of the phone concerns, or one of a QUIC connection to another port, by the
/// times of those. They are those under way during one, and all that end after one on a connection from before it, which
/// may have changed its address and port. The phone's moves count from `begun_ns`.
pub(super) fn across(
    rows: &[Row],
    moves: &[record::Move],
    begun_ns: u64,
    quic_moves_ns: &[u64],
) -> BTreeSet<u32> {
    let mut first_used: BTreeMap<u32, u64> = BTreeMap::new();
    for row in rows {
        let first_ns = first_used.entry(row.connection).or_insert(row.start_ns);
        *first_ns = row.start_ns.min(*first_ns);
    }
    let is_across = |row: &&Row| {
        let since_ns = first_used[&row.connection];
        // A move takes a while: it begins before its time.
        let during = |at_ns: u64| (since_ns..=row.end_ns).contains(&at_ns);
        let is_quic = row.protocol == Some(Protocol::H3);
        moves.iter().any(|of| during(begun_ns + of.at_ns))
            || is_quic && quic_moves_ns.iter().any(|at_ns| during(*at_ns))
    };
    let rows = rows.iter().filter(is_across);
    rows.map(|row| row.id).collect()
}

#[cfg(test)]
mod tests {
    use driver::protocol::{CallError, ErrorKind};

    use super::*;

    fn row(id: u32, connection: u32, start_ns: u64, end_ns: u64) -> Row {
        Row {
            id,
            connection,
            start_ns,
            end_ns,
            ..Row::default()
        }
    }

    #[test]
    fn a_client_that_sent_nothing_is_quoted() {
        let failed = |detail: &str| Row {
            error: Some(CallError {
                kind: ErrorKind::Connect,
                detail: detail.to_owned(),
            }),
            ..Row::default()
        };
        let rows = [Row::default(), failed("refused"), failed("other")];
        let reason = nothing_sent(&rows);
        assert!(
            reason.ends_with("first error: connect: refused"),
            "{reason}"
        );
        let without = nothing_sent(&rows[..1]);
        assert!(without.ends_with("moves count"), "{without}");
    }

    #[test]
    fn a_move_concerns_what_is_under_way_and_what_is_older() {
        let rows = [
            row(1, 1, 1_010, 1_020),
            row(2, 1, 1_030, 1_060),
            row(3, 1, 1_070, 1_080),
            row(4, 2, 1_090, 1_095),
            row(5, 3, 1_040, 1_099),
        ];
        let moves = [record::Move {
            at_ns: 50,
            signalled: true,
            ..record::Move::default()
        }];
        assert_eq!(across(&rows, &moves, 1_000, &[]), [2, 3, 5].into());
        assert!(across(&rows, &[], 1_000, &[]).is_empty());
        // Over TCP connections stay on their port.
        assert!(across(&rows, &[], 1_000, &[1_050]).is_empty());
        let over_h3 = rows.map(|row| Row {
            protocol: Some(Protocol::H3),
            ..row
        });
        assert_eq!(across(&over_h3, &[], 1_000, &[1_050]), [2, 3, 5].into());
    }
}
