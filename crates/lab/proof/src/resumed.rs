//! Files whose remainder was requested on another connection.

use driver::protocol::{Action, Row};
use record::server_log::RequestEvent;
use study::plan::PlannedStep;

const OK: u16 = 200;
const PARTIAL_CONTENT: u16 = 206;

/// Returns the answer that a file began with, if it came in parts.
pub(super) fn beginning<'a>(hits: &[&'a RequestEvent]) -> Option<&'a RequestEvent> {
    let first = hits.iter().min_by_key(|hit| hit.start_ns)?;
    let parts = hits.iter().filter(|hit| hit.status == PARTIAL_CONTENT);
    (first.status == OK && parts.count() == hits.len() - 1 && hits.len() > 1).then_some(first)
}

/// Checks that the parts make the whole file. The server's digests are of parts; the lab knows the
/// file's.
pub(super) fn check_parts(
    step: &PlannedStep<'_>,
    row: &Row,
    hits: &[&RequestEvent],
) -> Result<(), String> {
    let id = row.id;
    let Action::Get { bytes } = &step.step.action else {
        return Err(format!(
            "call {id}: the server saw a range of what is no file"
        ));
    };
    let sent: u64 = hits.iter().map(|hit| hit.response_bytes).sum();
    if row.response_bytes != *bytes || sent < *bytes {
        return Err(format!(
            "call {id}: the driver claims {} B of a file of {bytes} B, the server sent {sent} B in {} parts",
            row.response_bytes,
            hits.len()
        ));
    }
    let digest = messages::digest_of(*bytes);
    if row.digest.as_deref() != Some(&digest) {
        return Err(format!(
            "call {id}: wrong digest: the driver got {}, the file's is {digest}",
            row.digest.as_deref().unwrap_or("none")
        ));
    }
    Ok(())
}
