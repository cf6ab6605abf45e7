#[path = "../../lab/pump/src/datapath/frame.rs"]
#[allow(dead_code, unreachable_pub, reason = "only its parser is used")]
mod ethernet;

/// Parses an Ethernet frame on the link.
pub fn frame(data: &[u8]) {
    ethernet::parse(data);
}
