//! The answer as a picture: one SVG, 600 px wide, for light and dark pages.
//!
//! The font of the page that shows the picture is unknown. Widths are therefore estimated from the widest of the usual
//! sans-serif fonts, and text that may be too long is broken into lines.

use maud::{Markup, PreEscaped, html};
use neutral::plain;

use crate::answer::wording::alarms;
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::Measure;
use crate::summary::quantity::Quantity;
use crate::summary::{NetworkSummary, Summary};
use crate::words::number::{count, size};
use crate::words::text::{capitalised, width_of};
use crate::words::verdict::finding_words;
use stats::Verdict;

const WIDTH: usize = 600;
const EDGE: usize = 24;
/// Networks and arms beyond these are counted, not drawn.
const MAX_NETWORKS: usize = 4;
const MAX_ARMS: usize = 8;
/// Where the columns of an arm begin; the verdict ends at the right edge.
const BAR_X: usize = 208;
const BAR_WIDTH: usize = 136;
const VALUE_X: usize = BAR_X + BAR_WIDTH + 8;
const LINE: usize = 20;
/// Width of a character as a share of the font's size, of a bold text of mixed letters.
const CHAR_EM: f64 = 0.66;

const STYLE: &str = "\
text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:13px;fill:#1f2328}\
.answer{font-size:22px;font-weight:600}.name{font-size:15px;font-weight:600}.note{fill:#59636e}\
.page{fill:#fff;stroke:#d1d9e0}.bar{fill:#8c959f}.faster{fill:#1a7f37}.slower{fill:#cf222e}\
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.note{fill:#9198a1}.page{fill:#0d1117;stroke:#3d444d}\
.bar{fill:#656c76}.faster{fill:#3fb950}.slower{fill:#f85149}}";

/// Returns the card.
pub fn card(summary: &Summary) -> String {
    let mut card = Card::default();
    card.down(EDGE);
    card.paragraph(&capitalised(&summary.question), "note", 13);
    card.down(8);
    for line in alarms(summary) {
        card.paragraph(&line, "slower", 15);
    }
    card.paragraph(&summary.answer, "answer", 22);
    for network in summary.networks.iter().take(MAX_NETWORKS) {
        card.network(network);
    }
    card.down(16);
    let mut facts = vec![
        count(summary.blocks as usize, "block"),
        format!("seed {}", summary.seed),
        format!("study {}", summary.study),
        format!("commute {}", summary.commute),
    ];
    if summary.networks.len() > MAX_NETWORKS {
        let more = count(summary.networks.len() - MAX_NETWORKS, "more network");
        facts.insert(0, more);
    }
    card.paragraph(&facts.join(" · "), "note", 13);
    card.down(EDGE - 8);
    let (width, height) = (WIDTH, card.y);
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
            viewBox={ "0 0 " (width) " " (height) } role="img" {
            title { (plain(&summary.answer)) }
            style { (PreEscaped(STYLE)) }
            rect class="page" x="0.5" y="0.5" width=(width - 1) height=(height - 1) rx="8" {}
            (PreEscaped(card.drawn))
        }
    };
    svg.into_string() + "\n"
}

/// What is drawn so far, from the top down.
#[derive(Default)]
struct Card {
    drawn: String,
    y: usize,
}

impl Card {
    fn down(&mut self, px: usize) {
        self.y += px;
    }

    fn draw(&mut self, shape: Markup) {
        self.drawn += &shape.into_string();
    }

    /// Draws lines of text over the whole width.
    fn paragraph(&mut self, text: &str, class: &str, font_px: usize) {
        for line in lines(text, WIDTH - 2 * EDGE, font_px) {
            self.down(font_px + font_px / 3);
            let y = self.y;
            self.draw(html! { text class=(class) x=(EDGE) y=(y) { (line) } });
        }
    }

