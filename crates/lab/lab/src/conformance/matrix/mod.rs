//! The conformance matrix: every driver against every case.

mod html;
mod print;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use driver::protocol::Hello;
use page::Origin;
use serde::{Deserialize, Serialize};

use super::finding::{Finding, Verdict};

const JSON: &str = "matrix.json";

/// The findings of one or several runs of the suite.
#[derive(Default, Serialize, Deserialize)]
pub struct Matrix {
    stacks: Vec<TestedStack>,
    findings: Vec<Finding>,
}

/// A driver and the versions that its hello reported.
#[derive(Serialize, Deserialize)]
struct TestedStack {
    driver: String,
    stack: String,
    version: String,
    tls: String,
}

/// Why a matrix cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The file is not a matrix.
    #[error("{}: not a conformance matrix: {source}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The first mistake.
        source: serde_json::Error,
    },
}

impl Matrix {
    /// Adds the findings of one driver.
    pub fn add(&mut self, driver: &str, hello: &Hello, findings: Vec<Finding>) {
        self.stacks.push(TestedStack {
            driver: driver.to_owned(),
            stack: hello.stack.clone(),
            version: hello.stack_version.clone(),
            tls: hello.tls.clone(),
        });
        self.findings.extend(findings);
    }

    /// Adds what an earlier matrix has of drivers that were not tested now and, if `only` one case
    /// was tested, of all other cases. Drivers keep their order, so that only what changed differs.
    pub fn keep_untested(&mut self, earlier: Matrix, only: Option<&str>) {
        let order: Vec<String> = earlier.stacks.iter().map(|s| s.driver.clone()).collect();
        let place = |name: &str| {
            let known = order.iter().position(|known| known == name);
            known.unwrap_or(order.len())
        };
        let mut kept = earlier;
        let tested = |name: &str| self.stacks.iter().any(|s| s.driver == name);
        let other_case = |case: &str| only.is_some_and(|only| only != case);
        kept.findings
            .retain(|f| !tested(&f.driver) || other_case(&f.case));
        kept.stacks.retain(|s| !tested(&s.driver));
        self.stacks.append(&mut kept.stacks);
        self.findings.append(&mut kept.findings);
        self.stacks.sort_by_key(|s| place(&s.driver));
        self.findings.sort_by_key(|f| place(&f.driver));
    }

    /// Reads the matrix in `dir`.
    pub fn read(dir: &Path) -> Result<Matrix, MatrixError> {
        let path = dir.join(JSON);
        let text = std::fs::read_to_string(&path).map_err(|source| MatrixError::Io {
            path: path.clone(),
            source,
        })?;
        serde_json::from_str(&text).map_err(|source| MatrixError::Parse { path, source })
    }

    /// Writes the matrix to `dir` as JSON, Markdown and, with its origin, HTML.
    pub fn write(&self, dir: &Path, origin: &Origin) -> Result<(), MatrixError> {
        let failed = |source: io::Error| MatrixError::Io {
            path: dir.to_owned(),
            source,
        };
        std::fs::create_dir_all(dir).map_err(failed)?;
        let json = serde_json::to_string_pretty(self).map_err(|e| failed(e.into()))? + "\n";
        for (name, text) in [
            (JSON, json),
            ("README.md", self.markdown()),
            ("index.html", self.html(origin)),
        ] {
            std::fs::write(dir.join(name), text).map_err(failed)?;
        }
        Ok(())
    }

    /// Returns whether a case failed.
    pub fn has_failures(&self) -> bool {
        self.findings
            .iter()
            .any(|f| matches!(f.outcome, Verdict::Fail(_)))
    }

