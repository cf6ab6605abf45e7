use std::collections::BTreeMap;

/// What was done to the requests, each with how often.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    done: BTreeMap<(Done, String), u64>,
    values: BTreeMap<Value, Lengths>,
}

/// Values of one name in one kind of place, by what became of them.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Value {
    /// Why they were left out; none if they were kept.
    left_out: Option<String>,
    place: String,
    name: String,
}

#[derive(Debug, Default)]
struct Lengths {
    times: u64,
    /// 0 if it is not known.
    longest_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Done {
    LeftOut,
    Replaced,
    Remark,
    /// A remark that begins with how often.
    Counted,
}

impl Notes {
    /// Adds that a request, or a part of one, is not in the study.
    pub(crate) fn left_out(&mut self, what: impl Into<String>) {
        self.add(Done::LeftOut, what.into());
    }

    /// Adds that something is in the study with another value.
    pub(crate) fn replaced(&mut self, what: impl Into<String>) {
        self.add(Done::Replaced, what.into());
    }

    /// Adds anything else that the user should know.
    pub(crate) fn remark(&mut self, what: impl Into<String>) {
        self.add(Done::Remark, what.into());
    }

    /// Adds the same remark on several things, e.g. `recorded response` and `had status 404`.
    pub(crate) fn counted(&mut self, thing: &str, what: impl std::fmt::Display) {
        self.add(Done::Counted, format!("{thing}\n{what}"));
    }

    /// Adds that a value of this name was kept, or left out for a reason. Values themselves are not listed: an
    /// unrecognised value may be a secret.
    pub(crate) fn value(
        &mut self,
        place: &str,
        name: String,
        bytes: usize,
        left_out: Option<String>,
    ) {
        let value = Value {
            left_out,
            place: place.to_owned(),
            name,
        };
        let lengths = self.values.entry(value).or_default();
        lengths.times += 1;
        lengths.longest_bytes = lengths.longest_bytes.max(bytes);
    }

    /// Returns a line for each name of a value, those that were kept first.
    pub(crate) fn values(&self) -> Vec<String> {
        let line = |(value, lengths): (&Value, &Lengths)| {
            let (done, why) = match &value.left_out {
                None => ("kept", "no credential by its name or its form"),
                Some(why) => ("left out", why.as_str()),
            };
            let name = match value.name.as_str() {
                "" => "what has no name".to_owned(),
                name => format!("`{name}`"),
            };
            let plural = if lengths.longest_bytes == 1 { "" } else { "s" };
            let bytes = format!("{} byte{plural}", lengths.longest_bytes);
            let lengths = match (lengths.times, lengths.longest_bytes) {
                (1, 0) => String::new(),
                (times, 0) => format!(" ({times} times)"),
                (1, _) => format!(" ({bytes})"),
                (times, _) => format!(" ({times} times, up to {bytes})"),
            };
            format!("{done}: {name} in {}{lengths}: {why}", value.place)
        };
        self.values.iter().map(line).collect()
    }

    fn add(&mut self, done: Done, what: String) {
        *self.done.entry((done, what)).or_default() += 1;
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
        self.done.iter().map(line).collect()
    }
}
