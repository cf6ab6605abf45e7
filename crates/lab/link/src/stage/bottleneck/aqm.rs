//! `[down.aqm]`: active queue management in a network file and in its one-line summary.

use std::ops::RangeInclusive;

use config::{Bytes, ConfigError, Ms};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    spec::{AqmKind, AqmSpec, PathSpec},
    stage::{Contradiction, contradiction},
    table::{LENGTH_MS, Table, ns},
    text::ms,
};

/// From Linux's least quantum (`net/sched/sch_fq_codel.c`) to the longest IPv4 packet.
const QUANTUM_BYTES: RangeInclusive<u64> = 256..=65_535;

/// `[down.aqm]`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AqmKeys {
    /// The algorithm. Required.
    kind: Option<AqmKind>,
    /// How long packets may wait all the time, in ms or as text; 5 ms by default.
    target_ms: Option<Ms>,
    /// How long they may wait longer before one is dropped, in ms or as text; 100 ms by default.
    interval_ms: Option<Ms>,
    /// Bytes that a flow sends in its turn, for `fq-codel`; a packet of the MTU by default.
    quantum_bytes: Option<Bytes>,
}

impl AqmKeys {
    pub(crate) fn read(self, table: &Table<'_>, mtu: u32) -> Result<AqmSpec, ConfigError> {
        let example = "kind = \"codel\" or kind = \"fq-codel\"";
        let kind = table.required("kind", self.kind, example)?;
        let default = AqmSpec::new(kind, mtu);
        let target_ms = table.within("target_ms", self.target_ms, &LENGTH_MS)?;
        let interval_ms = table.within("interval_ms", self.interval_ms, &LENGTH_MS)?;
        let quantum = table.within("quantum_bytes", self.quantum_bytes, &QUANTUM_BYTES)?;
        if quantum.is_some() && kind == AqmKind::Codel {
            let message =
                "flows take no turns in one queue; write kind = \"fq-codel\", or remove it";
            return Err(table.error("quantum_bytes", message));
        }
        Ok(AqmSpec {
            target_ns: target_ms.map_or(default.target_ns, ns),
            interval_ns: interval_ms.map_or(default.interval_ns, ns),
            quantum_bytes: quantum.and_then(|bytes| u32::try_from(bytes).ok()),
            ..default
        })
    }
}

/// Refuses what no file can say: times out of range, a target that is no shorter than the interval, and turns of one
/// queue or in which a flow sends next to nothing.
pub(super) fn check(aqm: &AqmSpec) -> Result<(), Contradiction> {
    let lengths_ns = ns(*LENGTH_MS.start())..=ns(*LENGTH_MS.end());
    for (name, time_ns) in [("target", aqm.target_ns), ("interval", aqm.interval_ns)] {
        if !lengths_ns.contains(&time_ns) {
            let (least, most) = (LENGTH_MS.start(), LENGTH_MS.end());
            return contradiction("aqm", format!("the {name} is {least} to {most} ms"));
        }
    }
    if aqm.kind == AqmKind::Codel && aqm.quantum_bytes.is_some() {
        return contradiction("aqm", "codel has one queue, so no quantum");
    }
    let quantum = aqm.quantum_bytes.map(u64::from);
    if quantum.is_some_and(|bytes| !QUANTUM_BYTES.contains(&bytes)) {
        let (least, most) = (QUANTUM_BYTES.start(), QUANTUM_BYTES.end());
        return contradiction("aqm", format!("a quantum has {least} to {most} bytes"));
    }
    if aqm.target_ns < aqm.interval_ns {
        return Ok(());
    }
    let message = format!(
        "the target of {} ms is no shorter than the interval of {} ms; RFC 8289 has 5 and 100",
        ms(aqm.target_ns),
        ms(aqm.interval_ns)
    );
    contradiction("aqm", message)
}

/// Returns the algorithm, with its settings unless they are the usual ones.
pub(super) fn summary(spec: &PathSpec) -> Option<String> {
    let aqm = spec.aqm?;
    let usual = AqmSpec::new(aqm.kind, aqm.mtu);
    let name = match aqm.kind {
        AqmKind::Codel => "CoDel",
        AqmKind::FqCodel => "FQ-CoDel",
    };
    if aqm == usual {
        return Some(name.to_owned());
    }
    let quantum = aqm
        .quantum_bytes
        .map_or_else(String::new, |bytes| format!(", quantum {bytes} bytes"));
    Some(format!(
        "{name} (target {} ms, interval {} ms{quantum})",
        ms(aqm.target_ns),
        ms(aqm.interval_ns)
    ))
}
