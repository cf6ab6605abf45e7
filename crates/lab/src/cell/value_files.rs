//! The messages of a workload's exchanges, as files that a driver reads.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use driver::protocol::{Action, Step};
use wire::Name;

/// What a driver is told of them.
pub(crate) struct Files {
    /// By the message's name.
    pub(crate) values: BTreeMap<String, String>,
    pub(crate) schema: String,
}

/// Writes every message that the steps exchange, but those made by rule within the call.
/// Nothing to write is no file.
pub(crate) fn write(steps: &[Step], seed: u64, dir: &Path) -> io::Result<Option<Files>> {
    let names: BTreeSet<&str> = steps.iter().filter_map(exchanged).collect();
    if names.is_empty() {
        return Ok(None);
    }
    let dir = dir.join("values");
    std::fs::create_dir(&dir)?;
    let write = |file: String, text: String| -> io::Result<String> {
        let path = dir.join(file);
        std::fs::write(&path, text)?;
        Ok(path.display().to_string())
    };
    let mut values = BTreeMap::new();
    for name in names {
        let message: Name = name.parse().map_err(io::Error::other)?;
        if !matches!(message, Name::Big { .. }) {
            let text = wire::to_value(&message.message(seed));
            values.insert(name.to_owned(), write(format!("{name}.value"), text)?);
        }
    }
    let schema = write("schema.json".to_owned(), wire::schema_json())?;
    Ok(Some(Files { values, schema }))
}

/// The name of the message that a step exchanges.
pub(crate) fn exchanged(step: &Step) -> Option<&str> {
    match &step.action {
        Action::Exchange { message, .. } => Some(message),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::workload::Workload;
    use crate::study::Step;

    #[test]
    fn files_hold_what_is_exchanged_and_nothing_more() {
        let dir = tempfile::tempdir().unwrap();
        let step = |names: &[&str]| Step::Exchange {
            group: "page".into(),
            messages: names.iter().map(|n| n.parse().unwrap()).collect(),
            times: 3,
        };
        let steps = Workload::expand(&[step(&["api-2kB", "small"]), step(&["big-7"])]).steps;
        let files = write(&steps, 5, dir.path()).unwrap().unwrap();
        assert_eq!(files.values.len(), 2);
        let page: Name = "api-2kB".parse().unwrap();
        let text = std::fs::read_to_string(&files.values["api-2kB"]).unwrap();
        let read = wire::from_value(page.kind(), &text).unwrap();
        assert_eq!(read, page.message(5));
        let schema = std::fs::read_to_string(&files.schema).unwrap();
        assert!(schema.contains("ApiPage"));
        assert!(write(&[], 5, dir.path()).unwrap().is_none());
    }
}
