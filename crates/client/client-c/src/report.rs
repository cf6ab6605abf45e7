//! The report of a call, as text.

use std::fmt::Write as _;
use std::time::Instant;

use client::{Protocol, Report};

/// Describes how a response came, or how far its request got, with times since it was submitted.
pub(crate) fn report(report: &Report, submitted: Instant) -> String {
    // The client's times count from when it was asked.
    let waited = report.asked.saturating_duration_since(submitted);
    let protocol = match report.protocol {
        Protocol::H1 => "http/1.1",
        Protocol::H2 => "h2",
        Protocol::H3 => "h3",
    };
    // The age has so many digits that the report is as long when it is copied as when the app asked for its length.
    let mut text = format!(
        "protocol: {protocol}\r\nwhy: {}\r\nbecause: {}\r\nconnection: {}\r\nreused: {}\r\n\
         resumed: {}\r\nearly-data: {}\r\nattempts: {}\r\nlocal-port: {}\r\nage-ns: {:020}\r\n",
        report.reason.code(),
        report.reason,
        report.connection,
        u8::from(report.reused),
        u8::from(report.resumed),
        u8::from(report.early_data),
        report.attempts,
        report.local_port,
        submitted.elapsed().as_nanos(),
    );
    let phases = &report.phases;
    for (name, at) in [
        ("dns-ns", phases.dns_ns),
        ("connect-ns", phases.connect_ns),
        ("tls-ns", phases.tls_ns),
        ("sent-ns", phases.request_sent_ns),
        ("head-ns", phases.first_byte_ns),
    ] {
        if let Some(at) = at {
            let at = waited.as_nanos() + u128::from(at);
            // Writing to a string cannot fail.
            write!(text, "{name}: {at}\r\n").ok();
        }
    }
    text
}
