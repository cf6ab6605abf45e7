use std::io;

use driver::DriverError;

/// Why a cell was not measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CellError {
    /// The stack cannot do what the arm asks for.
    #[error("{0}")]
    Unsupported(String),
    /// The driver lied, died or broke the protocol.
    #[error("{0}")]
    Failed(String),
    /// A part of the lab failed, e.g. its server did not start or its disk is full.
    #[error("{0}")]
    Lab(String),
    /// The bench broke: a new one is needed.
    #[error("bench: {0}")]
    Bench(#[from] pump::BenchError),
}

impl CellError {
    /// Returns the failure of an I/O operation on `what`.
    pub(crate) fn io(what: &str, e: &io::Error) -> CellError {
        CellError::Lab(format!("{what}: {e}"))
    }
}

impl From<DriverError> for CellError {
    fn from(e: DriverError) -> CellError {
        CellError::Failed(format!("driver: {e}"))
    }
}