    /// Returns, for the drivers asked for and perhaps `only` one case, the cases that `expected` has
    /// as passed or unsupported and that are worse here: unsupported, not run, or new and
    /// unsupported.
    pub fn worse_than(
        &self,
        expected: &Matrix,
        drivers: &[&str],
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
            drivers.contains(&f.driver.as_str()) && only.is_none_or(|only| only == f.case)
        };
        let lost = expected.findings.iter().filter(wanted).filter_map(|f| {
            match (&f.outcome, now.get(&key(f))) {
                (Verdict::Pass, Some(Verdict::Unsupported(why))) => Some(format!(
                    "{}: expected to pass, now unsupported: {why}",
                    key(f)
                )),
                (_, None) => Some(format!("{}: in the expected matrix, but not run", key(f))),
                _ => None,
            }
        });
        let new = self.findings.iter().filter_map(|f| match &f.outcome {
            Verdict::Unsupported(why) if !before.contains_key(&key(f)) => Some(format!(
                "{}: unsupported, but not in the expected matrix: {why}",
                key(f)
            )),
            _ => None,
        });
        lost.chain(new).collect()
    }

    /// Returns the number of cases per outcome, in words.
    pub fn summary(&self) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(cases: &[(&str, &str, Verdict)]) -> Matrix {
        let mut matrix = Matrix::default();
        for (driver, case, outcome) in cases {
            if !matrix.stacks.iter().any(|s| s.driver == *driver) {
                matrix.stacks.push(TestedStack {
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

    #[test]
    fn browser_shows_the_page_in_every_view() {
        let matrix = matrix(&[
            ("a", "calls", Verdict::Pass),
            ("a", "reset", Verdict::Fail("<b>once</b>".to_owned())),
            ("b", "reset", Verdict::Unsupported("no such API".to_owned())),
            ("a-driver-with-a-long-name", "calls", Verdict::Pass),
        ]);
        let page = matrix.html(&Origin::default());
        assert!(page.contains("&lt;b&gt;once") && page.contains("no such API"));
        testing::check_page("matrix", &page);
    }

    fn kept(only: Option<&str>) -> Vec<String> {
        let failed = Verdict::Fail("once".to_owned());
        let earlier = matrix(&[
            ("a", "calls", Verdict::Pass),
            ("a", "reset", failed.clone()),
            ("b", "reset", failed),
        ]);
        let mut now = matrix(&[("a", "reset", Verdict::Pass)]);
        now.keep_untested(earlier, only);
        assert_eq!(now.stacks.len(), 2);
        let findings = now.findings.iter();
        findings
            .map(|f| format!("{} {:?}", key(f), f.outcome))
            .collect()
    }

    #[test]
    fn drivers_keep_their_order() {
        let pass = |driver| (driver, "reset", Verdict::Pass);
        let mut now = matrix(&[pass("new"), pass("b")]);
        now.keep_untested(matrix(&[pass("a"), pass("b"), pass("c")]), None);
        let stacks: Vec<&str> = now.stacks.iter().map(|s| s.driver.as_str()).collect();
        assert_eq!(stacks, ["a", "b", "c", "new"]);
        let findings: Vec<&str> = now.findings.iter().map(|f| f.driver.as_str()).collect();
        assert_eq!(findings, ["a", "b", "c", "new"]);
    }

    #[test]
    fn published_matrix_has_each_case_once_and_its_readme_is_made_from_it() {
        let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/stacks-matrix");
        let matrix = Matrix::read(&published).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        let twice = matrix
            .findings
            .iter()
            .map(key)
            .filter(|k| !seen.insert(k.clone()));
        assert_eq!(twice.collect::<Vec<_>>(), [""; 0]);
        testing::golden(published.join("README.md"), &matrix.markdown());
    }

    #[test]
    fn untested_drivers_and_cases_are_kept() {
        assert_eq!(kept(None), ["a h1 reset Pass", "b h1 reset Fail(\"once\")"]);
        assert_eq!(
            kept(Some("reset")),
            [
                "a h1 reset Pass",
                "a h1 calls Pass",
                "b h1 reset Fail(\"once\")"
            ]
        );
    }
}
