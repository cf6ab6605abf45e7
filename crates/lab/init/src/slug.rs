/// Returns a text in lower-case letters, digits and single dashes, at most 40 of them: the name of a
/// study, or part of a file's name. Empty if the text has nothing of these.
pub fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(40) {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.truncate(out.trim_end_matches('-').len());
    out
}
