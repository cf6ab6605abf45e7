use config::{ConfigError, Source};
use toml::Spanned;

/// The longest time a study may ask for.
const MAX_NS: f64 = 3.6e12;

/// Converts a time to nanoseconds; it must be above zero and at most an hour.
pub(super) fn to_ns(
    value: &Spanned<impl Into<f64> + Copy>,
    ns_per_unit: f64,
    key: &str,
    source: &Source<'_>,
) -> Result<u64, ConfigError> {
    let v: f64 = (*value.get_ref()).into();
    if !(v > 0.0 && v * ns_per_unit <= MAX_NS) {
        return Err(source.error(
            &value.span(),
            format!("{key} = {v} is out of range: above 0 and at most an hour"),
        ));
    }
    Ok((v * ns_per_unit).round() as u64)
}
