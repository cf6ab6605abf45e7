//! What captures that lack something do not show.

use explain::{Part, Step};

use crate::connection::Lacks;
use crate::transit::Transit;

/// Returns a part, or that it is unexplained if options of TCP would have to show it.
pub(super) fn shown(part: Part, lacks: Lacks) -> Part {
    match part {
        Part::ReceiveWindow
        | Part::CongestionWindow
        | Part::WindowAfterLoss
        | Part::FlowControl
        | Part::Nagle
            if lacks.of_syn =>
        {
            Part::Unexplained
        }
        Part::LossFast | Part::LossTimer if lacks.any => Part::Unexplained,
        part => part,
    }
}

/// Reports whether a part needs no packet but those that it names: an end waits for nothing that a capture may lack.
pub(super) fn is_of_packets(part: Part) -> bool {
    matches!(
        part,
        Part::TcpHandshake
            | Part::TlsHandshake
            | Part::Exchange
            | Part::LinkBusy
            | Part::LinkBusyCopies
            | Part::LinkBusyOthers
    )
}

/// Makes steps unexplained that begin or end at a packet's assumed time: that of a capture which missed the packet.
pub(super) fn hide_assumed(steps: &mut [Step], transits: &[Transit]) {
    let assumed: Vec<Option<[Option<u64>; 2]>> = steps
        .iter()
        .map(|step| step.packet.map(|at| transits[at].assumed_ns()))
        .collect();
    let touches = |at: usize, step: &Step| {
        let times = assumed.get(at).copied().flatten().into_iter().flatten();
        let mut times = times.flatten();
        times.any(|ns| ns == step.from_ns || ns == step.to_ns)
    };
    for (place, step) in steps.iter_mut().enumerate() {
        let mut beside = place.saturating_sub(1)..=place + 1;
        if beside.any(|at| touches(at, step)) {
            step.part = Part::Unexplained;
        }
    }
}
