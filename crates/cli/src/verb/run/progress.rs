//! Progress on standard error: a bar with the time left, or plain lines where it is not a
//! terminal.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressStyle};
use lab::{Event, Plan, Shard};
use record::Outcome;

/// Progress of one run.
pub(crate) struct Progress {
    bar: ProgressBar,
    plain: bool,
}

impl Progress {
    /// Starts the progress of one shard.
    pub(crate) fn new(plan: &Plan, shard: Shard) -> Progress {
        let cells: usize = plan.shard(shard).map(|b| b.cells.len()).sum();
        let bar = ProgressBar::new(cells as u64);
        if let Ok(style) = ProgressStyle::with_template(
            "{elapsed_precise} [{bar:30}] {pos}/{len} cells, {eta} left  {wide_msg}",
        ) {
            bar.set_style(style.progress_chars("=> "));
        }
        Progress {
            bar,
            plain: !std::io::stderr().is_terminal(),
        }
    }

    pub(crate) fn event(&self, event: &Event<'_>) {
        match event {
            Event::Started { id, .. } => self.bar.set_message((*id).to_owned()),
            Event::Ended { cell, again } => {
                let outcome = match &cell.outcome {
                    Outcome::Clean => None,
                    Outcome::Noisy { reasons } => Some(format!("noisy: {}", reasons.join("; "))),
                    Outcome::Failed { reason } => Some(format!("failed: {reason}")),
                    Outcome::Unsupported { reason } => Some(format!("unsupported: {reason}")),
                };
                if !again {
                    self.bar.inc(1);
                }
                if let Some(text) = outcome {
                    let more = if *again { ", running it again" } else { "" };
                    self.line(&format!(
                        "{} (attempt {}): {text}{more}",
                        cell.id, cell.attempt
                    ));
                }
                if self.plain && !again && self.bar.position().is_multiple_of(10) {
                    let left = self.bar.eta().as_secs();
                    let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
                    eprintln!("{done}/{all} cells, about {left} s left");
                }
            }
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, text: &str) {
        if self.plain {
            eprintln!("{text}");
        } else {
            self.bar.println(text);
        }
    }
}
