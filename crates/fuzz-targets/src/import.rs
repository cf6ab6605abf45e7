use import::{Format, ImportOptions, ImportedCall, Labels};

/// Imports measurements taken elsewhere: a load tester's output, or CSV. The run must be readable.
pub fn import(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(format) = Format::of(&text) {
        let labels = Labels {
            network: "n".to_owned(),
            arm: "a".to_owned(),
            protocol: Some("h2".to_owned()),
            block: 0,
        };
        if let Ok((rows, _)) = format.read(&text, &labels) {
            expect_run(&rows);
        }
        return;
    }
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(data);
    let rows: Result<Vec<ImportedCall>, _> = reader.deserialize().collect();
    if let Ok(rows) = rows {
        let rows: Vec<_> = (2..).zip(rows).collect();
        expect_run(&rows);
    }
}

fn expect_run(rows: &[(usize, ImportedCall)]) {
    let options = ImportOptions {
        study: "imported".to_owned(),
        question: "?".to_owned(),
        baseline: None,
    };
    if let Ok((run, cells)) = import::import(rows, &options) {
        record::RunData::new(run, cells).expect("what is imported can be read");
    }
}
