//! Stacks against cases: as text, Markdown, HTML and JSON.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use driver::protocol::Hello;
use html_escape::encode_quoted_attribute as escape;
use lab::{CASES, Finding, Verdict};
use serde::{Deserialize, Serialize};

/// What a run of the suite found.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Matrix {
    stacks: Vec<Examined>,
    findings: Vec<Finding>,
}

/// A driver as it named itself.
#[derive(Serialize, Deserialize)]
pub(super) struct Examined {
    driver: String,
    stack: String,
    version: String,
    tls: String,
}

impl Examined {
    pub(super) fn new(driver: &str, hello: &Hello) -> Examined {
        Examined {
            driver: driver.to_owned(),
            stack: hello.stack.clone(),
            version: hello.stack_version.clone(),
            tls: hello.tls.clone(),
        }
    }
}

impl Matrix {
    pub(super) fn add(&mut self, stack: Examined, findings: Vec<Finding>) {
        self.stacks.push(stack);
        self.findings.extend(findings);
    }

    /// Takes over from an earlier matrix what it has of drivers that were not examined now, and,
    /// where `only` one case was, what it has of the others.
    pub(super) fn keep_others(&mut self, earlier: Matrix, only: Option<&str>) {
        let mut kept = earlier;
        let examined = |name: &str| self.stacks.iter().any(|s| s.driver == name);
        let other_case = |case: &str| only.is_some_and(|only| only != case);
        kept.findings
            .retain(|f| !examined(&f.driver) || other_case(&f.case));
        kept.stacks.retain(|s| !examined(&s.driver));
        self.stacks.append(&mut kept.stacks);
        self.findings.append(&mut kept.findings);
    }

    /// The matrix that lies in `dir`.
    pub(super) fn read(dir: &Path) -> anyhow::Result<Matrix> {
        let path = dir.join(JSON);
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("--expect {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is no matrix", path.display()))
    }

    pub(super) fn write(&self, dir: &Path) -> anyhow::Result<()> {
        let failed = || format!("cannot write to {}", dir.display());
        std::fs::create_dir_all(dir).with_context(failed)?;
        let json = serde_json::to_string_pretty(self)? + "\n";
        for (name, text) in [
            (JSON, json),
            ("README.md", self.markdown()),
            ("index.html", self.html()),
        ] {
            std::fs::write(dir.join(name), text).with_context(failed)?;
        }
        Ok(())
    }

    /// Some case failed.
    pub(super) fn has_failures(&self) -> bool {
        self.findings
            .iter()
            .any(|f| matches!(f.outcome, Verdict::Fail(_)))
    }

    /// What `expected` knows as a pass and is none here: unsupported, or not tried.
    pub(super) fn worse_than(
        &self,
        expected: &Matrix,
        asked: &[&str],
        only: Option<&str>,
    ) -> Vec<String> {
        let now: BTreeMap<String, &Verdict> =
            self.findings.iter().map(|f| (key(f), &f.outcome)).collect();
        let before: BTreeMap<String, &Verdict> = expected
            .findings
            .iter()
            .map(|f| (key(f), &f.outcome))
            .collect();
        let wanted = |f: &&Finding| {
            asked.contains(&f.driver.as_str()) && only.is_none_or(|only| only == f.case)
        };
        let lost = expected.findings.iter().filter(wanted).filter_map(|f| {
            match (&f.outcome, now.get(&key(f))) {
                (Verdict::Pass, Some(Verdict::Unsupported(why))) => {
                    Some(format!("{}: passed once, now unsupported: {why}", key(f)))
                }
                (_, None) => Some(format!("{}: in the matrix, and not tried", key(f))),
                _ => None,
            }
        });
        let new = self.findings.iter().filter_map(|f| match &f.outcome {
            Verdict::Unsupported(why) if !before.contains_key(&key(f)) => Some(format!(
                "{}: not in the matrix, and unsupported: {why}",
                key(f)
            )),
            _ => None,
        });
        lost.chain(new).collect()
    }

    pub(super) fn summary(&self) -> String {
        let count = |wanted: fn(&Verdict) -> bool| {
            self.findings.iter().filter(|f| wanted(&f.outcome)).count()
        };
        format!(
            "{} cases: {} pass, {} fail, {} unsupported",
            self.findings.len(),
            count(|v| *v == Verdict::Pass),
            count(|v| matches!(v, Verdict::Fail(_))),
            count(|v| matches!(v, Verdict::Unsupported(_))),
        )
    }

    /// For a terminal: a line a stack and protocol, then what is not a pass.
    pub(super) fn text(&self) -> String {
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
            "{:width$}  ✓ pass  ✗ fail  – unsupported  · no such case; in this order:\n",
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

    fn markdown(&self) -> String {
        let mut text = "# Stacks against conformance cases\n\n\
            Written by `commute stacks check --out`; `make conformance` holds every run against it.\n\n\
            ✓ pass, ✗ fail, – unsupported (reasons below), · no such case over this protocol.\n\n"
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

    fn html(&self) -> String {
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
        HTML.replace("{summary}", &escape(&self.summary()))
            .replace("{body}", &body)
    }

    /// Why cases are not passed, drivers with the same reason together.
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
                && let Some(place) = CASES.iter().position(|case| case.name == finding.case)
            {
                line.cells[place] = Cell(Some(&finding.outcome));
            }
        }
        lines
    }
}

struct Line<'a> {
    driver: &'a str,
    protocol: &'a str,
    /// One a case.
    cells: Vec<Cell<'a>>,
}

impl Line<'_> {
    fn name(&self) -> String {
        format!("{} {}", self.driver, self.protocol)
    }
}

/// None: the protocol knows no such case, or it was not asked for.
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
            None => "no such case over this protocol",
        }
    }
}

fn key(finding: &Finding) -> String {
    let Finding {
        driver,
        protocol,
        case,
        ..
    } = finding;
    format!("{driver} {protocol} {case}")
}

const JSON: &str = "matrix.json";
const HTML: &str = include_str!("matrix.html");

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(cases: &[(&str, &str, Verdict)]) -> Matrix {
        let mut matrix = Matrix::default();
        for (driver, case, outcome) in cases {
            if !matrix.stacks.iter().any(|s| s.driver == *driver) {
                matrix.stacks.push(Examined {
                    driver: (*driver).to_owned(),
                    stack: String::new(),
                    version: String::new(),
                    tls: String::new(),
                });
            }
            matrix.findings.push(Finding {
                driver: (*driver).to_owned(),
                protocol: "h1".to_owned(),
                case: (*case).to_owned(),
                outcome: outcome.clone(),
            });
        }
        matrix
    }

    fn kept(only: Option<&str>) -> Vec<String> {
        let failed = Verdict::Fail("once".to_owned());
        let earlier = matrix(&[
            ("a", "calls", Verdict::Pass),
            ("a", "reset", failed.clone()),
            ("b", "reset", failed),
        ]);
        let mut now = matrix(&[("a", "reset", Verdict::Pass)]);
        now.keep_others(earlier, only);
        assert_eq!(now.stacks.len(), 2);
        let findings = now.findings.iter();
        findings
            .map(|f| format!("{} {}", key(f), Cell(Some(&f.outcome)).mark()))
            .collect()
    }

    #[test]
    fn what_was_not_tried_is_kept() {
        assert_eq!(kept(None), ["a h1 reset ✓", "b h1 reset ✗"]);
        assert_eq!(
            kept(Some("reset")),
            ["a h1 reset ✓", "a h1 calls ✓", "b h1 reset ✗"]
        );
    }
}
