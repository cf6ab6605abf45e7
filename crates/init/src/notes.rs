use std::collections::BTreeMap;

/// What was done to the requests, each with how often.
#[derive(Debug, Default)]
pub(crate) struct Notes(BTreeMap<(Done, String), u64>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Done {
    LeftOut,
    Replaced,
    Remark,
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

    fn add(&mut self, done: Done, what: String) {
        *self.0.entry((done, what)).or_default() += 1;
    }

    /// Returns a line for each kind.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |((done, what), times): (&(Done, String), &u64)| {
            let times = match times {
                1 => String::new(),
                n => format!(" ({n} times)"),
            };
            match done {
                Done::LeftOut => format!("left out: {what}{times}"),
                Done::Replaced => format!("replaced: {what}{times}"),
                Done::Remark => format!("note: {what}{times}"),
            }
        };
        self.0.iter().map(line).collect()
    }
}
