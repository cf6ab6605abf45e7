//! What would make requests faster, for a terminal.

use neutral::plain;

use crate::remedy::Place;
use crate::summary::remedies::{ChosenRemedy, Gain, MeasureRemedies};
use crate::words::part::part_words;
use crate::words::text::{INDENT, capitalised, finished, wrapped};

const HEADING: &str = "What would change it. A remedy gains at most the time of its parts. Where an arm differs in just \
    that, the gain is measured: the difference of the means, each of at least n requests.";

/// Returns the remedies for a terminal that is `width` characters wide; nothing if there are none.
pub fn remedies(measures: &[MeasureRemedies], width: usize) -> String {
    if measures.is_empty() {
        return String::new();
    }
    let texts = measures.iter().map(|measure| text(measure, width));
    let texts: Vec<String> = texts.collect();
    let text = format!("{}\n{}", wrapped(HEADING, "", width), texts.join("\n"));
    finished(&text, false)
}

fn text(measure: &MeasureRemedies, width: usize) -> String {
    let mut out = format!("{}, {}\n", plain(&measure.network), plain(&measure.label));
    for chosen in &measure.remedies {
        out += &wrapped(&gains(chosen), INDENT, width);
        let place = match chosen.remedy.place {
            Place::Client => "client",
            Place::Server => "server",
        };
        let advice = format!("{place}: {} {}", chosen.remedy.advice, chosen.remedy.source);
        out += &wrapped(&advice, &INDENT.repeat(2), width);
    }
    out
}

/// Returns the parts of a remedy, and what it can gain for each arm.
fn gains(chosen: &ChosenRemedy) -> String {
    let parts: Vec<&str> = chosen.parts.iter().map(|&part| part_words(part)).collect();
    let gain = |gain: &Gain| {
        let measured = gain.measured.as_ref().map_or(String::new(), |measured| {
            let (ms, n) = (ms(measured.ns), measured.calls);
            format!(", measured {ms} ms with {} (n = {n})", measured.arm)
        });
        format!("{} ms for {}{measured}", ms(gain.at_most_ns), gain.arm)
    };
    let gains: Vec<String> = chosen.gains.iter().map(gain).collect();
    format!(
        "{}: at most {}",
        capitalised(&parts.join(", ")),
        gains.join("; ")
    )
}

fn ms(ns: f64) -> String {
    format!("{:.1}", ns / 1e6)
}

#[cfg(test)]
mod tests {
    use explain::Part;

    use super::*;
    use crate::remedy::Remedy;
    use crate::summary::remedies::MeasuredGain;

    #[test]
    fn remedies_are_printed_with_their_gains() {
        let gain = |arm: &str, measured| Gain {
            arm: arm.into(),
            at_most_ns: 50e6,
            measured,
        };
        let measured = MeasuredGain {
            arm: "okhttp-nodelay h2".into(),
            ns: 49.04e6,
            calls: 7,
        };
        let measures = [MeasureRemedies {
            network: "lte".into(),
            label: "first request".into(),
            remedies: vec![ChosenRemedy {
                remedy: Remedy {
                    parts: vec![Part::Nagle, Part::DelayedAck],
                    drivers: Vec::new(),
                    protocols: Vec::new(),
                    place: Place::Client,
                    advice: "Set TCP_NODELAY.".into(),
                    source: "RFC 896".into(),
                    measured_by: None,
                },
                parts: vec![Part::Nagle],
                gains: vec![
                    gain("okhttp h2", Some(measured)),
                    gain("okhttp4\u{1b} h2", None),
                ],
            }],
        }];
        let expected = "\
lte, first request
  Nagle delay: at most 50.0 ms for okhttp h2, measured 49.0 ms with
  okhttp-nodelay h2 (n = 7); 50.0 ms for okhttp4\u{fffd} h2
    client: Set TCP_NODELAY. RFC 896
";
        let text = remedies(&measures, 76);
        assert_eq!(text.split_once("\n\n").unwrap().1, expected);
        assert_eq!(remedies(&[], 76), "");
    }
}
