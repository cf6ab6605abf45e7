//! Prints the matrix as text, Markdown and HTML.

use html_escape::encode_quoted_attribute as escape;

use super::super::cases::CASES;
use super::super::finding::Verdict;
use super::Matrix;

const PAGE: &str = include_str!("page.html");

/// One driver and protocol.
struct Line<'a> {
    driver: &'a str,
    protocol: &'a str,
    /// One per case.
    cells: Vec<Cell<'a>>,
}

impl Line<'_> {
    fn name(&self) -> String {
        format!("{} {}", self.driver, self.protocol)
    }
}

/// The outcome of one case; `None` if it does not apply to the protocol or was not run.
#[derive(Clone, Copy)]
struct Cell<'a>(Option<&'a Verdict>);

impl Cell<'_> {
    fn mark(self) -> &'static str {
        match self.0 {
            Some(Verdict::Pass) => "✓",
            Some(Verdict::Fail(_)) => "✗",
            Some(Verdict::Unsupported(_)) => "–",
            None => "·",
        }
    }

    fn class(self) -> &'static str {
        match self.0 {
            Some(Verdict::Pass) => "pass",
            Some(Verdict::Fail(_)) => "fail",
            Some(Verdict::Unsupported(_)) => "unsupported",
            None => "none",
        }
    }

    fn why(&self) -> &str {
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
            Written by `commute stacks check --out`; `make conformance` compares every run with it.\n\n\
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

    pub(super) fn html(&self) -> String {
        let mut body = String::from("<table><tr><th>stack<th>protocol");
        for case in CASES {
            let (name, about) = (escape(case.name), escape(case.about));
            body += &format!("<th class=case title=\"{about}\"><span>{name}</span>");
        }
        for line in self.lines() {
            let (driver, protocol) = (escape(line.driver), escape(line.protocol));
            body += &format!("<tr><th>{driver}<td>{protocol}");
            for cell in &line.cells {
                let (class, mark, why) = (cell.class(), cell.mark(), escape(cell.why()));
                body += &format!("<td class={class} title=\"{why}\">{mark}");
            }
        }
        body += "</table>";
        PAGE.replace("{summary}", &escape(&self.summary()))
            .replace("{body}", &body)
    }

    /// Returns the cases that did not pass and why; cases of one driver with the same reason are
    /// joined.
    fn notes(&self) -> Vec<(String, String)> {
        let mut notes: Vec<(String, String)> = Vec::new();
        for finding in &self.findings {
            let (Verdict::Fail(why) | Verdict::Unsupported(why)) = &finding.outcome else {
                continue;
            };
            let failed = matches!(finding.outcome, Verdict::Fail(_));
            let why = if failed {
                format!("FAIL: {why}")
            } else {
                why.clone()
            };
            let who = format!("{} {}", finding.driver, finding.protocol);
            match notes
                .iter_mut()
                .find(|(head, known)| *known == why && head.starts_with(&format!("{who} ")))
            {
                Some((head, _)) => *head += &format!(", {}", finding.case),
                None => notes.push((format!("{who} {}", finding.case), why)),
            }
        }
        notes
    }

    fn lines(&self) -> Vec<Line<'_>> {
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
