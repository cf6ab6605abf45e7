//! Remedies: what would make a part of a request's time smaller. They are data: those of a stack are in `remedies.toml`
//! beside its manifest, those that no stack decides in `general.toml` here (`docs/reference/remedies.md`).

use config::{ConfigError, Source, did_you_mean};
use explain::Part;
use record::Arm;
use serde::Deserialize;
use toml::Spanned;

const GENERAL: &str = include_str!("general.toml");
const PROTOCOLS: [&str; 4] = ["h1", "h2", "h3", "grpc"];

/// What would make some parts of a request's time smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The parts; at least one.
    pub parts: Vec<Part>,
    /// The drivers that it is for; empty for all.
    pub drivers: Vec<String>,
    /// The protocols that it is for, as in records; empty for all.
    pub protocols: Vec<String>,
    /// Where something is to be changed.
    pub place: Place,
    /// What to change, in one sentence.
    pub advice: String,
    /// Where that is written: URLs, and RFCs with their sections.
    pub source: String,
    /// How an arm differs that measures just this remedy.
    pub measured_by: Option<Change>,
}

/// Where something is to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In the app.
    Client,
    /// At the server or its machine.
    Server,
}

/// Settings of an arm that a remedy changes; absent ones stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Change {
    /// Another driver of the same library.
    pub driver: Option<String>,
    /// Another protocol.
    pub protocol: Option<String>,
    /// Another congestion control of the server.
    pub congestion: Option<String>,
    /// Whether sessions are resumed.
    pub resumption: Option<bool>,
    /// Whether requests are sent as 0-RTT data.
    pub early_data: Option<bool>,
}

impl Change {
    /// Returns an arm with these settings.
    pub(crate) fn applied(&self, arm: &Arm) -> Arm {
        let mut arm = arm.clone();
        arm.stack = self.driver.clone().unwrap_or(arm.stack);
        arm.protocol = self.protocol.clone().unwrap_or(arm.protocol);
        arm.congestion = self.congestion.clone().or(arm.congestion);
        arm.resumption = self.resumption.unwrap_or(arm.resumption);
        arm.early_data = self.early_data.unwrap_or(arm.early_data);
        arm
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    remedy: Vec<Spanned<Entry>>,
}

/// A `[[remedy]]` table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    parts: Vec<String>,
    #[serde(default)]
    drivers: Vec<String>,
    #[serde(default)]
    protocols: Vec<String>,
    at: Place,
    advice: String,
    source: String,
    measured_by: Option<Change>,
}

impl Remedy {
    /// Parses and checks the remedies of a stack with these drivers; `file` is used in messages only.
    pub fn of_stack(file: &str, text: &str, drivers: &[&str]) -> Result<Vec<Remedy>, ConfigError> {
        parse(file, text, |entry| {
            if entry.drivers.is_empty() {
                return Err(format!("drivers: name some of {}", drivers.join(", ")));
            }
            let change = entry.measured_by.as_ref();
            let other = change.and_then(|change| change.driver.as_ref());
            known("drivers", "driver of this stack", &entry.drivers, drivers)?;
            known("measured_by", "driver of this stack", other, drivers)
        })
    }

    /// Returns the remedies that no stack decides.
    pub fn general() -> Vec<Remedy> {
        parse_general("general.toml", GENERAL).expect("a test parses this file")
    }

    /// Reports whether an arm can use it.
    pub(crate) fn fits(&self, arm: &Arm) -> bool {
        let is_in = |all: &[String], one: &String| all.is_empty() || all.contains(one);
        let has_it = |change: &Change| change.applied(arm) == *arm;
        is_in(&self.drivers, &arm.stack)
            && is_in(&self.protocols, &arm.protocol)
            && !self.measured_by.as_ref().is_some_and(has_it)
    }
}

fn parse_general(file: &str, text: &str) -> Result<Vec<Remedy>, ConfigError> {
    parse(file, text, |entry| {
        let change = entry.measured_by.as_ref();
        match change.is_some_and(|change| change.driver.is_some()) || !entry.drivers.is_empty() {
            true => Err("drivers: the remedies of a driver belong beside its stack".to_owned()),
            false => Ok(()),
        }
    })
}

fn parse(
    file: &str,
    text: &str,
    check_drivers: impl Fn(&Entry) -> Result<(), String>,
) -> Result<Vec<Remedy>, ConfigError> {
    let source = Source::new(file, text);
    let parsed: File = source.parse()?;
    let checked = |entry: Spanned<Entry>| {
        let span = entry.span();
        let entry = entry.into_inner();
        check_drivers(&entry)
            .and_then(|()| entry.checked())
            .map_err(|message| source.error_in(&span, message))
    };
    parsed.remedy.into_iter().map(checked).collect()
}

impl Entry {
    /// Returns the remedy, or what is wrong with the value of which key.
    fn checked(self) -> Result<Remedy, String> {
        let names = Part::ALL.map(Part::name);
        known("parts", "part", &self.parts, &names)?;
        known("protocols", "protocol", &self.protocols, &PROTOCOLS)?;
        let is_named = |part: &Part| self.parts.iter().any(|name| name == part.name());
        let parts: Vec<Part> = Part::ALL.into_iter().filter(is_named).collect();
        if parts.is_empty() {
            return Err(format!("parts: name some of {}", names.join(", ")));
        }
        if !self.advice.ends_with('.') || self.advice.contains('\n') {
            return Err("advice: write one sentence, with its full stop".to_owned());
        }
        if !self.source.split(", ").all(is_source) {
            return Err(
                "source: write URLs with https://, and RFCs with their sections, e.g. RFC 9113 section 6.9, separated \
                 by commas"
                    .to_owned(),
            );
        }
        if self.measured_by == Some(Change::default()) {
            return Err("measured_by: name a setting, or leave it out".to_owned());
        }
        Ok(Remedy {
            parts,
            drivers: self.drivers,
            protocols: self.protocols,
            place: self.at,
            advice: self.advice,
            source: self.source,
            measured_by: self.measured_by,
        })
    }
}

