use driver::protocol::Hello;
use serde::{Deserialize, Serialize};

/// The result of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The driver's name.
    pub driver: String,
    /// The protocol it was asked to use.
    pub protocol: String,
    /// The case's name.
    pub case: String,
    /// Whether it passed.
    #[serde(flatten)]
    pub outcome: Verdict,
}

/// Whether a case passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "why", rename_all = "snake_case")]
pub enum Verdict {
    /// The driver did what the case asks for.
    Pass,
    /// It did not, and in what way.
    Fail(String),
    /// The stack cannot do it, and why.
    Unsupported(String),
}

/// The results of one driver.
pub struct Report {
    /// The driver's hello.
    pub hello: Hello,
    /// One finding per protocol and case.
    pub findings: Vec<Finding>,
}
