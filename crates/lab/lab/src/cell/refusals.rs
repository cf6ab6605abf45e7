//! What the server refused of a driver's messages, in words.

use record::server_log::{RefusedEvent, ServerEvent};

use super::error::CellError;

/// Returns the first message that the server refused, if it refused any.
pub(crate) fn first(log: &[ServerEvent]) -> Option<String> {
    log.iter().find_map(|event| match event {
        ServerEvent::Refused(refused) => Some(describe(refused)),
        _ => None,
    })
}

/// Adds what the server refused to a failure of the driver.
pub(super) fn explain(error: CellError, log: &[ServerEvent]) -> CellError {
    match (error, first(log)) {
        (CellError::Failed(why), Some(refused)) => CellError::Failed(format!("{why}; {refused}")),
        (error, _) => error,
    }
}

fn describe(refused: &RefusedEvent) -> String {
    let RefusedEvent { code, reason, .. } = refused;
    let reason = if reason.is_empty() { "" } else { ": " }.to_owned() + reason;
    format!("the server refused a message with {code}{reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(reason: &str) -> ServerEvent {
        ServerEvent::Refused(RefusedEvent {
            connection: 1,
            stream: Some(4),
            at_ns: 1,
            code: "H3_MESSAGE_ERROR".into(),
            reason: reason.into(),
        })
    }

    #[test]
    fn the_first_refusal_is_named_with_its_rule() {
        assert_eq!(first(&[]), None);
        let of = |reason| first(&[refused(reason), refused("another")]).unwrap();
        let plain = "the server refused a message with H3_MESSAGE_ERROR";
        assert_eq!(of(""), plain);
        assert_eq!(of("a rule"), format!("{plain}: a rule"));
    }

    #[test]
    fn only_failures_of_the_driver_are_explained() {
        let explained = |error| explain(error, &[refused("a rule")]).to_string();
        let failed = explained(CellError::Failed("no row".into()));
        assert!(
            failed.starts_with("no row; ") && failed.ends_with(": a rule"),
            "{failed}"
        );
        let disk = explained(CellError::Lab("disk full".into()));
        assert_eq!(disk, "disk full");
    }
}
