//! Where in a sample something stands: `orders[].lines[].sku`, `prices{}` for the values of a map.

/// A path that grows and shrinks as a sample is walked through.
#[derive(Default)]
pub(crate) struct Path(String);

impl Path {
    /// Goes into a field; [`leave`](Path::leave) with what it returns.
    pub(crate) fn enter_key(&mut self, key: &str) -> usize {
        let before = self.0.len();
        push_key(&mut self.0, key);
        before
    }

    /// Goes into the elements of a list.
    pub(crate) fn enter_list(&mut self) -> usize {
        let before = self.0.len();
        self.0.push_str("[]");
        before
    }

    /// Goes back.
    pub(crate) fn leave(&mut self, before: usize) {
        self.0.truncate(before);
    }

    /// For messages.
    pub(crate) fn shown(&self) -> &str {
        shown(&self.0)
    }
}

/// `path` and then a field of it.
pub(crate) fn field(path: &str, key: &str) -> String {
    let mut path = path.to_owned();
    push_key(&mut path, key);
    path
}

/// What a message calls a path; the top has no name of its own.
pub(crate) fn shown(path: &str) -> &str {
    if path.is_empty() { "(top)" } else { path }
}

/// The field that a path lies in: without the lists and maps at its end.
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
    fn a_path_reads_like_code() {
        let mut path = Path::default();
        assert_eq!(path.shown(), "(top)");
        path.enter_key("orders");
        path.enter_list();
        let before = path.enter_key("unit price");
        assert_eq!(path.shown(), r#"orders[]["unit price"]"#);
        path.leave(before);
        assert_eq!(path.shown(), "orders[]");
        assert_eq!(anchor("a.b[]{}[]"), "a.b");
        assert_eq!(field("a[]", "b"), "a[].b");
    }
}