/// Checks that all names at a key are known.
fn known<'a>(
    key: &str,
    what: &str,
    names: impl IntoIterator<Item = &'a String>,
    all: &[&str],
) -> Result<(), String> {
    let is_unknown = |name: &&String| !all.contains(&name.as_str());
    match names.into_iter().find(is_unknown) {
        None => Ok(()),
        Some(name) => {
            let hint = did_you_mean(name, all.iter().copied());
            let all = all.join(", ");
            Err(format!(
                "{key}: no {what} is named `{name}`{hint}; known: {all}"
            ))
        }
    }
}

/// Reports whether it is a URL, or an RFC with or without its section.
fn is_source(text: &str) -> bool {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let words: Vec<&str> = text.split(' ').collect();
    match words[..] {
        [url] => url.starts_with("https://"),
        ["RFC", number] => is_number(number),
        ["RFC", number, "section", section] => is_number(number) && is_number(section),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[[remedy]]
parts = ['nagle', 'delayed_ack']
drivers = ['okhttp']
protocols = ['h2']
at = 'client'
advice = 'Set it.'
source = 'https://example.org/1, RFC 896'
measured_by = { driver = 'okhttp-nodelay' }
";

    fn of_stack(text: &str) -> Result<Vec<Remedy>, ConfigError> {
        Remedy::of_stack("jvm/remedies.toml", text, &["okhttp", "okhttp-nodelay"])
    }

    /// Returns the first line of the refusal of the text with a line replaced.
    fn refusal(line: &str, by: &str) -> String {
        assert!(GOOD.contains(line), "{line}");
        let error = of_stack(&GOOD.replace(line, by)).unwrap_err().to_string();
        error.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn entries_are_read() {
        let [remedy] = &of_stack(GOOD).unwrap()[..] else {
            panic!("not one remedy")
        };
        assert_eq!(remedy.parts, [Part::Nagle, Part::DelayedAck]);
        assert_eq!(remedy.place, Place::Client);
        let change = remedy.measured_by.as_ref().unwrap();
        assert_eq!(change.driver.as_deref(), Some("okhttp-nodelay"));
    }

    #[test]
    fn wrong_entries_are_refused_with_their_place_and_what_is_right() {
        for (line, by, error) in [
            (
                "'delayed_ack'",
                "'nagel'",
                "2:9: parts: no part is named `nagel` (did you mean `nagle`?); known: tcp_",
            ),
            (
                "['nagle', 'delayed_ack']",
                "[]",
                "2:9: parts: name some of tcp_handshake, ",
            ),
            (
                "drivers = ['okhttp']",
                "drivers = ['okhtp']",
                "3:11: drivers: no driver of this stack is named `okhtp` (did you mean `okhttp`?)",
            ),
            (
                "drivers = ['okhttp']\n",
                "",
                "1:1: drivers: name some of okhttp, okhttp-nodelay",
            ),
            (
                "okhttp-nodelay",
                "curl",
                "8:15: measured_by: no driver of this stack is named `curl`; known: okhttp",
            ),
            (
                "'h2'",
                "'http2'",
                "4:13: protocols: no protocol is named `http2`",
            ),
            (
                "'client'",
                "'network'",
                "5:6: remedy.at: unknown variant `network`, expected `client` or `server`",
            ),
            ("Set it.", "Set it", "6:10: advice: write one sentence"),
            (
                "source = 'https://example.org/1, RFC 896'\n",
                "",
                "1:1: remedy: missing field `source`",
            ),
            (
                "https://example.org/1",
                "example.org",
                "7:10: source: write URLs with https://",
            ),
            ("RFC 896", "RFC 896 6", "7:10: source: write URLs"),
            (
                "driver = 'okhttp-nodelay'",
                "",
                "8:15: measured_by: name a setting",
            ),
            (
                "driver = 'okhttp-nodelay'",
                "chain = 'long'",
                "8:17: remedy.measured_by: unknown field `chain`",
            ),
        ] {
            let refusal = refusal(line, by);
            let expected = format!("jvm/remedies.toml:{error}");
            assert!(refusal.starts_with(&expected), "{refusal}\nnot {expected}");
        }
    }

    #[test]
    fn general_remedies_are_of_no_driver() {
        assert!(!Remedy::general().is_empty());
        let error = parse_general("general.toml", GOOD).unwrap_err().to_string();
        assert!(error.contains("belong beside its stack"), "{error}");
    }

    #[test]
    fn a_remedy_fits_arms_that_lack_it() {
        let arm = |stack: &str, protocol: &str| Arm {
            stack: stack.into(),
            protocol: protocol.into(),
            ..Arm::default()
        };
        let remedy = &of_stack(GOOD).unwrap()[0];
        assert!(remedy.fits(&arm("okhttp", "h2")));
        assert!(!remedy.fits(&arm("okhttp", "h1")));
        assert!(!remedy.fits(&arm("okhttp-nodelay", "h2")));
        let early = Remedy {
            drivers: Vec::new(),
            measured_by: Some(Change {
                early_data: Some(true),
                ..Change::default()
            }),
            ..remedy.clone()
        };
        let mut quinn = arm("quinn", "h2");
        assert!(early.fits(&quinn));
        quinn.early_data = true;
        assert!(!early.fits(&quinn));
    }
}