    /// Draws the first decisive measure of a network: a bar per arm.
    fn network(&mut self, network: &NetworkSummary) {
        let arms = network.arms.iter().filter(|arm| arm.role != Role::Repeat);
        let measured: Vec<&ArmSummary> = arms.filter(|arm| arm.has_figures()).collect();
        let measures = network.arms.first().map_or(&[][..], |arm| &arm.measures);
        let Some(index) = measures.iter().position(|m| m.decisive) else {
            return;
        };
        self.down(12);
        self.paragraph(&network.name, "name", 15);
        self.paragraph(&network.numbers, "note", 13);
        self.paragraph(&format!("{}, median", measures[index].label), "note", 13);
        self.down(4);
        let times = measured
            .iter()
            .filter_map(|arm| value(&arm.measures[index]));
        let longest = times.fold(0.0, f64::max);
        for arm in measured.iter().take(MAX_ARMS) {
            self.arm(arm, &arm.measures[index], longest);
        }
        if measured.len() > MAX_ARMS {
            let more = count(measured.len() - MAX_ARMS, "more arm");
            self.paragraph(&more, "note", 13);
        }
    }

    fn arm(&mut self, arm: &ArmSummary, measure: &Measure, longest: f64) {
        let y = self.y + LINE - 5;
        let (words, class) = match &measure.comparison {
            Some(comparison) => match comparison.verdict {
                Verdict::Faster => (finding_words(comparison), "faster"),
                Verdict::Slower => (finding_words(comparison), "slower"),
                _ => (finding_words(comparison), "note"),
            },
            None => ("baseline".to_owned(), "note"),
        };
        let shown = measure.time.as_ref().and_then(|time| size(time, false));
        let shown = shown.map_or("-".to_owned(), |size| size.value);
        let share = value(measure).unwrap_or(0.0) / longest.max(f64::MIN_POSITIVE);
        let bar = format!("{:.1}", (share * BAR_WIDTH as f64).max(1.0));
        let bar_class = if class == "note" { "bar" } else { class };
        self.draw(html! {
            rect class=(bar_class) x=(BAR_X) y=(y - 11) width=(bar) height="13" rx="2" {}
            text x=(VALUE_X) y=(y) { (shown) }
            text class=(class) x=(WIDTH - EDGE) y=(y) text-anchor="end" { (words) }
        });
        for (i, line) in lines(&arm.name, BAR_X - EDGE - 8, 13).iter().enumerate() {
            if i > 0 {
                self.down(LINE - 4);
            }
            let y = self.y + LINE - 5;
            self.draw(html! { text x=(EDGE) y=(y) { (line) } });
        }
        self.down(LINE);
    }
}

fn value(measure: &Measure) -> Option<f64> {
    measure.time.as_ref().and_then(|time: &Quantity| time.value)
}

/// Breaks a text into lines that fit, between words where it can.
fn lines(text: &str, width_px: usize, font_px: usize) -> Vec<String> {
    let room = (width_px as f64 / (font_px as f64 * CHAR_EM)) as usize;
    let mut lines = vec![String::new()];
    let text = plain(text);
    for word in text.split(' ') {
        let used = lines.last().map_or(0, |line| width_of(line));
        let needed = width_of(word) + usize::from(used > 0);
        if used > 0 && used + needed > room {
            lines.push(String::new());
        }
        for c in word.chars() {
            if lines.last().is_some_and(|line| width_of(line) >= room) {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                line.push(c);
            }
        }
        if let Some(line) = lines.last_mut().filter(|line| width_of(line) < room) {
            line.push(' ');
        }
    }
    let trimmed = lines.iter().map(|line| line.trim_end().to_owned());
    trimmed.filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_fits_and_nothing_is_lost() {
        // 10 characters of 10 px at 0.66.
        let broken = |text: &str| lines(text, 66, 10);
        assert_eq!(broken("one two three"), ["one two", "three"]);
        assert_eq!(broken("0123456789 ab"), ["0123456789", "ab"]);
        assert_eq!(broken("0123456789abc de"), ["0123456789", "abc de"]);
        assert_eq!(broken(""), Vec::<String>::new());
        for text in ["a b", &"x".repeat(100), "wwwwwwwwww wwwwwwwwww  w"] {
            let lines = broken(text);
            assert!(lines.iter().all(|line| width_of(line) <= 10), "{lines:?}");
            let letters = |text: &str| text.replace(' ', "");
            assert_eq!(letters(&lines.concat()), letters(text));
        }
    }
}
