//! Times in other units than ns: the name of a column says which.

/// What a column's name ends in, and how many ns one is.
const UNITS: [(&str, f64); 3] = [("_us", 1e3), ("_ms", 1e6), ("_s", 1e9)];

/// Returns the name in ns of a column that has another unit, and how many ns that unit has.
pub(super) fn in_ns(column: &str) -> Option<(String, f64)> {
    UNITS.iter().find_map(|(unit, ns)| {
        let name = format!("{}_ns", column.strip_suffix(unit)?);
        report::COLUMNS
            .contains(&name.as_str())
            .then_some((name, *ns))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_in_the_unit_of_their_name() {
        assert_eq!(in_ns("end_ms"), Some(("end_ns".to_owned(), 1e6)));
        assert_eq!(
            in_ns("first_byte_us"),
            Some(("first_byte_ns".to_owned(), 1e3))
        );
        assert_eq!(in_ns("tls_s"), Some(("tls_ns".to_owned(), 1e9)));
        for other in ["end_ns", "server_hits", "requests", "latency_ms"] {
            assert_eq!(in_ns(other), None, "{other}");
        }
    }
}
