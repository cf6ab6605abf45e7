/// Returns `name` in lower-case letters, digits and single dashes, so that it is safe in file
/// names.
pub fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.truncate(out.trim_end_matches('-').len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_safe_in_file_names() {
        assert_eq!(slug("hyper h2 again"), "hyper-h2-again");
        assert_eq!(slug("../Ünix  /H3!"), "nix-h3");
    }
}
