//! Why a row is not believed.

/// A row that cannot be true, by the step's id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// No such step.
    #[error("the driver sent a row for step {id}, which was never asked for")]
    UnknownId {
        /// Its id.
        id: u32,
    },
    /// A step that measures nothing.
    #[error("the driver sent a row for step {id}, which is a {step} and no call")]
    NotACall {
        /// Its id.
        id: u32,
        /// Its name.
        step: &'static str,
    },
    /// The same id again.
    #[error("the driver sent the row of step {id} twice")]
    Twice {
        /// Its id.
        id: u32,
    },
    /// `done` came too early.
    #[error("the driver was done but sent no row for step {id} ({missing} missing)")]
    Missing {
        /// The first of them.
        id: u32,
        /// How many.
        missing: usize,
    },
    /// Phases out of order.
    #[error("in the row of step {id}, {later} is {by_ns} ns before {earlier}")]
    Order {
        /// Its id.
        id: u32,
        /// The phase that must come first.
        earlier: &'static str,
        /// The phase that must come after it.
        later: &'static str,
        /// By how much they are wrong.
        by_ns: u64,
    },
    /// Began before the driver was asked.
    #[error("step {id} started {by_ns} ns before the run was sent")]
    BeforeRun {
        /// Its id.
        id: u32,
        /// By how much.
        by_ns: u64,
    },
    /// Ended after the row, or the first row of its group, was read.
    #[error("step {id} ended {by_ns} ns after the first row of its group was read")]
    AfterRead {
        /// Its id.
        id: u32,
        /// By how much.
        by_ns: u64,
    },
    /// Attempts out of all proportion, or none for a call that went well.
    #[error("the row of step {id} claims {attempts} attempts")]
    Attempts {
        /// Its id.
        id: u32,
        /// The claim.
        attempts: u32,
    },
    /// Byte counts out of all proportion.
    #[error("the row of step {id} claims a body of {bytes} bytes")]
    Bytes {
        /// Its id.
        id: u32,
        /// The claim.
        bytes: u64,
    },
    /// A download that is not the file, and no error.
    #[error("the row of step {id} claims success with {got} of {asked} bytes")]
    WrongLength {
        /// Its id.
        id: u32,
        /// Bytes asked for.
        asked: u64,
        /// Bytes it claims.
        got: u64,
    },
    /// A call that went well without what every such call has.
    #[error("the row of step {id} claims success without {what}")]
    Without {
        /// Its id.
        id: u32,
        /// What is missing.
        what: &'static str,
    },
    /// Not SHA-256 in lower-case hex.
    #[error("the digest of step {id} is not 64 lower-case hex digits")]
    Digest {
        /// Its id.
        id: u32,
    },
}
