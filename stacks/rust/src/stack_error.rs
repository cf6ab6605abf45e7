//! What a stack cannot do.

/// Why a stack cannot follow a request of the lab.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StackError {
    /// The stack lacks a feature; the driver can go on.
    #[error("{what} is unsupported: {reason}")]
    Unsupported {
        /// What the stack cannot do, e.g. `protocol h3`.
        what: String,
        /// Explanation, shown to the user.
        reason: String,
    },
    /// The request is invalid, or something it names cannot be read.
    #[error("{0}")]
    Failed(String),
}

impl StackError {
    /// Creates an error for a feature that the stack lacks.
    pub fn unsupported(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unsupported {
            what: what.into(),
            reason: reason.into(),
        }
    }
}
