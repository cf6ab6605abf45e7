use lab::{ImportOptions, ImportedCall};

/// Imports measurements taken elsewhere, as CSV. The run must be readable.
pub fn import(data: &[u8]) {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(data);
    let rows: Result<Vec<ImportedCall>, _> = reader.deserialize().collect();
    if let Ok(rows) = rows {
        let rows: Vec<_> = (2..).zip(rows).collect();
        let options = ImportOptions {
            study: "imported".to_owned(),
            question: "?".to_owned(),
            baseline: None,
        };
        if let Ok((run, cells)) = lab::import(&rows, &options) {
            record::RunData::new(run, cells).expect("what is imported can be read");
        }
    }
}
