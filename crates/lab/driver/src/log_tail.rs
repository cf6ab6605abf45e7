//! The end of a program's log.

/// How much of a log is kept.
const TAIL_BYTES: usize = 4096;

/// The last [`TAIL_BYTES`] of everything that was appended.
#[derive(Debug, Default)]
pub(crate) struct LogTail(Vec<u8>);

impl LogTail {
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        let excess = self.0.len().saturating_sub(TAIL_BYTES);
        self.0.drain(..excess);
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let mut tail = LogTail::default();
        tail.append(b"beginning\n");
        tail.append(&[b'x'; TAIL_BYTES]);
        tail.append(b"end\n");
        let text = tail.text();
        assert_eq!(text.len(), TAIL_BYTES);
        assert!(text.starts_with("xxx") && text.ends_with("xxxend\n"));
    }
}
