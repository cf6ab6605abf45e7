//! Moves of the phone to other addresses, as a study writes them.

use config::{ConfigError, Ms, Source};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use crate::Step;
use crate::units::to_ns;

/// The most moves of a study.
pub const MAX_MOVES: usize = 8;

/// The phone's addresses change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// When, from the client's first packet.
    pub at_ns: u64,
    /// For how long the former addresses still work.
    pub overlap_ns: u64,
    /// The only family of the next addresses; none for both.
    pub family: Option<Family>,
    /// Whether the operating system notifies the app of the new network.
    pub signal: bool,
    /// Whether the operating system closes TCP sockets bound to the former addresses.
    pub abort_tcp: bool,
}

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl Family {
    /// Returns its name in studies and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
        }
    }
}

impl Move {
    /// Returns when the former addresses stop working.
    pub fn over_ns(&self) -> u64 {
        self.at_ns.saturating_add(self.overlap_ns)
    }
}

/// A move as written.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMove {
    /// When the phone gets another address: milliseconds from its first packet, or text such as "3s".
    #[schemars(with = "Ms")]
    at_ms: Spanned<Ms>,
    /// For how long the former address still works: milliseconds, or text; by default not at all.
    #[schemars(with = "Option<Ms>")]
    overlap_ms: Option<Spanned<Ms>>,
    /// The only family of the next addresses; by default there is one of each.
    family: Option<Family>,
    /// The system notifies the app, where its driver can be notified.
    #[serde(default)]
    signal: bool,
    /// The system closes TCP sockets of the former address.
    #[serde(default)]
    abort_tcp: bool,
}

/// Checks the moves of a study, and that its server and its workload allow them.
pub(super) fn check(
    raw: &[Spanned<RawMove>],
    has_own_server: bool,
    workload: &[Step],
    source: &Source<'_>,
) -> Result<Vec<Move>, ConfigError> {
    let mut moves: Vec<Move> = Vec::new();
    for written in raw {
        let next = written.get_ref().check(source)?;
        let at = written.get_ref().at_ms.span();
        if let Some(last) = moves.last().filter(|last| next.at_ns <= last.over_ns()) {
            let message = format!(
                "at_ms: the move at {} ms begins before the one above is over, at {} ms; moves are in order of time",
                ms(next.at_ns),
                ms(last.over_ns()),
            );
            return Err(source.error(&at, message));
        }
        if moves.len() == MAX_MOVES {
            let message = format!("a study has at most {MAX_MOVES} moves");
            return Err(source.error(&written.span(), message));
        }
        moves.push(next);
    }
    let restarts = |steps: &[Step]| steps.iter().any(is_restart);
    match raw.first() {
        Some(first) if has_own_server => Err(source.error(
            &first.span(),
            "a move needs a server of the lab: it does not go with `[server]`",
        )),
        Some(first) if restarts(workload) => Err(source.error(
            &first.span(),
            "a move does not go with `restart`: its time counts from the first packet of the only process",
        )),
        _ => Ok(moves),
    }
}

impl RawMove {
    fn check(&self, source: &Source<'_>) -> Result<Move, ConfigError> {
        let overlap_ns = match &self.overlap_ms {
            Some(ms) if f64::from(*ms.get_ref()) == 0.0 => 0,
            Some(ms) => to_ns(ms, 1e6, "overlap_ms", source)?,
            None => 0,
        };
        Ok(Move {
            at_ns: to_ns(&self.at_ms, 1e6, "at_ms", source)?,
            overlap_ns,
            family: self.family,
            signal: self.signal,
            abort_tcp: self.abort_tcp,
        })
    }
}

fn is_restart(step: &Step) -> bool {
    match step {
        Step::Restart => true,
        Step::Repeat { steps, .. } => steps.iter().any(is_restart),
        _ => false,
    }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use crate::plan::small_plan::SMALL;
    use crate::{Family, Move, Study};

    fn study(moves: &str) -> Result<Study, String> {
        let text = format!("{SMALL}{moves}");
        Study::parse("s.toml", &text).map_err(|e| e.to_string())
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn a_move_is_silent_and_abrupt_unless_it_says_otherwise() {
        let abrupt = Move {
            at_ns: 500 * MS,
            overlap_ns: 0,
            family: None,
            signal: false,
            abort_tcp: false,
        };
        let text = "\n[[move]]\nat_ms = 500\n\n[[move]]\nat_ms = \"1s\"\noverlap_ms = 200\nfamily = \"ipv6\"\nsignal = true\nabort_tcp = true\n";
        let soft = Move {
            at_ns: 1000 * MS,
            overlap_ns: 200 * MS,
            family: Some(Family::Ipv6),
            signal: true,
            abort_tcp: true,
        };
        assert_eq!(study(text).unwrap().moves, [abrupt, soft]);
        assert_eq!(study("").unwrap().moves, []);
    }

    #[test]
    fn moves_that_cannot_be_are_refused_at_their_line() {
        let lines = SMALL.lines().count();
        let many = "\n[[move]]\nat_ms = ".to_owned();
        let many: String = (1..=9).map(|at| format!("{many}{at}")).collect();
        for (text, line, reason) in [
            ("[[move]]\nat_ms = 0", 2, "at_ms = 0 is out of range"),
            ("[[move]]\nat_ms = -5", 2, "at_ms = -5 is out of range"),
            ("[[move]]\nat_ms = \"2h\"", 2, "at_ms"),
            ("[[move]]\noverlap_ms = 5", 1, "missing field `at_ms`"),
            (
                "[[move]]\nat_ms = 5\noverlap_ms = -1",
                3,
                "overlap_ms = -1 is out of range",
            ),
            (
                "[[move]]\nat_ms = 5\nfamily = \"ipv5\"",
                3,
                "unknown variant `ipv5`",
            ),
            (
                "[[move]]\nat_ms = 5\nnetwork = \"wifi\"",
                3,
                "unknown field `network`",
            ),
            (
                "[[move]]\nat_ms = 500\noverlap_ms = 100\n[[move]]\nat_ms = 600",
                5,
                "the move at 600 ms begins before the one above is over, at 600 ms",
            ),
            (
                "[[move]]\nat_ms = 500\n[[move]]\nat_ms = 400",
                4,
                "moves are in order of time",
            ),
            (
                "[[step]]\nrestart = true\n[[move]]\nat_ms = 400",
                3,
                "a move does not go with `restart`",
            ),
            (
                "[server]\nurl = \"https://api.example.com\"\n[[move]]\nat_ms = 400",
                3,
                "a move needs a server of the lab",
            ),
            (&many, 17, "a study has at most 8 moves"),
        ] {
            let text = text.trim_start();
            let error = study(&format!("\n{text}\n")).unwrap_err();
            let at = format!("s.toml:{}", lines + 1 + line);
            assert!(error.contains(reason), "{text}: {error}");
            assert!(error.contains(&at), "{text}: {at}: {error}");
        }
    }
}
