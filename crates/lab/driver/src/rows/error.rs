//! Errors: why a row is rejected.

/// A row that cannot be true, with the id of its step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// The run has no such step.
    #[error("the driver sent a row for step {id}, which was never asked for")]
    UnknownId {
        /// Id in the row.
        id: u32,
    },
    /// The step is not a call.
    #[error("the driver sent a row for step {id}, which is a {step}, not a call")]
    NotACall {
        /// Id in the row.
        id: u32,
        /// The step's [name](crate::protocol::Action::name).
        step: &'static str,
    },
    /// A second row with the same id.
    #[error("the driver sent the row of step {id} twice")]
    Duplicate {
        /// Id in the row.
        id: u32,
    },
    /// `done` arrived before all rows.
    #[error("the driver was done but sent no row for step {id} ({missing} missing)")]
    Missing {
        /// The first step without a row.
        id: u32,
        /// Number of steps without a row.
        missing: usize,
    },
    /// Two phases in the wrong order.
    #[error("in the row of step {id}, {later} is {by_ns} ns before {earlier}")]
    Order {
        /// Id in the row.
        id: u32,
        /// The phase that must end first.
        earlier: &'static str,
        /// The phase that must end later.
        later: &'static str,
        /// By how much the order is violated, in nanoseconds.
        by_ns: u64,
    },
    /// The call started before the run was sent.
    #[error("step {id} started {by_ns} ns before the run was sent")]
    BeforeRun {
        /// Id in the row.
        id: u32,
        /// How much too early, in nanoseconds.
        by_ns: u64,
    },
    /// The call ended after its row, or the first row of its group, was read.
    #[error("step {id} ended {by_ns} ns after the first row of its group was read")]
    AfterRead {
        /// Id in the row.
        id: u32,
        /// How much too late, in nanoseconds.
        by_ns: u64,
    },
    /// More attempts than any stack makes, or none for a successful call.
    #[error("the row of step {id} claims {attempts} attempts")]
    Attempts {
        /// Id in the row.
        id: u32,
        /// The row's value.
        attempts: u32,
    },
    /// A body larger than any that is sent.
    #[error("the row of step {id} claims a body of {bytes} bytes")]
    Bytes {
        /// Id in the row.
        id: u32,
        /// The row's value.
        bytes: u64,
    },
    /// A successful download of the wrong length.
    #[error("the row of step {id} claims success with {received} of {requested} bytes")]
    WrongLength {
        /// Id in the row.
        id: u32,
        /// Length of the file requested.
        requested: u64,
        /// Length that the row gives.
        received: u64,
    },
    /// A successful call without a field that every successful call has.
    #[error("the row of step {id} claims success without {field}")]
    MissingField {
        /// Id in the row.
        id: u32,
        /// The field, with its article.
        field: &'static str,
    },
    /// The digest is not SHA-256 in lower-case hex.
    #[error("the digest of step {id} is not 64 lower-case hex digits")]
    Digest {
        /// Id in the row.
        id: u32,
    },
}
