//! Checks of the length of a response body.

use crate::Violation;

/// Compares a body with the length that its head gives.
#[derive(Clone, Copy, Debug)]
pub struct BodyLength {
    expected: Option<u64>,
    allowed: bool,
    received: u64,
}

impl BodyLength {
    /// Expects a body of this many bytes, or of any number.
    pub(crate) fn new(expected: Option<u64>) -> Self {
        Self {
            expected,
            allowed: true,
            received: 0,
        }
    }

    /// Expects no body.
    pub(crate) fn none() -> Self {
        Self {
            expected: Some(0),
            allowed: false,
            received: 0,
        }
    }

    /// Counts the next piece of the body.
    pub fn add(&mut self, bytes: usize) -> Result<(), Violation> {
        self.received = self.received.saturating_add(bytes as u64);
        if self
            .expected
            .is_none_or(|expected| self.received <= expected)
        {
            return Ok(());
        }
        Err(match self.allowed {
            true => Violation::BodyTooLong,
            false => Violation::UnexpectedBody,
        })
    }

    /// Checks that the body may end here.
    pub fn end(&self) -> Result<(), Violation> {
        match self.expected {
            Some(expected) if self.received < expected => Err(Violation::BodyTooShort),
            _ => Ok(()),
        }
    }

    /// Returns the bytes that have come.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns the bytes that are missing, if the length is known.
    pub fn missing(&self) -> Option<u64> {
        self.expected
            .map(|expected| expected.saturating_sub(self.received))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_exactly_as_long_as_its_head_says() {
        let mut body = BodyLength::new(Some(5));
        assert_eq!(body.end(), Err(Violation::BodyTooShort));
        assert_eq!((body.add(5), body.end()), (Ok(()), Ok(())));
        assert_eq!((body.received(), body.missing()), (5, Some(0)));
        assert_eq!(body.add(1), Err(Violation::BodyTooLong));
    }

    #[test]
    fn a_body_without_a_length_ends_anywhere() {
        let mut body = BodyLength::new(None);
        assert_eq!((body.end(), body.add(usize::MAX)), (Ok(()), Ok(())));
        assert_eq!(
            (body.add(usize::MAX), body.end(), body.missing()),
            (Ok(()), Ok(()), None)
        );
    }

    #[test]
    fn no_body_is_an_empty_one() {
        let mut body = BodyLength::none();
        assert_eq!((body.end(), body.add(0)), (Ok(()), Ok(())));
        assert_eq!(body.add(1), Err(Violation::UnexpectedBody));
    }
}
