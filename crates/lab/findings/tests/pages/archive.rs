//! The archive of published figures beside what the claims select of it.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;

/// The archive has what claims select, and the tables that they do not repeat.
#[test]
fn archived_tables_are_selected_or_not_repeated() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../findings");
    let mut archive = String::new();
    let file = fs::File::open(root.join("published/all.csv.gz")).unwrap();
    GzDecoder::new(file).read_to_string(&mut archive).unwrap();
    let rows: BTreeSet<&str> = archive.lines().skip(1).collect();
    let archived: BTreeSet<String> = rows.iter().map(|row| study_and_table(row)).collect();
    let studies: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row.split(',').next())
        .collect();
    let mut claimed = BTreeSet::new();
    for study in studies {
        let selected = fs::read_to_string(root.join(format!("published/{study}.csv"))).unwrap();
        for row in selected.lines().skip(1) {
            assert!(rows.contains(row), "not in the archive: {row}");
            claimed.insert(study_and_table(row));
        }
        let claims = fs::read_to_string(root.join(study).join("claims.toml")).unwrap();
        let claims: toml::Table = claims.parse().unwrap();
        for entry in claims["not_repeated"].as_array().unwrap() {
            for table in entry["tables"].as_array().unwrap() {
                claimed.insert(format!("{study},{}", table.as_str().unwrap()));
            }
        }
    }
    assert_eq!(archived, claimed);
}

/// Returns the first two columns of a row of published figures.
fn study_and_table(row: &str) -> String {
    row.split(',').take(2).collect::<Vec<_>>().join(",")
}
