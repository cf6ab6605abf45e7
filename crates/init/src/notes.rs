use std::collections::BTreeMap;

/// What was done to the requests, each with how often.
#[derive(Debug, Default)]
pub(crate) struct Notes(BTreeMap<(Done, String), u64>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Done {
    LeftOut,
    Replaced,
    Remark,
    /// A remark that begins with how often.
    Counted,
}

impl Notes {
    /// Something of a request, or a request, is not in the study.
    pub(crate) fn left_out(&mut self, what: impl Into<String>) {
        self.add(Done::LeftOut, what.into());
    }

    /// Something is in the study with another value.
    pub(crate) fn replaced(&mut self, what: impl Into<String>) {
        self.add(Done::Replaced, what.into());
    }

    /// Anything else that the user should know.
    pub(crate) fn remark(&mut self, what: impl Into<String>) {
        self.add(Done::Remark, what.into());
    }

    /// The same of several things, e.g. `recorded response` and `had status 404`.
    pub(crate) fn counted(&mut self, thing: &str, what: impl std::fmt::Display) {
        self.add(Done::Counted, format!("{thing}\n{what}"));
    }

    fn add(&mut self, done: Done, what: String) {
        *self.0.entry((done, what)).or_default() += 1;
    }

    /// Returns a line for each kind.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |((done, what), n): (&(Done, String), &u64)| {
            let times = match n {
                1 => String::new(),
                n => format!(" ({n} times)"),
            };
            match done {
                Done::LeftOut => format!("left out: {what}{times}"),
                Done::Replaced => format!("replaced: {what}{times}"),
                Done::Remark => format!("note: {what}{times}"),
                Done::Counted => {
                    let (thing, what) = what.split_once('\n').unwrap_or((what, ""));
                    let plural = if *n == 1 { "" } else { "s" };
                    format!("note: {n} {thing}{plural} {what}")
                }
            }
        };
        self.0.iter().map(line).collect()
    }
}
