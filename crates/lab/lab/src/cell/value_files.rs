//! Writes the messages of a workload's exchanges to value files, which the driver reads.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use driver::protocol::Step;
use messages::Name;
use study::plan::encoded_message;

/// Paths of the files written.
pub(crate) struct ValueFiles {
    /// The value file of each message, by the message's name.
    pub(crate) values: BTreeMap<String, String>,
    /// The schema as JSON.
    pub(crate) schema: String,
}

/// Writes every message that the steps exchange, except those that drivers generate within the
/// call. Writes nothing when the steps exchange nothing.
pub(crate) fn write(steps: &[Step], seed: u64, dir: &Path) -> io::Result<Option<ValueFiles>> {
    let names: BTreeSet<&str> = steps.iter().filter_map(encoded_message).collect();
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
            let text = messages::to_value(&message.message(seed));
            values.insert(name.to_owned(), write(format!("{name}.value"), text)?);
        }
    }
    let schema = write("schema.json".to_owned(), messages::schema_json())?;
    Ok(Some(ValueFiles { values, schema }))
}

#[cfg(test)]
mod tests {
    use study::Step;
    use study::plan::Workload;

    use super::*;

    #[test]
    fn only_encoded_messages_are_written() {
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
        let read = messages::from_value(page.kind(), &text).unwrap();
        assert_eq!(read, page.message(5));
        let schema = std::fs::read_to_string(&files.schema).unwrap();
        assert!(schema.contains("ApiPage"));
        assert!(write(&[], 5, dir.path()).unwrap().is_none());
    }
}
