//! Checks that a call got the answer that its row claims.

use driver::protocol::{Clock, Row};
use record::server_log::RequestEvent;
use study::AuthScheme;
use study::plan::PlannedStep;

use super::traffic::Socket;
use super::{Claim, Log, resumed, timing};

impl Log<'_> {
    /// Checks that a successful call reached the server, that its response is complete and correct, and
    /// that causes precede effects.
    pub(super) fn check_answer(
        &self,
        claim: &Claim<'_>,
        step: &PlannedStep<'_>,
        row: &Row,
        hits: &[&RequestEvent],
    ) -> Result<(), String> {
        let id = row.id;
        let Some(hit) = self.answered(row) else {
            return Err(format!(
                "call {id}: the driver claims a response, the server saw no request"
            ));
        };
        let began = resumed::beginning(hits);
        match began {
            Some(_) => resumed::check_parts(step, row, hits)?,
            None => check_whole(row, hit)?,
        }
        check_auth(claim, row, hit)?;
        if step.encodes() {
            check_codec(claim, row, hit)?;
        }
        let first_byte_ns = row.first_byte_ns.unwrap_or(row.end_ns);
        let in_parts = began.is_some();
        let began = began.unwrap_or(hit);
        if claim.clock == Clock::Monotonic {
            if began.start_ns < row.start_ns {
                return Err(format!(
                    "call {id}: the server saw the request {} µs before the driver's start",
                    (row.start_ns - began.start_ns) / 1000
                ));
            }
            if first_byte_ns < began.start_ns {
                return Err(format!(
                    "call {id}: the driver's first byte is {} µs before the server saw the request",
                    (began.start_ns - first_byte_ns) / 1000
                ));
            }
        }
        timing::check_duration(claim, row)?;
        timing::check_end(claim, row, hit)?;
        if claim.clock == Clock::Own {
            return Ok(());
        }
        if let Some(connection) = self.connections.get(&began.connection) {
            (claim.traffic).check_first_byte(row, Socket::of(connection), began.start_ns)?;
        }
        match self.connections.get(&hit.connection) {
            // Parts come over several connections, and one of them may have been dropped in its middle.
            Some(connection) if !in_parts => {
                claim.traffic.check_upload(row, hit, connection)?;
                claim.traffic.check_end(row, hit, connection)
            }
            _ => Ok(()),
        }
    }
}

/// Checks that the driver got what the server sent in one response.
fn check_whole(row: &Row, hit: &RequestEvent) -> Result<(), String> {
    let id = row.id;
    if hit.broken {
        return Err(format!(
            "call {id}: the driver claims a complete response, the server did not finish it"
        ));
    }
    if row.response_bytes != hit.response_bytes {
        return Err(format!(
            "call {id}: the driver claims {} B of body, the server sent {} B",
            row.response_bytes, hit.response_bytes
        ));
    }
    if row.digest.as_deref() != Some(&hit.response_digest) {
        return Err(format!(
            "call {id}: wrong digest: the driver got {}, the server sent {}",
            row.digest.as_deref().unwrap_or("none"),
            hit.response_digest
        ));
    }
    Ok(())
}

/// Checks that the request was authenticated as the arm asks, and signed where the driver says so.
fn check_auth(claim: &Claim<'_>, row: &Row, hit: &RequestEvent) -> Result<(), String> {
    let id = row.id;
    let name = |scheme: Option<&str>| scheme.unwrap_or("no authentication").to_owned();
    let saw = hit.auth.as_deref();
    if saw != claim.auth {
        return Err(format!(
            "call {id}: the arm asks for {}, the server saw {}",
            name(claim.auth),
            name(saw)
        ));
    }
    let signs = claim.auth == Some(AuthScheme::Hmac.name());
    if row.signed_ns.is_some() != signs {
        let claims = if signs { "no time" } else { "a time" };
        return Err(format!(
            "call {id}: the driver reports {claims} of signing, the arm asks for {}",
            name(claim.auth)
        ));
    }
    Ok(())
}

/// Checks that the message was sent in the codec that was asked for.
fn check_codec(claim: &Claim<'_>, row: &Row, hit: &RequestEvent) -> Result<(), String> {
    let id = row.id;
    let Some(codec) = &hit.codec else {
        return Err(format!(
            "call {id}: the driver claims to have sent a message, the server answered {} without \
             decoding one",
            hit.status
        ));
    };
    if !same_on_the_wire(codec, claim.codec) {
        return Err(format!(
            "call {id}: the arm asks for codec {}, the server saw {codec}",
            claim.codec
        ));
    }
    Ok(())
}

/// Returns whether two codecs give the same content type and encoding; the level of a compression
/// does not show.
fn same_on_the_wire(one: &str, other: &str) -> bool {
    let parsed = |name: &str| name.parse::<messages::Codec>().ok();
    match (parsed(one), parsed(other)) {
        (Some(one), Some(other)) => one.same_on_wire(other),
        _ => false,
    }
}
