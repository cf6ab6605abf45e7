//! Remarks on encoding and decoding in requests of the study's own.

use record::{Arm, CompactCall};

use crate::figures::cells::Blocks;

/// Said of arms whose drivers send bytes that the lab has encoded.
const LEFT_OUT: &str = "encoding and decoding are not part of its requests: its driver sends and receives \
                        encoded bytes (`commute codec FILE` measures what they take)";
/// Said of arms whose drivers encode and decode Protobuf.
const BY_REFLECTION: &str = "Protobuf of the study's own data is encoded and decoded by reflection, which \
                             takes several times as long as generated code (see the phases)";

/// Returns the caveat that every result of an arm must carry, if there is one.
pub(crate) fn caveat(arm: &Arm, blocks: &Blocks<'_>) -> Option<String> {
    let codes = blocks.values().any(|cell| {
        cell.calls.iter().any(CompactCall::is_exchange)
            || cell.loads.iter().any(|load| load.encodes)
    });
    let of_coding = match codes {
        _ if !arm.own_json || blocks.is_empty() => None,
        false => Some(LEFT_OUT),
        true => (arm.codec.starts_with("protobuf")).then_some(BY_REFLECTION),
    };
    let caveats: Vec<&str> = arm.caveat.as_deref().into_iter().chain(of_coding).collect();
    (!caveats.is_empty()).then(|| caveats.join("; "))
}
