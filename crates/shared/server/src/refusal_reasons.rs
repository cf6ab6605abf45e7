//! The rules behind what h2 refuses.
//!
//! h2 reports the rule that a client broke to nobody but `tracing`. It does so before it sends the frame that refuses, on
//! the same thread and within the same poll of the connection. [`refusal_reasons`] catches these events, and
//! `refusal_log.rs` takes them when the connection reads or writes next. Without that layer, the log has no reasons over
//! HTTP/2.

use std::cell::RefCell;
use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// The module that checks field lines; its other events are about frames.
const FIELDS: &str = "h2::frame::headers";
/// Longer than the beginning of any event that is recognised.
const MAX_EVENT_BYTES: usize = 96;

/// Parts of h2's events, and the rule that each stands for.
const RULES: [(&str, &str); 18] = [
    (
        "connection level header",
        "a field concerns one connection, which is not the message's matter",
    ),
    (
        "TE header not set to trailers",
        "the field \"te\" may have the value \"trailers\" only",
    ),
    (
        "pseudo not at head of block",
        "a pseudo-field comes after other fields",
    ),
    ("repeated pseudo", "a pseudo-field is repeated"),
    ("missing method", "the pseudo-field \":method\" is missing"),
    ("missing scheme", "the pseudo-field \":scheme\" is missing"),
    ("path missing", "the pseudo-field \":path\" is missing"),
    ("missing path", "the pseudo-field \":path\" is missing"),
    ("cannot use :status", "a request has a \":status\""),
    ("err=InvalidPseudoheader", "a pseudo-field is unknown"),
    ("malformed path", "the pseudo-field \":path\" is no path"),
    (
        "malformed authority",
        "the pseudo-field \":authority\" is no authority",
    ),
    (
        "err=InvalidUtf8",
        "a name has upper case, or a name or value has forbidden characters",
    ),
    (
        "could not parse content-length",
        "the field \"content-length\" is not a number",
    ),
    (
        "conflicting content-length",
        "there are several content-lengths, and they differ",
    ),
    (
        "content-length overflow",
        "the body is longer than its content-length",
    ),
    (
        "content-length underflow",
        "the body is shorter than its content-length",
    ),
    (
        "content-length is not zero",
        "the body is shorter than its content-length",
    ),
];

thread_local! {
    /// The rules that the connection which is polled on this thread has broken.
    static BROKEN: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// Returns a layer that catches why h2 refuses something. Every other event costs what a disabled one does.
pub fn refusal_reasons<S>() -> impl Layer<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    Reasons.with_filter(filter_fn(may_be_a_reason))
}

/// Returns each rule that was broken since the last call on this thread.
pub(crate) fn take() -> Vec<&'static str> {
    BROKEN.take()
}

/// Adds a rule unless it is there.
fn add(broken: &mut Vec<&'static str>, rule: &'static str) {
    if !broken.contains(&rule) {
        broken.push(rule);
    }
}

struct Reasons;

impl<S: Subscriber> Layer<S> for Reasons {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Beginning::default();
        event.record(&mut text);
        if let Some(rule) = rule_of(&text.0) {
            BROKEN.with_borrow_mut(|broken| add(broken, rule));
        }
    }
}

/// Reports whether events of this kind may say why something is refused: those with a message only, of h2.
fn may_be_a_reason(event: &Metadata<'_>) -> bool {
    let of_fields = event.target() == FIELDS;
    let of_h2 = event.target().starts_with("h2::") && *event.level() <= Level::DEBUG;
    event.is_event() && (of_fields || of_h2) && event.fields().iter().all(|f| f.name() == "message")
}

fn rule_of(event: &str) -> Option<&'static str> {
    let rule = RULES.iter().find(|(part, _)| event.contains(part));
    rule.map(|(_, rule)| *rule)
}

/// The beginning of an event's message.
#[derive(Default)]
struct Beginning(String);

impl Visit for Beginning {
    fn record_debug(&mut self, _: &Field, message: &dyn fmt::Debug) {
        // Stops with an error once it has enough.
        write!(self, "{message:?}").ok();
    }
}

impl fmt::Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // The only event of requests that are valid.
        if self.0.is_empty() && text.starts_with("loading headers") {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        match self.0.len() {
            ..MAX_EVENT_BYTES => Ok(()),
            _ => Err(fmt::Error),
        }
    }
}
