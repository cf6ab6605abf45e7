//! Times in other units than ns.

/// Converts `value`, in units of `unit_ns`, to whole ns; none if it is no number of 0 or more.
pub fn whole_ns(value: &str, unit_ns: f64) -> Option<u64> {
    let number: f64 = value.trim().parse().ok()?;
    let ns = (number * unit_ns).round();
    (0.0..=u64::MAX as f64).contains(&ns).then_some(ns as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_a_unit_are_whole_ns() {
        assert_eq!(whole_ns(" 200.25 ", 1e6), Some(200_250_000));
        for wrong in ["", "-1", "NaN", "inf", "1e30", "x"] {
            assert_eq!(whole_ns(wrong, 1e6), None, "{wrong}");
        }
    }
}
