//! Prints the matrix as text and Markdown.

use super::super::cases::CASES;
use super::super::finding::Verdict;
use super::Matrix;

/// One driver and protocol.
pub(super) struct Line<'a> {
    driver: &'a str,
    protocol: &'a str,
    /// One per case.
    pub(super) cells: Vec<Cell<'a>>,
}

impl Line<'_> {
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.driver, self.protocol)
    }
}

/// The outcome of one case; `None` if it does not apply to the protocol or was not run.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a>(Option<&'a Verdict>);

/// Cases of one driver and protocol that did not pass for the same reason.
pub(super) struct Reason {
    /// The driver and the protocol.
    pub(super) who: String,
    pub(super) cases: Vec<String>,
    pub(super) failed: bool,
    pub(super) why: String,
}

impl Cell<'_> {
    pub(super) fn mark(self) -> &'static str {
        match self.0 {
            Some(Verdict::Pass) => "✓",
            Some(Verdict::Fail(_)) => "✗",
            Some(Verdict::Unsupported(_)) => "–",
            None => "·",
        }
    }

    pub(super) fn class(self) -> &'static str {
        match self.0 {
            Some(Verdict::Pass) => "pass",
            Some(Verdict::Fail(_)) => "fail",
            Some(Verdict::Unsupported(_)) => "unsupported",
            None => "absent",
        }
    }

    pub(super) fn why(&self) -> &str {
        match self.0 {
            Some(Verdict::Fail(why) | Verdict::Unsupported(why)) => why,
            Some(Verdict::Pass) => "pass",
            None => "not applicable to this protocol",
        }
    }
}

impl Matrix {
    /// Returns one line per driver and protocol, then the reasons for all that did not pass.
    pub fn text(&self) -> String {
        let lines = self.lines();
        let width = lines.iter().map(|l| l.name().len()).max().unwrap_or(0);
        let mut text = String::new();
        for line in &lines {
            let marks: String = line
                .cells
                .iter()
                .map(|cell| format!("{} ", cell.mark()))
                .collect();
            text += &format!("{:width$}  {}\n", line.name(), marks.trim_end());
        }
        text += &format!(
            "{:width$}  ✓ pass  ✗ fail  – unsupported  · not applicable; in this order:\n",
            ""
        );
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        for part in names.chunks(10) {
            text += &format!("{:width$}  {}\n", "", part.join(", "));
        }
        for (what, why) in self.notes() {
            text += &format!("{what}: {why}\n");
        }
        text
    }

    pub(super) fn markdown(&self) -> String {
        let mut text = "# Stacks against conformance cases\n\n\
            Written by `commute stacks check --out`, with the page `index.html`; `make conformance` compares every run \
            with\n`matrix.json`.\n\n\
            ✓ pass, ✗ fail, – unsupported (reasons below), · not applicable to this protocol.\n\n"
            .to_owned();
        text += "| stack | protocol |";
        for number in 1..=CASES.len() {
            text += &format!(" {number} |");
        }
        text += "\n|---|---|";
        text += &"---|".repeat(CASES.len());
        text += "\n";
        for line in self.lines() {
            text += &format!("| {} | {} |", line.driver, line.protocol);
            for cell in &line.cells {
                text += &format!(" {} |", cell.mark());
            }
            text += "\n";
        }
        text += "\n## Cases\n\n";
        for (number, case) in (1..).zip(CASES) {
            text += &format!("{number}. **{}**: {}\n", case.name, case.about);
        }
        text += "\n## Versions\n\n| driver | stack | version | TLS |\n|---|---|---|---|\n";
        for s in &self.stacks {
            text += &format!(
                "| {} | {} | {} | {} |\n",
                s.driver, s.stack, s.version, s.tls
            );
        }
        text += "\n## Not supported, and why\n\n";
        for (what, why) in self.notes() {
            text += &format!("- {what}: {why}\n");
        }
        text
    }

    /// Returns the cases that did not pass and why, in words.
    fn notes(&self) -> Vec<(String, String)> {
        let note = |reason: Reason| {
            let fail = if reason.failed { "FAIL: " } else { "" };
            let what = format!("{} {}", reason.who, reason.cases.join(", "));
            (what, format!("{fail}{}", reason.why))
        };
        self.reasons_of_all().into_iter().map(note).collect()
    }

    /// Returns the cases that did not pass and why; cases of one driver with the same reason are
    /// joined.
    pub(super) fn reasons_of_all(&self) -> Vec<Reason> {
        let mut reasons: Vec<Reason> = Vec::new();
        for finding in &self.findings {
            let (Verdict::Fail(why) | Verdict::Unsupported(why)) = &finding.outcome else {
                continue;
            };
            let failed = matches!(finding.outcome, Verdict::Fail(_));
            let who = format!("{} {}", finding.driver, finding.protocol);
            let case = finding.case.clone();
            let same = |r: &&mut Reason| r.who == who && r.failed == failed && r.why == *why;
            match reasons.iter_mut().find(same) {
                Some(reason) => reason.cases.push(case),
                None => reasons.push(Reason {
                    who,
                    cases: vec![case],
                    failed,
                    why: why.clone(),
                }),
            }
        }
        reasons
    }

    pub(super) fn lines(&self) -> Vec<Line<'_>> {
        let mut lines: Vec<Line<'_>> = Vec::new();
        for finding in &self.findings {
            let same =
                |l: &&mut Line<'_>| l.driver == finding.driver && l.protocol == finding.protocol;
            if lines.iter_mut().find(same).is_none() {
                lines.push(Line {
                    driver: &finding.driver,
                    protocol: &finding.protocol,
                    cells: vec![Cell(None); CASES.len()],
                });
            }
            if let Some(line) = lines.iter_mut().find(same)
                && let Some(index) = CASES.iter().position(|case| case.name == finding.case)
            {
                line.cells[index] = Cell(Some(&finding.outcome));
            }
        }
        lines
    }
}
