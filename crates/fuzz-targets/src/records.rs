use record::{Cell, CompactCell, Run, RunData};

/// Reads records, as the lines of one file: the head, then cells. Then reports on them.
pub fn records(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let Some(run) = lines
        .next()
        .and_then(|line| serde_json::from_slice::<Run>(line).ok())
    else {
        return;
    };
    let cells: Vec<Cell> = lines.filter_map(cell).collect();
    if let Ok(data) = RunData::new(run, cells) {
        let summary = report::summarise(&data);
        report::json(&summary);
        report::csv(&data);
        report::html(&summary, &data);
    }
}

/// Reads a cell in both forms, which must be equal.
fn cell(line: &[u8]) -> Option<Cell> {
    let cell = serde_json::from_slice::<Cell>(line).ok();
    let compact = serde_json::from_slice::<CompactCell>(line).ok();
    assert_eq!(compact, cell.clone().map(CompactCell::from));
    cell
}
