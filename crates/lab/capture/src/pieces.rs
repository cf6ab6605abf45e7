//! Segments cut to the same boundaries in both captures.
//!
//! With segmentation offload (TSO, GRO) a capture has segments that are longer than the packets on the wire, and the
//! two captures divide the bytes differently.

use std::collections::BTreeSet;

use link::tap::{FIN, SYN};

use crate::connection::Placed;

/// Returns the boundaries of segments with data.
pub(crate) fn boundaries<'a>(segments: impl Iterator<Item = &'a Placed>) -> BTreeSet<u64> {
    let with_data = segments.filter(|segment| segment.end > segment.start);
    with_data
        .flat_map(|segment| [segment.start, segment.end])
        .collect()
}

/// Cuts segments at the boundaries inside them, and so that none has more than `longest` bytes, up and down. `None` if
/// more than `most` result.
pub(crate) fn cut<'a>(
    segments: impl Iterator<Item = &'a Placed>,
    boundaries: &BTreeSet<u64>,
    longest: [u64; 2],
    most: usize,
) -> Option<Vec<Placed>> {
    let mut pieces = Vec::new();
    for segment in segments {
        let mut start = segment.start;
        while segment.end - start > 0 {
            let longest = segment.end.min(start + longest[segment.side]);
            let end = boundaries.range(start + 1..longest).next();
            let end = end.copied().unwrap_or(longest);
            pieces.push(piece(segment, start, end));
            start = end;
            if pieces.len() > most {
                return None;
            }
        }
        if segment.start == segment.end {
            pieces.push(*segment);
        }
    }
    Some(pieces)
}

fn piece(segment: &Placed, start: u64, end: u64) -> Placed {
    let mut flags = segment.flags;
    if start > segment.start {
        flags &= !SYN;
    }
    if end < segment.end {
        flags &= !FIN;
    }
    Placed {
        start,
        end,
        flags,
        first_byte: segment.first_byte.filter(|_| start == segment.start),
        ..*segment
    }
}
