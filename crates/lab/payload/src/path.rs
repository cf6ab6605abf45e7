//! Paths in a sample, e.g. `orders[].lines[].sku`, or `prices{}` for the values of a map.

/// A path that grows and shrinks as a sample is traversed.
#[derive(Default)]
pub(crate) struct Path(String);

impl Path {
    /// Enters a member of an object. Returns what [`leave`](Path::leave) takes to come back.
    pub(crate) fn enter_key(&mut self, key: &str) -> usize {
        let before = self.0.len();
        push_key(&mut self.0, key);
        before
    }

    /// Enters the elements of a list. Returns what [`leave`](Path::leave) takes to come back.
    pub(crate) fn enter_list(&mut self) -> usize {
        let before = self.0.len();
        self.0.push_str("[]");
        before
    }

    pub(crate) fn leave(&mut self, before: usize) {
        self.0.truncate(before);
    }

    /// Returns the path for messages.
    pub(crate) fn display(&self) -> &str {
        display(&self.0)
    }
}

/// Returns the path of the member `key` of the object at `path`.
pub(crate) fn member(path: &str, key: &str) -> String {
    let mut path = path.to_owned();
    push_key(&mut path, key);
    path
}

/// Returns a path for messages, where the empty one reads `(top)`.
pub(crate) fn display(path: &str) -> &str {
    if path.is_empty() { "(top)" } else { path }
}

/// Returns the field that a path belongs to: the path without the lists and maps at its end.
pub(crate) fn anchor(path: &str) -> &str {
    let mut path = path;
    while let Some(outer) = path.strip_suffix("[]").or(path.strip_suffix("{}")) {
        path = outer;
    }
    path
}

fn push_key(path: &mut String, key: &str) {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_');
    if plain {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
    } else {
        path.push_str(&format!("[{key:?}]"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_like_code() {
        let mut path = Path::default();
        assert_eq!(path.display(), "(top)");
        path.enter_key("orders");
        path.enter_list();
        let before = path.enter_key("unit price");
        assert_eq!(path.display(), r#"orders[]["unit price"]"#);
        path.leave(before);
        assert_eq!(path.display(), "orders[]");
        assert_eq!(member("a[]", "b"), "a[].b");
        assert_eq!(member("", "a.b"), r#"["a.b"]"#);
    }

    #[test]
    fn anchor_strips_trailing_lists_and_maps() {
        assert_eq!(anchor("a.b[]{}[]"), "a.b");
        assert_eq!(anchor("a[].b"), "a[].b");
        assert_eq!(anchor("[]"), "");
    }
}
